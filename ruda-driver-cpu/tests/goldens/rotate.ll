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

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s63 = alloca i32
  %s70 = alloca float
  %s84 = alloca i32
  %s107 = alloca i32
  %s108 = alloca i32
  %s124 = alloca i32
  %s143 = alloca i32
  %s167 = alloca i32
  %s211 = alloca i32
  %s230 = alloca i32
  %v6 = getelementptr inbounds i8, ptr %packed, i64 0
  %v7 = load ptr, ptr %v6, align 1
  %v8 = getelementptr inbounds i8, ptr %packed, i64 8
  %v9 = load i64, ptr %v8, align 1
  %v10 = getelementptr inbounds i8, ptr %packed, i64 16
  %v11 = load i64, ptr %v10, align 1
  %v12 = getelementptr inbounds i8, ptr %packed, i64 24
  %v13 = load i32, ptr %v12, align 1
  %v14 = getelementptr inbounds i8, ptr %scratch, i64 0
  %v15 = getelementptr inbounds i8, ptr %scratch, i64 128
  %v16 = mul i64 %gx, %gy
  %v17 = mul i64 %v16, %gz
  %v18 = trunc i64 %gx to i32
  %v19 = trunc i64 %gy to i32
  %v20 = trunc i64 %gz to i32
  %v21 = getelementptr inbounds i8, ptr %control, i64 8
  %v22 = getelementptr inbounds i8, ptr %control, i64 0
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr inbounds i8, ptr %control, i64 16
  %v25 = load i64, ptr %v24, align 8
  %v26 = getelementptr inbounds i8, ptr %control, i64 64
  %v27 = icmp eq i64 %v23, 0
  br i1 %v27, label %range, label %take
take:
  %v28 = load atomic i32, ptr %v21 monotonic, align 4
  %v29 = icmp eq i32 %v28, 0
  br i1 %v29, label %more, label %exit
more:
  %v30 = atomicrmw add ptr %v26, i64 %v23 monotonic, align 8
  %v31 = add i64 %v30, %v23
  %v32 = call i64 @llvm.umin.i64(i64 %v31, i64 %v25)
  %v33 = icmp ult i64 %v30, %v25
  br i1 %v33, label %range, label %exit
range:
  %v34 = phi i64 [ 0, %entry ], [ %v30, %more ]
  %v35 = phi i64 [ %v17, %entry ], [ %v32, %more ]
  %v36 = udiv i64 %v34, %gx
  %v37 = urem i64 %v34, %gx
  %v38 = urem i64 %v36, %gy
  %v39 = udiv i64 %v36, %gy
  store i64 %v34, ptr %s2
  store i64 %v37, ptr %s3
  store i64 %v38, ptr %s4
  store i64 %v39, ptr %s5
  br label %block
block:
  %v40 = load i64, ptr %s3
  %v41 = trunc i64 %v40 to i32
  %v42 = load i64, ptr %s4
  %v43 = trunc i64 %v42 to i32
  %v44 = load i64, ptr %s5
  %v45 = trunc i64 %v44 to i32
  %v46 = sext i32 %v41 to i64
  %v47 = mul nuw nsw i64 %v46, 32
  %v48 = add nuw nsw i64 %v47, 32
  %v49 = sub nuw nsw i64 %v48, 1
  %v50 = trunc i64 %v9 to i32
  %v51 = zext i32 %v50 to i64
  %v52 = icmp slt i64 %v49, %v51
  %v53 = and i1 true, %v52
  br i1 %v53, label %inside54, label %edge55
inside54:
  %v57 = mul nuw nsw i32 %v45, 1
  %v58 = add nuw nsw i32 %v57, 0
  %v59 = mul nuw nsw i32 %v43, 1
  %v60 = add nuw nsw i32 %v59, 0
  store i32 0, ptr %s63
  br label %threads.x61
threads.x61:
  %v64 = load i32, ptr %s63
  %v65 = zext nneg i32 %v64 to i64
  %v66 = mul nuw nsw i32 %v41, 32
  %v67 = add nuw nsw i32 %v66, %v64
  %v68 = getelementptr inbounds float, ptr %v15, i64 %v65
  %v69 = load float, ptr %v68, align 4, !llvm.access.group !0
  store float %v69, ptr %s70
  store float 0x0000000000000000, ptr %s70
  %v72 = sext i32 %v67 to i64
  %v73 = getelementptr inbounds float, ptr %v7, i64 %v72
  %v74 = load float, ptr %v73, align 4, !llvm.access.group !0
  store float %v74, ptr %s70
  br label %end71
end71:
  %v75 = load float, ptr %s70
  store float %v75, ptr %v68, align 4, !llvm.access.group !0
  %v76 = add nuw nsw i32 %v64, 1
  store i32 %v76, ptr %s63
  %v77 = icmp ult i32 %v76, 32
  br i1 %v77, label %threads.x61, label %after62, !llvm.loop !3
after62:
  br label %both56
edge55:
  %v78 = mul nuw nsw i32 %v45, 1
  %v79 = add nuw nsw i32 %v78, 0
  %v80 = mul nuw nsw i32 %v43, 1
  %v81 = add nuw nsw i32 %v80, 0
  store i32 0, ptr %s84
  br label %threads.x82
threads.x82:
  %v85 = load i32, ptr %s84
  %v86 = zext nneg i32 %v85 to i64
  %v87 = mul nuw nsw i32 %v41, 32
  %v88 = add nuw nsw i32 %v87, %v85
  %v89 = getelementptr inbounds float, ptr %v15, i64 %v86
  %v90 = load float, ptr %v89, align 4, !llvm.access.group !4
  store float %v90, ptr %s70
  store float 0x0000000000000000, ptr %s70
  %v92 = trunc i64 %v9 to i32
  %v93 = icmp ult i32 %v88, %v92
  br i1 %v93, label %in94, label %out95
in94:
  %v96 = sext i32 %v88 to i64
  %v97 = getelementptr inbounds float, ptr %v7, i64 %v96
  %v98 = load float, ptr %v97, align 4, !llvm.access.group !4
  br label %out95
out95:
  %v99 = phi float [ %v98, %in94 ], [ 0x0000000000000000, %threads.x82 ]
  store float %v99, ptr %s70
  br label %end91
end91:
  %v100 = load float, ptr %s70
  store float %v100, ptr %v89, align 4, !llvm.access.group !4
  %v101 = add nuw nsw i32 %v85, 1
  store i32 %v101, ptr %s84
  %v102 = icmp ult i32 %v101, 32
  br i1 %v102, label %threads.x82, label %after83, !llvm.loop !7
after83:
  br label %both56
both56:
  store i32 0, ptr %s107
  store i32 0, ptr %s108
  br label %for103
for103:
  %v109 = load i32, ptr %s107
  %v110 = icmp ult i32 %v109, %v13
  br i1 %v110, label %body104, label %endfor106
body104:
  %v111 = load i32, ptr %s108
  %v112 = zext i32 32 to i64
  %v113 = icmp slt i64 31, %v112
  %v114 = and i1 true, %v113
  br i1 %v114, label %inside115, label %edge116
inside115:
  %v118 = mul nuw nsw i32 %v45, 1
  %v119 = add nuw nsw i32 %v118, 0
  %v120 = mul nuw nsw i32 %v43, 1
  %v121 = add nuw nsw i32 %v120, 0
  store i32 0, ptr %s124
  br label %threads.x122
threads.x122:
  %v125 = load i32, ptr %s124
  %v126 = zext nneg i32 %v125 to i64
  %v127 = mul nuw nsw i32 %v41, 32
  %v128 = add nuw nsw i32 %v127, %v125
  %v129 = getelementptr inbounds float, ptr %v15, i64 %v126
  %v130 = load float, ptr %v129, align 4, !llvm.access.group !8
  store float %v130, ptr %s70
  %v132 = load float, ptr %s70
  %v133 = sext i32 %v125 to i64
  %v134 = getelementptr inbounds float, ptr %v14, i64 %v133
  store float %v132, ptr %v134, align 4, !llvm.access.group !8
  br label %end131
end131:
  %v135 = add nuw nsw i32 %v125, 1
  store i32 %v135, ptr %s124
  %v136 = icmp ult i32 %v135, 32
  br i1 %v136, label %threads.x122, label %after123, !llvm.loop !11
after123:
  br label %both117
edge116:
  %v137 = mul nuw nsw i32 %v45, 1
  %v138 = add nuw nsw i32 %v137, 0
  %v139 = mul nuw nsw i32 %v43, 1
  %v140 = add nuw nsw i32 %v139, 0
  store i32 0, ptr %s143
  br label %threads.x141
threads.x141:
  %v144 = load i32, ptr %s143
  %v145 = zext nneg i32 %v144 to i64
  %v146 = mul nuw nsw i32 %v41, 32
  %v147 = add nuw nsw i32 %v146, %v144
  %v148 = getelementptr inbounds float, ptr %v15, i64 %v145
  %v149 = load float, ptr %v148, align 4, !llvm.access.group !12
  store float %v149, ptr %s70
  %v151 = load float, ptr %s70
  %v152 = sext i32 %v144 to i64
  %v153 = getelementptr inbounds float, ptr %v14, i64 %v152
  store float %v151, ptr %v153, align 4, !llvm.access.group !12
  br label %end150
end150:
  %v154 = add nuw nsw i32 %v144, 1
  store i32 %v154, ptr %s143
  %v155 = icmp ult i32 %v154, 32
  br i1 %v155, label %threads.x141, label %after142, !llvm.loop !15
after142:
  br label %both117
both117:
  %v156 = sext i32 1 to i64
  %v157 = add i64 0, %v156
  %v158 = add i64 31, %v156
  %v159 = sext i32 31 to i64
  %v160 = zext i32 32 to i64
  %v161 = mul nuw nsw i32 %v45, 1
  %v162 = add nuw nsw i32 %v161, 0
  %v163 = mul nuw nsw i32 %v43, 1
  %v164 = add nuw nsw i32 %v163, 0
  store i32 0, ptr %s167
  br label %threads.x165
threads.x165:
  %v168 = load i32, ptr %s167
  %v169 = zext nneg i32 %v168 to i64
  %v170 = mul nuw nsw i32 %v41, 32
  %v171 = add nuw nsw i32 %v170, %v168
  %v172 = getelementptr inbounds float, ptr %v15, i64 %v169
  %v173 = load float, ptr %v172, align 4, !llvm.access.group !16
  store float %v173, ptr %s70
  %v175 = add nsw i32 %v168, 1
  %v176 = and i32 %v175, 31
  %v177 = add nsw i32 %v168, 1
  %v178 = and i32 %v177, 31
  %v179 = sext i32 %v178 to i64
  %v180 = getelementptr inbounds float, ptr %v14, i64 %v179
  %v181 = load float, ptr %v180, align 4, !llvm.access.group !16
  %v182 = load float, ptr %s70
  %v183 = call { float } @fn.2e..24.exp_f32(float %v182, ptr %v21)
  %v184 = extractvalue { float } %v183, 0
  %v185 = fadd float %v181, %v184
  store float %v185, ptr %s70
  br label %end174
end174:
  %v186 = load float, ptr %s70
  store float %v186, ptr %v172, align 4, !llvm.access.group !16
  %v187 = add nuw nsw i32 %v168, 1
  store i32 %v187, ptr %s167
  %v188 = icmp ult i32 %v187, 32
  br i1 %v188, label %threads.x165, label %after166, !llvm.loop !19
after166:
  br label %next105
next105:
  %v190 = load atomic i32, ptr %v21 monotonic, align 4
  %v191 = icmp eq i32 %v190, 0
  br i1 %v191, label %go189, label %exit
go189:
  %v192 = add nuw i32 %v109, 1
  store i32 %v192, ptr %s107
  %v193 = add i32 %v111, 1
  store i32 %v193, ptr %s108
  br label %for103
endfor106:
  %v194 = sext i32 %v41 to i64
  %v195 = mul nuw nsw i64 %v194, 32
  %v196 = add nuw nsw i64 %v195, 32
  %v197 = sub nuw nsw i64 %v196, 1
  %v198 = trunc i64 %v9 to i32
  %v199 = zext i32 %v198 to i64
  %v200 = icmp slt i64 %v197, %v199
  %v201 = and i1 true, %v200
  br i1 %v201, label %inside202, label %edge203
inside202:
  %v205 = mul nuw nsw i32 %v45, 1
  %v206 = add nuw nsw i32 %v205, 0
  %v207 = mul nuw nsw i32 %v43, 1
  %v208 = add nuw nsw i32 %v207, 0
  store i32 0, ptr %s211
  br label %threads.x209
threads.x209:
  %v212 = load i32, ptr %s211
  %v213 = zext nneg i32 %v212 to i64
  %v214 = mul nuw nsw i32 %v41, 32
  %v215 = add nuw nsw i32 %v214, %v212
  %v216 = getelementptr inbounds float, ptr %v15, i64 %v213
  %v217 = load float, ptr %v216, align 4, !llvm.access.group !20
  store float %v217, ptr %s70
  %v219 = load float, ptr %s70
  %v220 = sext i32 %v215 to i64
  %v221 = getelementptr inbounds float, ptr %v7, i64 %v220
  store float %v219, ptr %v221, align 4, !llvm.access.group !20
  br label %end218
end218:
  %v222 = add nuw nsw i32 %v212, 1
  store i32 %v222, ptr %s211
  %v223 = icmp ult i32 %v222, 32
  br i1 %v223, label %threads.x209, label %after210, !llvm.loop !23
after210:
  br label %both204
edge203:
  %v224 = mul nuw nsw i32 %v45, 1
  %v225 = add nuw nsw i32 %v224, 0
  %v226 = mul nuw nsw i32 %v43, 1
  %v227 = add nuw nsw i32 %v226, 0
  store i32 0, ptr %s230
  br label %threads.x228
threads.x228:
  %v231 = load i32, ptr %s230
  %v232 = zext nneg i32 %v231 to i64
  %v233 = mul nuw nsw i32 %v41, 32
  %v234 = add nuw nsw i32 %v233, %v231
  %v235 = getelementptr inbounds float, ptr %v15, i64 %v232
  %v236 = load float, ptr %v235, align 4, !llvm.access.group !24
  store float %v236, ptr %s70
  %v238 = trunc i64 %v9 to i32
  %v239 = icmp ult i32 %v234, %v238
  br i1 %v239, label %in240, label %out241
in240:
  %v242 = load float, ptr %s70
  %v243 = sext i32 %v234 to i64
  %v244 = getelementptr inbounds float, ptr %v7, i64 %v243
  store float %v242, ptr %v244, align 4, !llvm.access.group !24
  br label %out241
out241:
  br label %end237
end237:
  %v245 = add nuw nsw i32 %v231, 1
  store i32 %v245, ptr %s230
  %v246 = icmp ult i32 %v245, 32
  br i1 %v246, label %threads.x228, label %after229, !llvm.loop !27
after229:
  br label %both204
both204:
  %v247 = load i64, ptr %s3
  %v248 = add nuw nsw i64 %v247, 1
  %v249 = load i64, ptr %s4
  %v250 = add nuw nsw i64 %v249, 1
  %v251 = load i64, ptr %s5
  %v252 = add nuw nsw i64 %v251, 1
  %v253 = icmp eq i64 %v248, %gx
  %v254 = select i1 %v253, i64 0, i64 %v248
  store i64 %v254, ptr %s3
  br i1 %v253, label %row, label %following
row:
  %v255 = icmp eq i64 %v250, %gy
  %v256 = select i1 %v255, i64 0, i64 %v250
  store i64 %v256, ptr %s4
  br i1 %v255, label %plane, label %following
plane:
  store i64 %v252, ptr %s5
  br label %following
following:
  %v257 = load i64, ptr %s2
  %v258 = add nuw nsw i64 %v257, 1
  store i64 %v258, ptr %s2
  %v259 = icmp ult i64 %v258, %v35
  br i1 %v259, label %block, label %done
done:
  br i1 %v27, label %exit, label %take
exit:
  ret void
}

declare float @llvm.fma.f32(float, float, float)
declare i64 @llvm.umin.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }
attributes #1 = { nofree nosync nounwind willreturn memory(none) }
attributes #2 = { alwaysinline nounwind }

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = !{!"llvm.loop.unroll.disable"}
!3 = distinct !{!3, !1, !2}
!4 = distinct !{}
!5 = !{!"llvm.loop.parallel_accesses", !4}
!6 = !{!"llvm.loop.unroll.disable"}
!7 = distinct !{!7, !5, !6}
!8 = distinct !{}
!9 = !{!"llvm.loop.parallel_accesses", !8}
!10 = !{!"llvm.loop.unroll.disable"}
!11 = distinct !{!11, !9, !10}
!12 = distinct !{}
!13 = !{!"llvm.loop.parallel_accesses", !12}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = distinct !{!15, !13, !14}
!16 = distinct !{}
!17 = !{!"llvm.loop.parallel_accesses", !16}
!18 = !{!"llvm.loop.unroll.disable"}
!19 = distinct !{!19, !17, !18}
!20 = distinct !{}
!21 = !{!"llvm.loop.parallel_accesses", !20}
!22 = !{!"llvm.loop.unroll.disable"}
!23 = distinct !{!23, !21, !22}
!24 = distinct !{}
!25 = !{!"llvm.loop.parallel_accesses", !24}
!26 = !{!"llvm.loop.unroll.disable"}
!27 = distinct !{!27, !25, !26}
