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
  %s103 = alloca i64
  %s124 = alloca i32
  %s143 = alloca i32
  %s164 = alloca i32
  %s207 = alloca i32
  %s226 = alloca i32
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
  %v68 = load float, ptr %v67, align 4, !llvm.access.group !0, !alias.scope !7
  store float %v68, ptr %s69
  store float 0x0000000000000000, ptr %s69
  %v71 = sext i32 %v66 to i64
  %v72 = getelementptr inbounds float, ptr %v6, i64 %v71
  %v73 = load float, ptr %v72, align 4, !llvm.access.group !0, !noalias !7
  store float %v73, ptr %s69
  br label %end70
end70:
  %v74 = load float, ptr %s69
  store float %v74, ptr %v67, align 4, !llvm.access.group !0, !alias.scope !7
  %v75 = add nuw nsw i32 %v63, 1
  store i32 %v75, ptr %s62
  %v76 = icmp ult i32 %v75, 32
  br i1 %v76, label %threads.x60, label %after61, !llvm.loop !4
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
  %v89 = load float, ptr %v88, align 4, !llvm.access.group !8, !alias.scope !7
  store float %v89, ptr %s69
  store float 0x0000000000000000, ptr %s69
  %v91 = trunc i64 %v8 to i32
  %v92 = icmp ult i32 %v87, %v91
  br i1 %v92, label %in93, label %out94
in93:
  %v95 = sext i32 %v87 to i64
  %v96 = getelementptr inbounds float, ptr %v6, i64 %v95
  %v97 = load float, ptr %v96, align 4, !llvm.access.group !8, !noalias !7
  br label %out94
out94:
  %v98 = phi float [ %v97, %in93 ], [ 0x0000000000000000, %threads.x81 ]
  store float %v98, ptr %s69
  br label %end90
end90:
  %v99 = load float, ptr %s69
  store float %v99, ptr %v88, align 4, !llvm.access.group !8, !alias.scope !7
  %v100 = add nuw nsw i32 %v84, 1
  store i32 %v100, ptr %s83
  %v101 = icmp ult i32 %v100, 32
  br i1 %v101, label %threads.x81, label %after82, !llvm.loop !11
after82:
  br label %both55
both55:
  %v102 = zext i32 %v12 to i64
  store i64 0, ptr %s103
  br label %for104
for104:
  %v108 = load i64, ptr %s103
  %v109 = icmp ult i64 %v108, %v102
  br i1 %v109, label %body105, label %endfor107
body105:
  %v110 = trunc i64 %v108 to i32
  %v111 = mul i32 %v110, 1
  %v112 = add i32 0, %v111
  %v113 = icmp slt i64 31, 32
  %v114 = and i1 true, %v113
  br i1 %v114, label %inside115, label %edge116
inside115:
  %v118 = mul nuw nsw i32 %v44, 1
  %v119 = add nuw nsw i32 %v118, 0
  %v120 = mul nuw nsw i32 %v42, 1
  %v121 = add nuw nsw i32 %v120, 0
  store i32 0, ptr %s124
  br label %threads.x122
threads.x122:
  %v125 = load i32, ptr %s124
  %v126 = zext nneg i32 %v125 to i64
  %v127 = mul nuw nsw i32 %v40, 32
  %v128 = add nuw nsw i32 %v127, %v125
  %v129 = getelementptr inbounds float, ptr %v14, i64 %v126
  %v130 = load float, ptr %v129, align 4, !llvm.access.group !12, !alias.scope !7
  store float %v130, ptr %s69
  %v132 = load float, ptr %s69
  %v133 = sext i32 %v125 to i64
  %v134 = getelementptr inbounds float, ptr %v13, i64 %v133
  store float %v132, ptr %v134, align 4, !llvm.access.group !12, !alias.scope !7
  br label %end131
end131:
  %v135 = add nuw nsw i32 %v125, 1
  store i32 %v135, ptr %s124
  %v136 = icmp ult i32 %v135, 32
  br i1 %v136, label %threads.x122, label %after123, !llvm.loop !16
after123:
  br label %both117
edge116:
  %v137 = mul nuw nsw i32 %v44, 1
  %v138 = add nuw nsw i32 %v137, 0
  %v139 = mul nuw nsw i32 %v42, 1
  %v140 = add nuw nsw i32 %v139, 0
  store i32 0, ptr %s143
  br label %threads.x141
threads.x141:
  %v144 = load i32, ptr %s143
  %v145 = zext nneg i32 %v144 to i64
  %v146 = mul nuw nsw i32 %v40, 32
  %v147 = add nuw nsw i32 %v146, %v144
  %v148 = getelementptr inbounds float, ptr %v14, i64 %v145
  %v149 = load float, ptr %v148, align 4, !llvm.access.group !17, !alias.scope !7
  store float %v149, ptr %s69
  %v151 = load float, ptr %s69
  %v152 = sext i32 %v144 to i64
  %v153 = getelementptr inbounds float, ptr %v13, i64 %v152
  store float %v151, ptr %v153, align 4, !llvm.access.group !17, !alias.scope !7
  br label %end150
end150:
  %v154 = add nuw nsw i32 %v144, 1
  store i32 %v154, ptr %s143
  %v155 = icmp ult i32 %v154, 32
  br i1 %v155, label %threads.x141, label %after142, !llvm.loop !20
after142:
  br label %both117
both117:
  %v156 = add i64 0, 1
  %v157 = add i64 31, 1
  %v158 = mul nuw nsw i32 %v44, 1
  %v159 = add nuw nsw i32 %v158, 0
  %v160 = mul nuw nsw i32 %v42, 1
  %v161 = add nuw nsw i32 %v160, 0
  store i32 0, ptr %s164
  br label %threads.x162
threads.x162:
  %v165 = load i32, ptr %s164
  %v166 = zext nneg i32 %v165 to i64
  %v167 = mul nuw nsw i32 %v40, 32
  %v168 = add nuw nsw i32 %v167, %v165
  %v169 = getelementptr inbounds float, ptr %v14, i64 %v166
  %v170 = load float, ptr %v169, align 4, !llvm.access.group !21, !alias.scope !7
  store float %v170, ptr %s69
  %v172 = add nsw i32 %v165, 1
  %v173 = and i32 %v172, 31
  %v174 = add nsw i32 %v165, 1
  %v175 = and i32 %v174, 31
  %v176 = sext i32 %v175 to i64
  %v177 = getelementptr inbounds float, ptr %v13, i64 %v176
  %v178 = load float, ptr %v177, align 4, !llvm.access.group !21, !alias.scope !7
  %v179 = load float, ptr %s69
  %v180 = call { float } @fn.2e..24.exp_f32(float %v179, ptr %v20)
  %v181 = extractvalue { float } %v180, 0
  %v182 = fadd float %v178, %v181
  store float %v182, ptr %s69
  br label %end171
end171:
  %v183 = load float, ptr %s69
  store float %v183, ptr %v169, align 4, !llvm.access.group !21, !alias.scope !7
  %v184 = add nuw nsw i32 %v165, 1
  store i32 %v184, ptr %s164
  %v185 = icmp ult i32 %v184, 32
  br i1 %v185, label %threads.x162, label %after163, !llvm.loop !24
after163:
  br label %next106
next106:
  %v187 = load atomic i32, ptr %v20 monotonic, align 4
  %v188 = icmp eq i32 %v187, 0
  br i1 %v188, label %go186, label %exit
go186:
  %v189 = add nuw i64 %v108, 1
  store i64 %v189, ptr %s103
  br label %for104, !llvm.loop !26
endfor107:
  %v190 = sext i32 %v40 to i64
  %v191 = mul nuw nsw i64 %v190, 32
  %v192 = add nuw nsw i64 %v191, 32
  %v193 = sub nuw nsw i64 %v192, 1
  %v194 = trunc i64 %v8 to i32
  %v195 = zext i32 %v194 to i64
  %v196 = icmp slt i64 %v193, %v195
  %v197 = and i1 true, %v196
  br i1 %v197, label %inside198, label %edge199
inside198:
  %v201 = mul nuw nsw i32 %v44, 1
  %v202 = add nuw nsw i32 %v201, 0
  %v203 = mul nuw nsw i32 %v42, 1
  %v204 = add nuw nsw i32 %v203, 0
  store i32 0, ptr %s207
  br label %threads.x205
threads.x205:
  %v208 = load i32, ptr %s207
  %v209 = zext nneg i32 %v208 to i64
  %v210 = mul nuw nsw i32 %v40, 32
  %v211 = add nuw nsw i32 %v210, %v208
  %v212 = getelementptr inbounds float, ptr %v14, i64 %v209
  %v213 = load float, ptr %v212, align 4, !llvm.access.group !27, !alias.scope !7
  store float %v213, ptr %s69
  %v215 = load float, ptr %s69
  %v216 = sext i32 %v211 to i64
  %v217 = getelementptr inbounds float, ptr %v6, i64 %v216
  store float %v215, ptr %v217, align 4, !llvm.access.group !27, !noalias !7
  br label %end214
end214:
  %v218 = add nuw nsw i32 %v208, 1
  store i32 %v218, ptr %s207
  %v219 = icmp ult i32 %v218, 32
  br i1 %v219, label %threads.x205, label %after206, !llvm.loop !31
after206:
  br label %both200
edge199:
  %v220 = mul nuw nsw i32 %v44, 1
  %v221 = add nuw nsw i32 %v220, 0
  %v222 = mul nuw nsw i32 %v42, 1
  %v223 = add nuw nsw i32 %v222, 0
  store i32 0, ptr %s226
  br label %threads.x224
threads.x224:
  %v227 = load i32, ptr %s226
  %v228 = zext nneg i32 %v227 to i64
  %v229 = mul nuw nsw i32 %v40, 32
  %v230 = add nuw nsw i32 %v229, %v227
  %v231 = getelementptr inbounds float, ptr %v14, i64 %v228
  %v232 = load float, ptr %v231, align 4, !llvm.access.group !32, !alias.scope !7
  store float %v232, ptr %s69
  %v234 = trunc i64 %v8 to i32
  %v235 = icmp ult i32 %v230, %v234
  br i1 %v235, label %in236, label %out237
in236:
  %v238 = load float, ptr %s69
  %v239 = sext i32 %v230 to i64
  %v240 = getelementptr inbounds float, ptr %v6, i64 %v239
  store float %v238, ptr %v240, align 4, !llvm.access.group !32, !noalias !7
  br label %out237
out237:
  br label %end233
end233:
  %v241 = add nuw nsw i32 %v227, 1
  store i32 %v241, ptr %s226
  %v242 = icmp ult i32 %v241, 32
  br i1 %v242, label %threads.x224, label %after225, !llvm.loop !35
after225:
  br label %both200
both200:
  %v243 = load i64, ptr %s2
  %v244 = add nuw nsw i64 %v243, 1
  %v245 = load i64, ptr %s3
  %v246 = add nuw nsw i64 %v245, 1
  %v247 = load i64, ptr %s4
  %v248 = add nuw nsw i64 %v247, 1
  %v249 = icmp eq i64 %v244, %gx
  %v250 = select i1 %v249, i64 0, i64 %v244
  store i64 %v250, ptr %s2
  br i1 %v249, label %row, label %following
row:
  %v251 = icmp eq i64 %v246, %gy
  %v252 = select i1 %v251, i64 0, i64 %v246
  store i64 %v252, ptr %s3
  br i1 %v251, label %plane, label %following
plane:
  store i64 %v248, ptr %s4
  br label %following
following:
  %v253 = load i64, ptr %s1
  %v254 = add nuw nsw i64 %v253, 1
  store i64 %v254, ptr %s1
  %v255 = icmp ult i64 %v254, %v34
  br i1 %v255, label %block, label %done
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
  %v51 = fmul double %v50, 0x4042000000000000
  %v52 = fadd double 0x4020000000000000, %v51
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
!3 = !{!"llvm.loop.interleave.count", i32 4}
!4 = distinct !{!4, !1, !2, !3}
!5 = distinct !{!5}
!6 = distinct !{!6, !5}
!7 = !{!6}
!8 = distinct !{}
!9 = !{!"llvm.loop.parallel_accesses", !8}
!10 = !{!"llvm.loop.unroll.disable"}
!11 = distinct !{!11, !9, !10}
!12 = distinct !{}
!13 = !{!"llvm.loop.parallel_accesses", !12}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = !{!"llvm.loop.interleave.count", i32 4}
!16 = distinct !{!16, !13, !14, !15}
!17 = distinct !{}
!18 = !{!"llvm.loop.parallel_accesses", !17}
!19 = !{!"llvm.loop.unroll.disable"}
!20 = distinct !{!20, !18, !19}
!21 = distinct !{}
!22 = !{!"llvm.loop.parallel_accesses", !21}
!23 = !{!"llvm.loop.unroll.disable"}
!24 = distinct !{!24, !22, !23}
!25 = !{!"llvm.loop.unroll.disable"}
!26 = distinct !{!26, !25}
!27 = distinct !{}
!28 = !{!"llvm.loop.parallel_accesses", !27}
!29 = !{!"llvm.loop.unroll.disable"}
!30 = !{!"llvm.loop.interleave.count", i32 4}
!31 = distinct !{!31, !28, !29, !30}
!32 = distinct !{}
!33 = !{!"llvm.loop.parallel_accesses", !32}
!34 = !{!"llvm.loop.unroll.disable"}
!35 = distinct !{!35, !33, !34}
