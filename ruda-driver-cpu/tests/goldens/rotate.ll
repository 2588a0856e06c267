target triple = "x86_64-unknown-linux-gnu"

define internal { float } @fn.2e..24.exp_f32(float %p0, ptr %cancel) #2 {
entry:
  %s14 = alloca float
  %v1 = fcmp ogt float %p0, 0x405A400000000000
  %v2 = select i1 %v1, float 0x405A400000000000, float %p0
  %v3 = fcmp olt float %v2, 0xC05A400000000000
  %v4 = select i1 %v3, float 0xC05A400000000000, float %v2
  %v5 = call float @llvm.fma.f32(float %v4, float 0x3FF7154760000000, float 0x4168000000000000)
  %v6 = fsub float %v5, 0x4168000000000000
  %v7 = fneg float %v6
  %v8 = fneg float %v6
  %v9 = call float @llvm.fma.f32(float %v8, float 0x3FE62E4000000000, float %v4)
  %v10 = call float @llvm.fma.f32(float %v7, float 0x3EB7F7D1C0000000, float %v9)
  %v11 = bitcast float %v5 to i32
  %v12 = sub i32 %v11, 1262485504
  %v13 = call float @llvm.fma.f32(float %v10, float 0x3F56D997E0000000, float 0x3F81227F40000000)
  store float %v13, ptr %s14
  %v15 = load float, ptr %s14
  %v16 = call float @llvm.fma.f32(float %v15, float %v10, float 0x3FA5554860000000)
  store float %v16, ptr %s14
  %v17 = load float, ptr %s14
  %v18 = call float @llvm.fma.f32(float %v17, float %v10, float 0x3FC5554B00000000)
  store float %v18, ptr %s14
  %v19 = load float, ptr %s14
  %v20 = call float @llvm.fma.f32(float %v19, float %v10, float 0x3FE0000000000000)
  store float %v20, ptr %s14
  %v21 = fmul float %v10, %v10
  %v22 = load float, ptr %s14
  %v23 = call float @llvm.fma.f32(float %v21, float %v22, float %v10)
  %v24 = fadd float %v23, 0x3FF0000000000000
  %v25 = and i32 1, 31
  %v26 = ashr i32 %v12, %v25
  %v27 = sub i32 %v12, %v26
  %v28 = add i32 %v26, 127
  %v29 = and i32 23, 31
  %v30 = shl i32 %v28, %v29
  %v31 = bitcast i32 %v30 to float
  %v32 = fmul float %v24, %v31
  %v33 = add i32 %v27, 127
  %v34 = and i32 23, 31
  %v35 = shl i32 %v33, %v34
  %v36 = bitcast i32 %v35 to float
  %v37 = fmul float %v32, %v36
  %v38 = insertvalue { float } zeroinitializer, float %v37, 0
  ret { float } %v38
cancelled:
  ret { float } zeroinitializer
}

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias writable align 64 dereferenceable(256) %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s62 = alloca i32
  %s69 = alloca float
  %s83 = alloca i32
  %s102 = alloca i32
  %s103 = alloca i32
  %s123 = alloca i32
  %s142 = alloca i32
  %s166 = alloca i32
  %s210 = alloca i32
  %s229 = alloca i32
  %v5 = getelementptr inbounds i8, ptr %packed, i64 0
  %v6 = load ptr, ptr %v5, align 1
  %v7 = getelementptr inbounds i8, ptr %packed, i64 8
  %v8 = load i64, ptr %v7, align 1
  %v9 = getelementptr inbounds i8, ptr %packed, i64 16
  %v10 = load i64, ptr %v9, align 1
  %v11 = getelementptr inbounds i8, ptr %packed, i64 24
  %v12 = load i32, ptr %v11, align 1
  %v13 = getelementptr inbounds i8, ptr %scratch, i64 0
  %v14 = getelementptr inbounds i8, ptr %scratch, i64 128
  %v15 = mul i64 %gx, %gy
  %v16 = mul i64 %v15, %gz
  %v17 = trunc i64 %gx to i32
  %v18 = trunc i64 %gy to i32
  %v19 = trunc i64 %gz to i32
  %v20 = getelementptr inbounds i8, ptr %control, i64 8
  %v21 = getelementptr inbounds i8, ptr %control, i64 0
  %v22 = load i64, ptr %v21, align 8
  %v23 = getelementptr inbounds i8, ptr %control, i64 16
  %v24 = load i64, ptr %v23, align 8
  %v25 = getelementptr inbounds i8, ptr %control, i64 64
  %v26 = icmp eq i64 %v22, 0
  br i1 %v26, label %range, label %take
take:
  %v27 = load atomic i32, ptr %v20 monotonic, align 4
  %v28 = icmp eq i32 %v27, 0
  br i1 %v28, label %more, label %exit
more:
  %v29 = atomicrmw add ptr %v25, i64 %v22 monotonic, align 8
  %v30 = add i64 %v29, %v22
  %v31 = call i64 @llvm.umin.i64(i64 %v30, i64 %v24)
  %v32 = icmp ult i64 %v29, %v24
  br i1 %v32, label %range, label %exit
range:
  %v33 = phi i64 [ 0, %entry ], [ %v29, %more ]
  %v34 = phi i64 [ %v16, %entry ], [ %v31, %more ]
  %v35 = udiv i64 %v33, %gx
  %v36 = urem i64 %v33, %gx
  %v37 = urem i64 %v35, %gy
  %v38 = udiv i64 %v35, %gy
  store i64 %v33, ptr %s1
  store i64 %v36, ptr %s2
  store i64 %v37, ptr %s3
  store i64 %v38, ptr %s4
  br label %block
block:
  %v39 = load i64, ptr %s2
  %v40 = trunc i64 %v39 to i32
  %v41 = load i64, ptr %s3
  %v42 = trunc i64 %v41 to i32
  %v43 = load i64, ptr %s4
  %v44 = trunc i64 %v43 to i32
  %v45 = sext i32 %v40 to i64
  %v46 = mul nuw nsw i64 %v45, 32
  %v47 = add nuw nsw i64 %v46, 32
  %v48 = sub nuw nsw i64 %v47, 1
  %v49 = trunc i64 %v8 to i32
  %v50 = zext i32 %v49 to i64
  %v51 = icmp slt i64 %v48, %v50
  %v52 = and i1 true, %v51
  br i1 %v52, label %inside53, label %edge54
inside53:
  %v56 = mul nuw nsw i32 %v44, 1
  %v57 = add nuw nsw i32 %v56, 0
  %v58 = mul nuw nsw i32 %v42, 1
  %v59 = add nuw nsw i32 %v58, 0
  store i32 0, ptr %s62
  br label %threads.x60
threads.x60:
  %v63 = load i32, ptr %s62
  %v64 = zext nneg i32 %v63 to i64
  %v65 = mul nuw nsw i32 %v40, 32
  %v66 = add nuw nsw i32 %v65, %v63
  %v67 = getelementptr inbounds float, ptr %v14, i64 %v64
  %v68 = load float, ptr %v67, align 4, !llvm.access.group !0, !alias.scope !6
  store float %v68, ptr %s69
  store float 0x0000000000000000, ptr %s69
  %v71 = sext i32 %v66 to i64
  %v72 = getelementptr inbounds float, ptr %v6, i64 %v71
  %v73 = load float, ptr %v72, align 4, !llvm.access.group !0, !noalias !6
  store float %v73, ptr %s69
  br label %end70
end70:
  %v74 = load float, ptr %s69
  store float %v74, ptr %v67, align 4, !llvm.access.group !0, !alias.scope !6
  %v75 = add nuw nsw i32 %v63, 1
  store i32 %v75, ptr %s62
  %v76 = icmp ult i32 %v75, 32
  br i1 %v76, label %threads.x60, label %after61, !llvm.loop !3
after61:
  br label %both55
edge54:
  %v77 = mul nuw nsw i32 %v44, 1
  %v78 = add nuw nsw i32 %v77, 0
  %v79 = mul nuw nsw i32 %v42, 1
  %v80 = add nuw nsw i32 %v79, 0
  store i32 0, ptr %s83
  br label %threads.x81
threads.x81:
  %v84 = load i32, ptr %s83
  %v85 = zext nneg i32 %v84 to i64
  %v86 = mul nuw nsw i32 %v40, 32
  %v87 = add nuw nsw i32 %v86, %v84
  %v88 = getelementptr inbounds float, ptr %v14, i64 %v85
  %v89 = load float, ptr %v88, align 4, !llvm.access.group !7, !alias.scope !6
  store float %v89, ptr %s69
  store float 0x0000000000000000, ptr %s69
  %v91 = trunc i64 %v8 to i32
  %v92 = icmp ult i32 %v87, %v91
  br i1 %v92, label %in93, label %out94
in93:
  %v95 = sext i32 %v87 to i64
  %v96 = getelementptr inbounds float, ptr %v6, i64 %v95
  %v97 = load float, ptr %v96, align 4, !llvm.access.group !7, !noalias !6
  br label %out94
out94:
  %v98 = phi float [ %v97, %in93 ], [ 0x0000000000000000, %threads.x81 ]
  store float %v98, ptr %s69
  br label %end90
end90:
  %v99 = load float, ptr %s69
  store float %v99, ptr %v88, align 4, !llvm.access.group !7, !alias.scope !6
  %v100 = add nuw nsw i32 %v84, 1
  store i32 %v100, ptr %s83
  %v101 = icmp ult i32 %v100, 32
  br i1 %v101, label %threads.x81, label %after82, !llvm.loop !10
after82:
  br label %both55
both55:
  store i32 0, ptr %s102
  store i32 0, ptr %s103
  br label %for104
for104:
  %v108 = load i32, ptr %s102
  %v109 = icmp ult i32 %v108, %v12
  br i1 %v109, label %body105, label %endfor107
body105:
  %v110 = load i32, ptr %s103
  %v111 = zext i32 32 to i64
  %v112 = icmp slt i64 31, %v111
  %v113 = and i1 true, %v112
  br i1 %v113, label %inside114, label %edge115
inside114:
  %v117 = mul nuw nsw i32 %v44, 1
  %v118 = add nuw nsw i32 %v117, 0
  %v119 = mul nuw nsw i32 %v42, 1
  %v120 = add nuw nsw i32 %v119, 0
  store i32 0, ptr %s123
  br label %threads.x121
threads.x121:
  %v124 = load i32, ptr %s123
  %v125 = zext nneg i32 %v124 to i64
  %v126 = mul nuw nsw i32 %v40, 32
  %v127 = add nuw nsw i32 %v126, %v124
  %v128 = getelementptr inbounds float, ptr %v14, i64 %v125
  %v129 = load float, ptr %v128, align 4, !llvm.access.group !11, !alias.scope !6
  store float %v129, ptr %s69
  %v131 = load float, ptr %s69
  %v132 = sext i32 %v124 to i64
  %v133 = getelementptr inbounds float, ptr %v13, i64 %v132
  store float %v131, ptr %v133, align 4, !llvm.access.group !11, !alias.scope !6
  br label %end130
end130:
  %v134 = add nuw nsw i32 %v124, 1
  store i32 %v134, ptr %s123
  %v135 = icmp ult i32 %v134, 32
  br i1 %v135, label %threads.x121, label %after122, !llvm.loop !14
after122:
  br label %both116
edge115:
  %v136 = mul nuw nsw i32 %v44, 1
  %v137 = add nuw nsw i32 %v136, 0
  %v138 = mul nuw nsw i32 %v42, 1
  %v139 = add nuw nsw i32 %v138, 0
  store i32 0, ptr %s142
  br label %threads.x140
threads.x140:
  %v143 = load i32, ptr %s142
  %v144 = zext nneg i32 %v143 to i64
  %v145 = mul nuw nsw i32 %v40, 32
  %v146 = add nuw nsw i32 %v145, %v143
  %v147 = getelementptr inbounds float, ptr %v14, i64 %v144
  %v148 = load float, ptr %v147, align 4, !llvm.access.group !15, !alias.scope !6
  store float %v148, ptr %s69
  %v150 = load float, ptr %s69
  %v151 = sext i32 %v143 to i64
  %v152 = getelementptr inbounds float, ptr %v13, i64 %v151
  store float %v150, ptr %v152, align 4, !llvm.access.group !15, !alias.scope !6
  br label %end149
end149:
  %v153 = add nuw nsw i32 %v143, 1
  store i32 %v153, ptr %s142
  %v154 = icmp ult i32 %v153, 32
  br i1 %v154, label %threads.x140, label %after141, !llvm.loop !18
after141:
  br label %both116
both116:
  %v155 = sext i32 1 to i64
  %v156 = add i64 0, %v155
  %v157 = add i64 31, %v155
  %v158 = sext i32 31 to i64
  %v159 = zext i32 32 to i64
  %v160 = mul nuw nsw i32 %v44, 1
  %v161 = add nuw nsw i32 %v160, 0
  %v162 = mul nuw nsw i32 %v42, 1
  %v163 = add nuw nsw i32 %v162, 0
  store i32 0, ptr %s166
  br label %threads.x164
threads.x164:
  %v167 = load i32, ptr %s166
  %v168 = zext nneg i32 %v167 to i64
  %v169 = mul nuw nsw i32 %v40, 32
  %v170 = add nuw nsw i32 %v169, %v167
  %v171 = getelementptr inbounds float, ptr %v14, i64 %v168
  %v172 = load float, ptr %v171, align 4, !llvm.access.group !19, !alias.scope !6
  store float %v172, ptr %s69
  %v174 = add nsw i32 %v167, 1
  %v175 = and i32 %v174, 31
  %v176 = add nsw i32 %v167, 1
  %v177 = and i32 %v176, 31
  %v178 = sext i32 %v177 to i64
  %v179 = getelementptr inbounds float, ptr %v13, i64 %v178
  %v180 = load float, ptr %v179, align 4, !llvm.access.group !19, !alias.scope !6
  %v181 = load float, ptr %s69
  %v182 = call { float } @fn.2e..24.exp_f32(float %v181, ptr %v20)
  %v183 = extractvalue { float } %v182, 0
  %v184 = fadd float %v180, %v183
  store float %v184, ptr %s69
  br label %end173
end173:
  %v185 = load float, ptr %s69
  store float %v185, ptr %v171, align 4, !llvm.access.group !19, !alias.scope !6
  %v186 = add nuw nsw i32 %v167, 1
  store i32 %v186, ptr %s166
  %v187 = icmp ult i32 %v186, 32
  br i1 %v187, label %threads.x164, label %after165, !llvm.loop !22
after165:
  br label %next106
next106:
  %v189 = load atomic i32, ptr %v20 monotonic, align 4
  %v190 = icmp eq i32 %v189, 0
  br i1 %v190, label %go188, label %exit
go188:
  %v191 = add nuw i32 %v108, 1
  store i32 %v191, ptr %s102
  %v192 = add i32 %v110, 1
  store i32 %v192, ptr %s103
  br label %for104, !llvm.loop !24
endfor107:
  %v193 = sext i32 %v40 to i64
  %v194 = mul nuw nsw i64 %v193, 32
  %v195 = add nuw nsw i64 %v194, 32
  %v196 = sub nuw nsw i64 %v195, 1
  %v197 = trunc i64 %v8 to i32
  %v198 = zext i32 %v197 to i64
  %v199 = icmp slt i64 %v196, %v198
  %v200 = and i1 true, %v199
  br i1 %v200, label %inside201, label %edge202
inside201:
  %v204 = mul nuw nsw i32 %v44, 1
  %v205 = add nuw nsw i32 %v204, 0
  %v206 = mul nuw nsw i32 %v42, 1
  %v207 = add nuw nsw i32 %v206, 0
  store i32 0, ptr %s210
  br label %threads.x208
threads.x208:
  %v211 = load i32, ptr %s210
  %v212 = zext nneg i32 %v211 to i64
  %v213 = mul nuw nsw i32 %v40, 32
  %v214 = add nuw nsw i32 %v213, %v211
  %v215 = getelementptr inbounds float, ptr %v14, i64 %v212
  %v216 = load float, ptr %v215, align 4, !llvm.access.group !25, !alias.scope !6
  store float %v216, ptr %s69
  %v218 = load float, ptr %s69
  %v219 = sext i32 %v214 to i64
  %v220 = getelementptr inbounds float, ptr %v6, i64 %v219
  store float %v218, ptr %v220, align 4, !llvm.access.group !25, !noalias !6
  br label %end217
end217:
  %v221 = add nuw nsw i32 %v211, 1
  store i32 %v221, ptr %s210
  %v222 = icmp ult i32 %v221, 32
  br i1 %v222, label %threads.x208, label %after209, !llvm.loop !28
after209:
  br label %both203
edge202:
  %v223 = mul nuw nsw i32 %v44, 1
  %v224 = add nuw nsw i32 %v223, 0
  %v225 = mul nuw nsw i32 %v42, 1
  %v226 = add nuw nsw i32 %v225, 0
  store i32 0, ptr %s229
  br label %threads.x227
threads.x227:
  %v230 = load i32, ptr %s229
  %v231 = zext nneg i32 %v230 to i64
  %v232 = mul nuw nsw i32 %v40, 32
  %v233 = add nuw nsw i32 %v232, %v230
  %v234 = getelementptr inbounds float, ptr %v14, i64 %v231
  %v235 = load float, ptr %v234, align 4, !llvm.access.group !29, !alias.scope !6
  store float %v235, ptr %s69
  %v237 = trunc i64 %v8 to i32
  %v238 = icmp ult i32 %v233, %v237
  br i1 %v238, label %in239, label %out240
in239:
  %v241 = load float, ptr %s69
  %v242 = sext i32 %v233 to i64
  %v243 = getelementptr inbounds float, ptr %v6, i64 %v242
  store float %v241, ptr %v243, align 4, !llvm.access.group !29, !noalias !6
  br label %out240
out240:
  br label %end236
end236:
  %v244 = add nuw nsw i32 %v230, 1
  store i32 %v244, ptr %s229
  %v245 = icmp ult i32 %v244, 32
  br i1 %v245, label %threads.x227, label %after228, !llvm.loop !32
after228:
  br label %both203
both203:
  %v246 = load i64, ptr %s2
  %v247 = add nuw nsw i64 %v246, 1
  %v248 = load i64, ptr %s3
  %v249 = add nuw nsw i64 %v248, 1
  %v250 = load i64, ptr %s4
  %v251 = add nuw nsw i64 %v250, 1
  %v252 = icmp eq i64 %v247, %gx
  %v253 = select i1 %v252, i64 0, i64 %v247
  store i64 %v253, ptr %s2
  br i1 %v252, label %row, label %following
row:
  %v254 = icmp eq i64 %v249, %gy
  %v255 = select i1 %v254, i64 0, i64 %v249
  store i64 %v255, ptr %s3
  br i1 %v254, label %plane, label %following
plane:
  store i64 %v251, ptr %s4
  br label %following
following:
  %v256 = load i64, ptr %s1
  %v257 = add nuw nsw i64 %v256, 1
  store i64 %v257, ptr %s1
  %v258 = icmp ult i64 %v257, %v34
  br i1 %v258, label %block, label %done
done:
  br i1 %v26, label %exit, label %take
exit:
  ret void
}

define double @ruda_k.cost(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz) #3 {
entry:
  %s14 = alloca double
  %s17 = alloca i64
  %v1 = getelementptr inbounds i8, ptr %packed, i64 0
  %v2 = load ptr, ptr %v1, align 1
  %v3 = getelementptr inbounds i8, ptr %packed, i64 8
  %v4 = load i64, ptr %v3, align 1
  %v5 = getelementptr inbounds i8, ptr %packed, i64 16
  %v6 = load i64, ptr %v5, align 1
  %v7 = getelementptr inbounds i8, ptr %packed, i64 24
  %v8 = load i32, ptr %v7, align 1
  %v9 = mul i64 %gx, %gy
  %v10 = mul i64 %v9, %gz
  %v11 = trunc i64 %gx to i32
  %v12 = trunc i64 %gy to i32
  %v13 = trunc i64 %gz to i32
  store double 0.0, ptr %s14
  store i64 0, ptr %s17
  br label %sample15
sample15:
  %v18 = load i64, ptr %s17
  %v19 = sub nuw nsw i64 %gx, 1
  %v20 = mul nuw i64 %v19, %v18
  %v21 = udiv i64 %v20, 4
  %v22 = mul nuw i64 31, %v18
  %v23 = udiv i64 %v22, 4
  %v24 = mul nuw nsw i64 %v21, 32
  %v25 = add nuw nsw i64 %v24, %v23
  %v26 = trunc i64 %v21 to i32
  %v27 = trunc i64 %v23 to i32
  %v28 = trunc i64 %v25 to i32
  %v29 = sub nuw nsw i64 %gy, 1
  %v30 = mul nuw i64 %v29, %v18
  %v31 = udiv i64 %v30, 4
  %v32 = mul nuw i64 0, %v18
  %v33 = udiv i64 %v32, 4
  %v34 = mul nuw nsw i64 %v31, 1
  %v35 = add nuw nsw i64 %v34, %v33
  %v36 = trunc i64 %v31 to i32
  %v37 = trunc i64 %v33 to i32
  %v38 = trunc i64 %v35 to i32
  %v39 = sub nuw nsw i64 %gz, 1
  %v40 = mul nuw i64 %v39, %v18
  %v41 = udiv i64 %v40, 4
  %v42 = mul nuw i64 0, %v18
  %v43 = udiv i64 %v42, 4
  %v44 = mul nuw nsw i64 %v41, 1
  %v45 = add nuw nsw i64 %v44, %v43
  %v46 = trunc i64 %v41 to i32
  %v47 = trunc i64 %v43 to i32
  %v48 = trunc i64 %v45 to i32
  %v49 = uitofp i32 %v8 to double
  %v50 = fmul double %v49, 0x3FF0000000000000
  %v51 = fmul double %v50, 0x4045000000000000
  %v52 = fadd double 0x4030000000000000, %v51
  %v53 = load double, ptr %s14
  %v54 = fcmp ogt double %v52, %v53
  %v55 = select i1 %v54, double %v52, double %v53
  store double %v55, ptr %s14
  %v56 = add nuw nsw i64 %v18, 1
  store i64 %v56, ptr %s17
  %v57 = icmp ult i64 %v56, 5
  br i1 %v57, label %sample15, label %after16
after16:
  %v58 = load double, ptr %s14
  %v59 = fmul double %v58, 0x4040000000000000
  ret double %v59
}

declare float @llvm.fma.f32(float, float, float)
declare i64 @llvm.umin.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }
attributes #1 = { nofree nosync nounwind willreturn memory(none) }
attributes #2 = { alwaysinline nounwind }
attributes #3 = { noinline nounwind optnone }

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = !{!"llvm.loop.unroll.disable"}
!3 = distinct !{!3, !1, !2}
!4 = distinct !{!4}
!5 = distinct !{!5, !4}
!6 = !{!5}
!7 = distinct !{}
!8 = !{!"llvm.loop.parallel_accesses", !7}
!9 = !{!"llvm.loop.unroll.disable"}
!10 = distinct !{!10, !8, !9}
!11 = distinct !{}
!12 = !{!"llvm.loop.parallel_accesses", !11}
!13 = !{!"llvm.loop.unroll.disable"}
!14 = distinct !{!14, !12, !13}
!15 = distinct !{}
!16 = !{!"llvm.loop.parallel_accesses", !15}
!17 = !{!"llvm.loop.unroll.disable"}
!18 = distinct !{!18, !16, !17}
!19 = distinct !{}
!20 = !{!"llvm.loop.parallel_accesses", !19}
!21 = !{!"llvm.loop.unroll.disable"}
!22 = distinct !{!22, !20, !21}
!23 = !{!"llvm.loop.unroll.disable"}
!24 = distinct !{!24, !23}
!25 = distinct !{}
!26 = !{!"llvm.loop.parallel_accesses", !25}
!27 = !{!"llvm.loop.unroll.disable"}
!28 = distinct !{!28, !26, !27}
!29 = distinct !{}
!30 = !{!"llvm.loop.parallel_accesses", !29}
!31 = !{!"llvm.loop.unroll.disable"}
!32 = distinct !{!32, !30, !31}
