target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s61 = alloca i32
  %s68 = alloca float
  %s82 = alloca i32
  %s105 = alloca i32
  %s106 = alloca i32
  %s122 = alloca i32
  %s141 = alloca i32
  %s165 = alloca i32
  %s208 = alloca i32
  %s227 = alloca i32
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
  %v24 = getelementptr inbounds i8, ptr %control, i64 64
  %v25 = icmp eq i64 %v23, 0
  br i1 %v25, label %range, label %take
take:
  %v26 = load atomic i32, ptr %v21 monotonic, align 4
  %v27 = icmp eq i32 %v26, 0
  br i1 %v27, label %more, label %exit
more:
  %v28 = atomicrmw add ptr %v24, i64 %v23 monotonic, align 8
  %v29 = add i64 %v28, %v23
  %v30 = call i64 @llvm.umin.i64(i64 %v29, i64 %v17)
  %v31 = icmp ult i64 %v28, %v17
  br i1 %v31, label %range, label %exit
range:
  %v32 = phi i64 [ 0, %entry ], [ %v28, %more ]
  %v33 = phi i64 [ %v17, %entry ], [ %v30, %more ]
  %v34 = udiv i64 %v32, %gx
  %v35 = urem i64 %v32, %gx
  %v36 = urem i64 %v34, %gy
  %v37 = udiv i64 %v34, %gy
  store i64 %v32, ptr %s2
  store i64 %v35, ptr %s3
  store i64 %v36, ptr %s4
  store i64 %v37, ptr %s5
  br label %block
block:
  %v38 = load i64, ptr %s3
  %v39 = trunc i64 %v38 to i32
  %v40 = load i64, ptr %s4
  %v41 = trunc i64 %v40 to i32
  %v42 = load i64, ptr %s5
  %v43 = trunc i64 %v42 to i32
  %v44 = sext i32 %v39 to i64
  %v45 = mul nuw nsw i64 %v44, 32
  %v46 = add nuw nsw i64 %v45, 32
  %v47 = sub nuw nsw i64 %v46, 1
  %v48 = trunc i64 %v9 to i32
  %v49 = zext i32 %v48 to i64
  %v50 = icmp slt i64 %v47, %v49
  %v51 = and i1 true, %v50
  br i1 %v51, label %inside52, label %edge53
inside52:
  %v55 = mul nuw nsw i32 %v43, 1
  %v56 = add nuw nsw i32 %v55, 0
  %v57 = mul nuw nsw i32 %v41, 1
  %v58 = add nuw nsw i32 %v57, 0
  store i32 0, ptr %s61
  br label %threads.x59
threads.x59:
  %v62 = load i32, ptr %s61
  %v63 = zext nneg i32 %v62 to i64
  %v64 = mul nuw nsw i32 %v39, 32
  %v65 = add nuw nsw i32 %v64, %v62
  %v66 = getelementptr inbounds float, ptr %v15, i64 %v63
  %v67 = load float, ptr %v66, align 4, !llvm.access.group !0
  store float %v67, ptr %s68
  store float 0x0000000000000000, ptr %s68
  %v70 = sext i32 %v65 to i64
  %v71 = getelementptr inbounds float, ptr %v7, i64 %v70
  %v72 = load float, ptr %v71, align 4, !llvm.access.group !0
  store float %v72, ptr %s68
  br label %end69
end69:
  %v73 = load float, ptr %s68
  store float %v73, ptr %v66, align 4, !llvm.access.group !0
  %v74 = add nuw nsw i32 %v62, 1
  store i32 %v74, ptr %s61
  %v75 = icmp ult i32 %v74, 32
  br i1 %v75, label %threads.x59, label %after60, !llvm.loop !3
after60:
  br label %both54
edge53:
  %v76 = mul nuw nsw i32 %v43, 1
  %v77 = add nuw nsw i32 %v76, 0
  %v78 = mul nuw nsw i32 %v41, 1
  %v79 = add nuw nsw i32 %v78, 0
  store i32 0, ptr %s82
  br label %threads.x80
threads.x80:
  %v83 = load i32, ptr %s82
  %v84 = zext nneg i32 %v83 to i64
  %v85 = mul nuw nsw i32 %v39, 32
  %v86 = add nuw nsw i32 %v85, %v83
  %v87 = getelementptr inbounds float, ptr %v15, i64 %v84
  %v88 = load float, ptr %v87, align 4, !llvm.access.group !4
  store float %v88, ptr %s68
  store float 0x0000000000000000, ptr %s68
  %v90 = trunc i64 %v9 to i32
  %v91 = icmp ult i32 %v86, %v90
  br i1 %v91, label %in92, label %out93
in92:
  %v94 = sext i32 %v86 to i64
  %v95 = getelementptr inbounds float, ptr %v7, i64 %v94
  %v96 = load float, ptr %v95, align 4, !llvm.access.group !4
  br label %out93
out93:
  %v97 = phi float [ %v96, %in92 ], [ 0x0000000000000000, %threads.x80 ]
  store float %v97, ptr %s68
  br label %end89
end89:
  %v98 = load float, ptr %s68
  store float %v98, ptr %v87, align 4, !llvm.access.group !4
  %v99 = add nuw nsw i32 %v83, 1
  store i32 %v99, ptr %s82
  %v100 = icmp ult i32 %v99, 32
  br i1 %v100, label %threads.x80, label %after81, !llvm.loop !7
after81:
  br label %both54
both54:
  store i32 0, ptr %s105
  store i32 0, ptr %s106
  br label %for101
for101:
  %v107 = load i32, ptr %s105
  %v108 = icmp ult i32 %v107, %v13
  br i1 %v108, label %body102, label %endfor104
body102:
  %v109 = load i32, ptr %s106
  %v110 = zext i32 32 to i64
  %v111 = icmp slt i64 31, %v110
  %v112 = and i1 true, %v111
  br i1 %v112, label %inside113, label %edge114
inside113:
  %v116 = mul nuw nsw i32 %v43, 1
  %v117 = add nuw nsw i32 %v116, 0
  %v118 = mul nuw nsw i32 %v41, 1
  %v119 = add nuw nsw i32 %v118, 0
  store i32 0, ptr %s122
  br label %threads.x120
threads.x120:
  %v123 = load i32, ptr %s122
  %v124 = zext nneg i32 %v123 to i64
  %v125 = mul nuw nsw i32 %v39, 32
  %v126 = add nuw nsw i32 %v125, %v123
  %v127 = getelementptr inbounds float, ptr %v15, i64 %v124
  %v128 = load float, ptr %v127, align 4, !llvm.access.group !8
  store float %v128, ptr %s68
  %v130 = load float, ptr %s68
  %v131 = sext i32 %v123 to i64
  %v132 = getelementptr inbounds float, ptr %v14, i64 %v131
  store float %v130, ptr %v132, align 4, !llvm.access.group !8
  br label %end129
end129:
  %v133 = add nuw nsw i32 %v123, 1
  store i32 %v133, ptr %s122
  %v134 = icmp ult i32 %v133, 32
  br i1 %v134, label %threads.x120, label %after121, !llvm.loop !11
after121:
  br label %both115
edge114:
  %v135 = mul nuw nsw i32 %v43, 1
  %v136 = add nuw nsw i32 %v135, 0
  %v137 = mul nuw nsw i32 %v41, 1
  %v138 = add nuw nsw i32 %v137, 0
  store i32 0, ptr %s141
  br label %threads.x139
threads.x139:
  %v142 = load i32, ptr %s141
  %v143 = zext nneg i32 %v142 to i64
  %v144 = mul nuw nsw i32 %v39, 32
  %v145 = add nuw nsw i32 %v144, %v142
  %v146 = getelementptr inbounds float, ptr %v15, i64 %v143
  %v147 = load float, ptr %v146, align 4, !llvm.access.group !12
  store float %v147, ptr %s68
  %v149 = load float, ptr %s68
  %v150 = sext i32 %v142 to i64
  %v151 = getelementptr inbounds float, ptr %v14, i64 %v150
  store float %v149, ptr %v151, align 4, !llvm.access.group !12
  br label %end148
end148:
  %v152 = add nuw nsw i32 %v142, 1
  store i32 %v152, ptr %s141
  %v153 = icmp ult i32 %v152, 32
  br i1 %v153, label %threads.x139, label %after140, !llvm.loop !15
after140:
  br label %both115
both115:
  %v154 = sext i32 1 to i64
  %v155 = add i64 0, %v154
  %v156 = add i64 31, %v154
  %v157 = sext i32 31 to i64
  %v158 = zext i32 32 to i64
  %v159 = mul nuw nsw i32 %v43, 1
  %v160 = add nuw nsw i32 %v159, 0
  %v161 = mul nuw nsw i32 %v41, 1
  %v162 = add nuw nsw i32 %v161, 0
  store i32 0, ptr %s165
  br label %threads.x163
threads.x163:
  %v166 = load i32, ptr %s165
  %v167 = zext nneg i32 %v166 to i64
  %v168 = mul nuw nsw i32 %v39, 32
  %v169 = add nuw nsw i32 %v168, %v166
  %v170 = getelementptr inbounds float, ptr %v15, i64 %v167
  %v171 = load float, ptr %v170, align 4, !llvm.access.group !16
  store float %v171, ptr %s68
  %v173 = add nsw i32 %v166, 1
  %v174 = and i32 %v173, 31
  %v175 = add nsw i32 %v166, 1
  %v176 = and i32 %v175, 31
  %v177 = sext i32 %v176 to i64
  %v178 = getelementptr inbounds float, ptr %v14, i64 %v177
  %v179 = load float, ptr %v178, align 4, !llvm.access.group !16
  %v180 = load float, ptr %s68
  %v181 = call float @ruda_expf(float %v180)
  %v182 = fadd float %v179, %v181
  store float %v182, ptr %s68
  br label %end172
end172:
  %v183 = load float, ptr %s68
  store float %v183, ptr %v170, align 4, !llvm.access.group !16
  %v184 = add nuw nsw i32 %v166, 1
  store i32 %v184, ptr %s165
  %v185 = icmp ult i32 %v184, 32
  br i1 %v185, label %threads.x163, label %after164, !llvm.loop !19
after164:
  br label %next103
next103:
  %v187 = load atomic i32, ptr %v21 monotonic, align 4
  %v188 = icmp eq i32 %v187, 0
  br i1 %v188, label %go186, label %exit
go186:
  %v189 = add nuw i32 %v107, 1
  store i32 %v189, ptr %s105
  %v190 = add i32 %v109, 1
  store i32 %v190, ptr %s106
  br label %for101
endfor104:
  %v191 = sext i32 %v39 to i64
  %v192 = mul nuw nsw i64 %v191, 32
  %v193 = add nuw nsw i64 %v192, 32
  %v194 = sub nuw nsw i64 %v193, 1
  %v195 = trunc i64 %v9 to i32
  %v196 = zext i32 %v195 to i64
  %v197 = icmp slt i64 %v194, %v196
  %v198 = and i1 true, %v197
  br i1 %v198, label %inside199, label %edge200
inside199:
  %v202 = mul nuw nsw i32 %v43, 1
  %v203 = add nuw nsw i32 %v202, 0
  %v204 = mul nuw nsw i32 %v41, 1
  %v205 = add nuw nsw i32 %v204, 0
  store i32 0, ptr %s208
  br label %threads.x206
threads.x206:
  %v209 = load i32, ptr %s208
  %v210 = zext nneg i32 %v209 to i64
  %v211 = mul nuw nsw i32 %v39, 32
  %v212 = add nuw nsw i32 %v211, %v209
  %v213 = getelementptr inbounds float, ptr %v15, i64 %v210
  %v214 = load float, ptr %v213, align 4, !llvm.access.group !20
  store float %v214, ptr %s68
  %v216 = load float, ptr %s68
  %v217 = sext i32 %v212 to i64
  %v218 = getelementptr inbounds float, ptr %v7, i64 %v217
  store float %v216, ptr %v218, align 4, !llvm.access.group !20
  br label %end215
end215:
  %v219 = add nuw nsw i32 %v209, 1
  store i32 %v219, ptr %s208
  %v220 = icmp ult i32 %v219, 32
  br i1 %v220, label %threads.x206, label %after207, !llvm.loop !23
after207:
  br label %both201
edge200:
  %v221 = mul nuw nsw i32 %v43, 1
  %v222 = add nuw nsw i32 %v221, 0
  %v223 = mul nuw nsw i32 %v41, 1
  %v224 = add nuw nsw i32 %v223, 0
  store i32 0, ptr %s227
  br label %threads.x225
threads.x225:
  %v228 = load i32, ptr %s227
  %v229 = zext nneg i32 %v228 to i64
  %v230 = mul nuw nsw i32 %v39, 32
  %v231 = add nuw nsw i32 %v230, %v228
  %v232 = getelementptr inbounds float, ptr %v15, i64 %v229
  %v233 = load float, ptr %v232, align 4, !llvm.access.group !24
  store float %v233, ptr %s68
  %v235 = trunc i64 %v9 to i32
  %v236 = icmp ult i32 %v231, %v235
  br i1 %v236, label %in237, label %out238
in237:
  %v239 = load float, ptr %s68
  %v240 = sext i32 %v231 to i64
  %v241 = getelementptr inbounds float, ptr %v7, i64 %v240
  store float %v239, ptr %v241, align 4, !llvm.access.group !24
  br label %out238
out238:
  br label %end234
end234:
  %v242 = add nuw nsw i32 %v228, 1
  store i32 %v242, ptr %s227
  %v243 = icmp ult i32 %v242, 32
  br i1 %v243, label %threads.x225, label %after226, !llvm.loop !27
after226:
  br label %both201
both201:
  %v244 = load i64, ptr %s3
  %v245 = add nuw nsw i64 %v244, 1
  %v246 = load i64, ptr %s4
  %v247 = add nuw nsw i64 %v246, 1
  %v248 = load i64, ptr %s5
  %v249 = add nuw nsw i64 %v248, 1
  %v250 = icmp eq i64 %v245, %gx
  %v251 = select i1 %v250, i64 0, i64 %v245
  store i64 %v251, ptr %s3
  br i1 %v250, label %row, label %following
row:
  %v252 = icmp eq i64 %v247, %gy
  %v253 = select i1 %v252, i64 0, i64 %v247
  store i64 %v253, ptr %s4
  br i1 %v252, label %plane, label %following
plane:
  store i64 %v249, ptr %s5
  br label %following
following:
  %v254 = load i64, ptr %s2
  %v255 = add nuw nsw i64 %v254, 1
  store i64 %v255, ptr %s2
  %v256 = icmp ult i64 %v255, %v33
  br i1 %v256, label %block, label %done
done:
  br i1 %v25, label %exit, label %take
exit:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)
declare float @ruda_expf(float) #1

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
