target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s59 = alloca i32
  %s66 = alloca float
  %s80 = alloca i32
  %s103 = alloca i32
  %s104 = alloca i32
  %s120 = alloca i32
  %s139 = alloca i32
  %s166 = alloca i32
  %s212 = alloca i32
  %s231 = alloca i32
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
  %v23 = getelementptr inbounds i8, ptr %control, i64 64
  %v24 = icmp eq i64 %v22, 0
  br i1 %v24, label %range, label %take
take:
  %v25 = load atomic i32, ptr %v20 monotonic, align 4
  %v26 = icmp eq i32 %v25, 0
  br i1 %v26, label %more, label %exit
more:
  %v27 = atomicrmw add ptr %v23, i64 %v22 monotonic, align 8
  %v28 = add i64 %v27, %v22
  %v29 = call i64 @llvm.umin.i64(i64 %v28, i64 %v16)
  %v30 = icmp ult i64 %v27, %v16
  br i1 %v30, label %range, label %exit
range:
  %v31 = phi i64 [ 0, %entry ], [ %v27, %more ]
  %v32 = phi i64 [ %v16, %entry ], [ %v29, %more ]
  %v33 = udiv i64 %v31, %gx
  %v34 = urem i64 %v31, %gx
  %v35 = urem i64 %v33, %gy
  %v36 = udiv i64 %v33, %gy
  store i64 %v31, ptr %s1
  store i64 %v34, ptr %s2
  store i64 %v35, ptr %s3
  store i64 %v36, ptr %s4
  br label %block
block:
  %v37 = load i64, ptr %s2
  %v38 = trunc i64 %v37 to i32
  %v39 = load i64, ptr %s3
  %v40 = trunc i64 %v39 to i32
  %v41 = load i64, ptr %s4
  %v42 = trunc i64 %v41 to i32
  %v43 = sext i32 %v38 to i64
  %v44 = mul nuw nsw i64 %v43, 32
  %v45 = add nuw nsw i64 %v44, 31
  %v46 = trunc i64 %v8 to i32
  %v47 = zext i32 %v46 to i64
  %v48 = icmp slt i64 %v45, %v47
  %v49 = and i1 true, %v48
  br i1 %v49, label %inside50, label %edge51
inside50:
  %v53 = mul nuw nsw i32 %v42, 1
  %v54 = add nuw nsw i32 %v53, 0
  %v55 = mul nuw nsw i32 %v40, 1
  %v56 = add nuw nsw i32 %v55, 0
  store i32 0, ptr %s59
  br label %threads.x57
threads.x57:
  %v60 = load i32, ptr %s59
  %v61 = zext nneg i32 %v60 to i64
  %v62 = mul nuw nsw i32 %v38, 32
  %v63 = add nuw nsw i32 %v62, %v60
  %v64 = getelementptr inbounds float, ptr %v14, i64 %v61
  %v65 = load float, ptr %v64, align 4, !llvm.access.group !0
  store float %v65, ptr %s66
  store float 0x0000000000000000, ptr %s66
  %v68 = sext i32 %v63 to i64
  %v69 = getelementptr inbounds float, ptr %v6, i64 %v68
  %v70 = load float, ptr %v69, align 4, !llvm.access.group !0
  store float %v70, ptr %s66
  br label %end67
end67:
  %v71 = load float, ptr %s66
  store float %v71, ptr %v64, align 4, !llvm.access.group !0
  %v72 = add nuw nsw i32 %v60, 1
  store i32 %v72, ptr %s59
  %v73 = icmp ult i32 %v72, 32
  br i1 %v73, label %threads.x57, label %after58, !llvm.loop !3
after58:
  br label %both52
edge51:
  %v74 = mul nuw nsw i32 %v42, 1
  %v75 = add nuw nsw i32 %v74, 0
  %v76 = mul nuw nsw i32 %v40, 1
  %v77 = add nuw nsw i32 %v76, 0
  store i32 0, ptr %s80
  br label %threads.x78
threads.x78:
  %v81 = load i32, ptr %s80
  %v82 = zext nneg i32 %v81 to i64
  %v83 = mul nuw nsw i32 %v38, 32
  %v84 = add nuw nsw i32 %v83, %v81
  %v85 = getelementptr inbounds float, ptr %v14, i64 %v82
  %v86 = load float, ptr %v85, align 4, !llvm.access.group !4
  store float %v86, ptr %s66
  store float 0x0000000000000000, ptr %s66
  %v88 = trunc i64 %v8 to i32
  %v89 = icmp ult i32 %v84, %v88
  br i1 %v89, label %in90, label %out91
in90:
  %v92 = sext i32 %v84 to i64
  %v93 = getelementptr inbounds float, ptr %v6, i64 %v92
  %v94 = load float, ptr %v93, align 4, !llvm.access.group !4
  br label %out91
out91:
  %v95 = phi float [ %v94, %in90 ], [ 0x0000000000000000, %threads.x78 ]
  store float %v95, ptr %s66
  br label %end87
end87:
  %v96 = load float, ptr %s66
  store float %v96, ptr %v85, align 4, !llvm.access.group !4
  %v97 = add nuw nsw i32 %v81, 1
  store i32 %v97, ptr %s80
  %v98 = icmp ult i32 %v97, 32
  br i1 %v98, label %threads.x78, label %after79, !llvm.loop !7
after79:
  br label %both52
both52:
  store i32 0, ptr %s103
  store i32 0, ptr %s104
  br label %for99
for99:
  %v105 = load i32, ptr %s103
  %v106 = icmp ult i32 %v105, %v12
  br i1 %v106, label %body100, label %endfor102
body100:
  %v107 = load i32, ptr %s104
  %v108 = zext i32 32 to i64
  %v109 = icmp slt i64 31, %v108
  %v110 = and i1 true, %v109
  br i1 %v110, label %inside111, label %edge112
inside111:
  %v114 = mul nuw nsw i32 %v42, 1
  %v115 = add nuw nsw i32 %v114, 0
  %v116 = mul nuw nsw i32 %v40, 1
  %v117 = add nuw nsw i32 %v116, 0
  store i32 0, ptr %s120
  br label %threads.x118
threads.x118:
  %v121 = load i32, ptr %s120
  %v122 = zext nneg i32 %v121 to i64
  %v123 = mul nuw nsw i32 %v38, 32
  %v124 = add nuw nsw i32 %v123, %v121
  %v125 = getelementptr inbounds float, ptr %v14, i64 %v122
  %v126 = load float, ptr %v125, align 4, !llvm.access.group !8
  store float %v126, ptr %s66
  %v128 = load float, ptr %s66
  %v129 = sext i32 %v121 to i64
  %v130 = getelementptr inbounds float, ptr %v13, i64 %v129
  store float %v128, ptr %v130, align 4, !llvm.access.group !8
  br label %end127
end127:
  %v131 = add nuw nsw i32 %v121, 1
  store i32 %v131, ptr %s120
  %v132 = icmp ult i32 %v131, 32
  br i1 %v132, label %threads.x118, label %after119, !llvm.loop !11
after119:
  br label %both113
edge112:
  %v133 = mul nuw nsw i32 %v42, 1
  %v134 = add nuw nsw i32 %v133, 0
  %v135 = mul nuw nsw i32 %v40, 1
  %v136 = add nuw nsw i32 %v135, 0
  store i32 0, ptr %s139
  br label %threads.x137
threads.x137:
  %v140 = load i32, ptr %s139
  %v141 = zext nneg i32 %v140 to i64
  %v142 = mul nuw nsw i32 %v38, 32
  %v143 = add nuw nsw i32 %v142, %v140
  %v144 = getelementptr inbounds float, ptr %v14, i64 %v141
  %v145 = load float, ptr %v144, align 4, !llvm.access.group !12
  store float %v145, ptr %s66
  %v147 = icmp ult i32 %v140, 32
  br i1 %v147, label %in148, label %out149
in148:
  %v150 = load float, ptr %s66
  %v151 = sext i32 %v140 to i64
  %v152 = getelementptr inbounds float, ptr %v13, i64 %v151
  store float %v150, ptr %v152, align 4, !llvm.access.group !12
  br label %out149
out149:
  br label %end146
end146:
  %v153 = add nuw nsw i32 %v140, 1
  store i32 %v153, ptr %s139
  %v154 = icmp ult i32 %v153, 32
  br i1 %v154, label %threads.x137, label %after138, !llvm.loop !15
after138:
  br label %both113
both113:
  %v155 = sext i32 1 to i64
  %v156 = add i64 0, %v155
  %v157 = add i64 31, %v155
  %v158 = sext i32 31 to i64
  %v159 = zext i32 32 to i64
  %v160 = mul nuw nsw i32 %v42, 1
  %v161 = add nuw nsw i32 %v160, 0
  %v162 = mul nuw nsw i32 %v40, 1
  %v163 = add nuw nsw i32 %v162, 0
  store i32 0, ptr %s166
  br label %threads.x164
threads.x164:
  %v167 = load i32, ptr %s166
  %v168 = zext nneg i32 %v167 to i64
  %v169 = mul nuw nsw i32 %v38, 32
  %v170 = add nuw nsw i32 %v169, %v167
  %v171 = getelementptr inbounds float, ptr %v14, i64 %v168
  %v172 = load float, ptr %v171, align 4, !llvm.access.group !16
  store float %v172, ptr %s66
  %v174 = add nsw i32 %v167, 1
  %v175 = and i32 %v174, 31
  %v176 = icmp ult i32 %v175, 32
  br i1 %v176, label %in177, label %out178
in177:
  %v179 = add nsw i32 %v167, 1
  %v180 = and i32 %v179, 31
  %v181 = sext i32 %v180 to i64
  %v182 = getelementptr inbounds float, ptr %v13, i64 %v181
  %v183 = load float, ptr %v182, align 4, !llvm.access.group !16
  br label %out178
out178:
  %v184 = phi float [ %v183, %in177 ], [ 0x0000000000000000, %threads.x164 ]
  %v185 = load float, ptr %s66
  %v186 = call float @ruda_expf(float %v185)
  %v187 = fadd float %v184, %v186
  store float %v187, ptr %s66
  br label %end173
end173:
  %v188 = load float, ptr %s66
  store float %v188, ptr %v171, align 4, !llvm.access.group !16
  %v189 = add nuw nsw i32 %v167, 1
  store i32 %v189, ptr %s166
  %v190 = icmp ult i32 %v189, 32
  br i1 %v190, label %threads.x164, label %after165, !llvm.loop !19
after165:
  br label %next101
next101:
  %v192 = load atomic i32, ptr %v20 monotonic, align 4
  %v193 = icmp eq i32 %v192, 0
  br i1 %v193, label %go191, label %exit
go191:
  %v194 = add nuw i32 %v105, 1
  store i32 %v194, ptr %s103
  %v195 = add i32 %v107, 1
  store i32 %v195, ptr %s104
  br label %for99
endfor102:
  %v196 = sext i32 %v38 to i64
  %v197 = mul nuw nsw i64 %v196, 32
  %v198 = add nuw nsw i64 %v197, 31
  %v199 = trunc i64 %v8 to i32
  %v200 = zext i32 %v199 to i64
  %v201 = icmp slt i64 %v198, %v200
  %v202 = and i1 true, %v201
  br i1 %v202, label %inside203, label %edge204
inside203:
  %v206 = mul nuw nsw i32 %v42, 1
  %v207 = add nuw nsw i32 %v206, 0
  %v208 = mul nuw nsw i32 %v40, 1
  %v209 = add nuw nsw i32 %v208, 0
  store i32 0, ptr %s212
  br label %threads.x210
threads.x210:
  %v213 = load i32, ptr %s212
  %v214 = zext nneg i32 %v213 to i64
  %v215 = mul nuw nsw i32 %v38, 32
  %v216 = add nuw nsw i32 %v215, %v213
  %v217 = getelementptr inbounds float, ptr %v14, i64 %v214
  %v218 = load float, ptr %v217, align 4, !llvm.access.group !20
  store float %v218, ptr %s66
  %v220 = load float, ptr %s66
  %v221 = sext i32 %v216 to i64
  %v222 = getelementptr inbounds float, ptr %v6, i64 %v221
  store float %v220, ptr %v222, align 4, !llvm.access.group !20
  br label %end219
end219:
  %v223 = add nuw nsw i32 %v213, 1
  store i32 %v223, ptr %s212
  %v224 = icmp ult i32 %v223, 32
  br i1 %v224, label %threads.x210, label %after211, !llvm.loop !23
after211:
  br label %both205
edge204:
  %v225 = mul nuw nsw i32 %v42, 1
  %v226 = add nuw nsw i32 %v225, 0
  %v227 = mul nuw nsw i32 %v40, 1
  %v228 = add nuw nsw i32 %v227, 0
  store i32 0, ptr %s231
  br label %threads.x229
threads.x229:
  %v232 = load i32, ptr %s231
  %v233 = zext nneg i32 %v232 to i64
  %v234 = mul nuw nsw i32 %v38, 32
  %v235 = add nuw nsw i32 %v234, %v232
  %v236 = getelementptr inbounds float, ptr %v14, i64 %v233
  %v237 = load float, ptr %v236, align 4, !llvm.access.group !24
  store float %v237, ptr %s66
  %v239 = trunc i64 %v8 to i32
  %v240 = icmp ult i32 %v235, %v239
  br i1 %v240, label %in241, label %out242
in241:
  %v243 = load float, ptr %s66
  %v244 = sext i32 %v235 to i64
  %v245 = getelementptr inbounds float, ptr %v6, i64 %v244
  store float %v243, ptr %v245, align 4, !llvm.access.group !24
  br label %out242
out242:
  br label %end238
end238:
  %v246 = add nuw nsw i32 %v232, 1
  store i32 %v246, ptr %s231
  %v247 = icmp ult i32 %v246, 32
  br i1 %v247, label %threads.x229, label %after230, !llvm.loop !27
after230:
  br label %both205
both205:
  %v248 = load i64, ptr %s2
  %v249 = add nuw nsw i64 %v248, 1
  %v250 = load i64, ptr %s3
  %v251 = add nuw nsw i64 %v250, 1
  %v252 = load i64, ptr %s4
  %v253 = add nuw nsw i64 %v252, 1
  %v254 = icmp eq i64 %v249, %gx
  %v255 = select i1 %v254, i64 0, i64 %v249
  store i64 %v255, ptr %s2
  br i1 %v254, label %row, label %following
row:
  %v256 = icmp eq i64 %v251, %gy
  %v257 = select i1 %v256, i64 0, i64 %v251
  store i64 %v257, ptr %s3
  br i1 %v256, label %plane, label %following
plane:
  store i64 %v253, ptr %s4
  br label %following
following:
  %v258 = load i64, ptr %s1
  %v259 = add nuw nsw i64 %v258, 1
  store i64 %v259, ptr %s1
  %v260 = icmp ult i64 %v259, %v32
  br i1 %v260, label %block, label %done
done:
  br i1 %v24, label %exit, label %take
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
