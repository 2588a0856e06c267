target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s93 = alloca i32
  %s115 = alloca i64
  %s130 = alloca i32
  %v5 = getelementptr inbounds i8, ptr %packed, i64 0
  %v6 = load float, ptr %v5, align 1
  %v7 = getelementptr inbounds i8, ptr %packed, i64 8
  %v8 = load ptr, ptr %v7, align 1
  %v9 = getelementptr inbounds i8, ptr %packed, i64 16
  %v10 = load i64, ptr %v9, align 1
  %v11 = getelementptr inbounds i8, ptr %packed, i64 24
  %v12 = load i64, ptr %v11, align 1
  %v13 = getelementptr inbounds i8, ptr %packed, i64 32
  %v14 = load ptr, ptr %v13, align 1
  %v15 = getelementptr inbounds i8, ptr %packed, i64 40
  %v16 = load i64, ptr %v15, align 1
  %v17 = getelementptr inbounds i8, ptr %packed, i64 48
  %v18 = load i64, ptr %v17, align 1
  %v19 = getelementptr inbounds i8, ptr %packed, i64 56
  %v20 = load i32, ptr %v19, align 1
  %v21 = mul i64 %gx, %gy
  %v22 = mul i64 %v21, %gz
  %v23 = trunc i64 %gx to i32
  %v24 = trunc i64 %gy to i32
  %v25 = trunc i64 %gz to i32
  %v26 = getelementptr inbounds i8, ptr %control, i64 8
  %v27 = getelementptr inbounds i8, ptr %control, i64 0
  %v28 = load i64, ptr %v27, align 8
  %v29 = getelementptr inbounds i8, ptr %control, i64 16
  %v30 = load i64, ptr %v29, align 8
  %v31 = getelementptr inbounds i8, ptr %control, i64 64
  %v32 = icmp eq i64 %v28, 0
  br i1 %v32, label %range, label %take
take:
  %v33 = load atomic i32, ptr %v26 monotonic, align 4
  %v34 = icmp eq i32 %v33, 0
  br i1 %v34, label %more, label %exit
more:
  %v35 = atomicrmw add ptr %v31, i64 %v28 monotonic, align 8
  %v36 = add i64 %v35, %v28
  %v37 = call i64 @llvm.umin.i64(i64 %v36, i64 %v30)
  %v38 = icmp ult i64 %v35, %v30
  br i1 %v38, label %range, label %exit
range:
  %v39 = phi i64 [ 0, %entry ], [ %v35, %more ]
  %v40 = phi i64 [ %v22, %entry ], [ %v37, %more ]
  %v41 = udiv i64 %v39, %gx
  %v42 = urem i64 %v39, %gx
  %v43 = urem i64 %v41, %gy
  %v44 = udiv i64 %v41, %gy
  store i64 %v39, ptr %s1
  store i64 %v42, ptr %s2
  store i64 %v43, ptr %s3
  store i64 %v44, ptr %s4
  br label %block
block:
  %v45 = load i64, ptr %s2
  %v46 = trunc i64 %v45 to i32
  %v47 = load i64, ptr %s3
  %v48 = trunc i64 %v47 to i32
  %v49 = load i64, ptr %s4
  %v50 = trunc i64 %v49 to i32
  %v51 = load i64, ptr %s1
  %v52 = sub nuw nsw i64 %v40, %v51
  %v53 = load i64, ptr %s2
  %v54 = sub nuw nsw i64 %gx, %v53
  %v55 = call i64 @llvm.umin.i64(i64 %v52, i64 %v54)
  %v56 = call i64 @llvm.umin.i64(i64 %v55, i64 32768)
  %v57 = mul nuw nsw i64 %v56, 32
  %v58 = sext i32 %v46 to i64
  %v59 = mul nuw nsw i64 %v58, 32
  %v60 = add nuw nsw i64 %v59, %v57
  %v61 = sub nuw nsw i64 %v60, 1
  %v62 = sext i32 %v20 to i64
  %v63 = trunc i64 %v10 to i32
  %v64 = zext i32 %v63 to i64
  %v65 = trunc i64 %v16 to i32
  %v66 = zext i32 %v65 to i64
  %v67 = sub i64 %v61, %v62
  %v68 = add i64 %v67, 1
  %v69 = call i64 @llvm.smax.i64(i64 0, i64 %v68)
  %v70 = sub i64 %v61, %v64
  %v71 = add i64 %v70, 1
  %v72 = call i64 @llvm.smax.i64(i64 %v69, i64 %v71)
  %v73 = sub i64 %v61, %v66
  %v74 = add i64 %v73, 1
  %v75 = call i64 @llvm.smax.i64(i64 %v72, i64 %v74)
  %v76 = sub i64 %v57, %v75
  %v77 = sub i64 %v76, 0
  %v78 = and i64 %v77, -32
  %v79 = add i64 0, %v78
  %v80 = icmp slt i64 0, %v79
  %v81 = and i1 %v80, true
  br i1 %v81, label %inside82, label %rim83
inside82:
  %v86 = trunc i64 %v79 to i32
  %v87 = mul nuw nsw i32 %v50, 1
  %v88 = add nuw nsw i32 %v87, 0
  %v89 = mul nuw nsw i32 %v48, 1
  %v90 = add nuw nsw i32 %v89, 0
  store i32 0, ptr %s93
  br label %threads.x91
threads.x91:
  %v94 = load i32, ptr %s93
  %v95 = zext nneg i32 %v94 to i64
  %v96 = mul nuw nsw i32 %v46, 32
  %v97 = add nuw nsw i32 %v96, %v94
  %v99 = sext i32 %v97 to i64
  %v100 = getelementptr inbounds float, ptr %v8, i64 %v99
  %v101 = load float, ptr %v100, align 4, !llvm.access.group !0, !noalias !7
  %v102 = sext i32 %v97 to i64
  %v103 = getelementptr inbounds float, ptr %v14, i64 %v102
  %v104 = load float, ptr %v103, align 4, !llvm.access.group !0, !noalias !7
  %v105 = fmul float %v6, %v101
  %v106 = fadd float %v105, %v104
  %v107 = sext i32 %v97 to i64
  %v108 = getelementptr inbounds float, ptr %v14, i64 %v107
  store float %v106, ptr %v108, align 4, !llvm.access.group !0, !noalias !7
  br label %end98
end98:
  %v109 = add nuw nsw i32 %v94, 1
  store i32 %v109, ptr %s93
  %v110 = icmp ult i32 %v109, %v86
  br i1 %v110, label %threads.x91, label %after92, !llvm.loop !4
after92:
  br label %rim83
rim83:
  %v111 = phi i64 [ 0, %after92 ], [ %v57, %block ]
  %v112 = phi i64 [ %v79, %after92 ], [ %v57, %block ]
  store i64 0, ptr %s115
  br label %side113
side113:
  %v116 = load i64, ptr %s115
  %v117 = icmp eq i64 %v116, 0
  %v118 = select i1 %v117, i64 0, i64 %v112
  %v119 = select i1 %v117, i64 %v111, i64 %v57
  %v120 = icmp slt i64 %v118, %v119
  br i1 %v120, label %edge84, label %after85
edge84:
  %v121 = sub nuw nsw i64 %v119, %v118
  %v122 = trunc i64 %v121 to i32
  %v123 = trunc i64 %v118 to i32
  %v124 = mul nuw nsw i32 %v50, 1
  %v125 = add nuw nsw i32 %v124, 0
  %v126 = mul nuw nsw i32 %v48, 1
  %v127 = add nuw nsw i32 %v126, 0
  store i32 0, ptr %s130
  br label %threads.x128
threads.x128:
  %v131 = load i32, ptr %s130
  %v132 = add nuw nsw i32 %v131, %v123
  %v133 = zext nneg i32 %v132 to i64
  %v134 = mul nuw nsw i32 %v46, 32
  %v135 = add nuw nsw i32 %v134, %v132
  %v140 = icmp slt i32 %v135, %v20
  br i1 %v140, label %then137, label %endif139
then137:
  %v141 = trunc i64 %v10 to i32
  %v142 = icmp ult i32 %v135, %v141
  br i1 %v142, label %in143, label %out144
in143:
  %v145 = sext i32 %v135 to i64
  %v146 = getelementptr inbounds float, ptr %v8, i64 %v145
  %v147 = load float, ptr %v146, align 4, !llvm.access.group !10, !noalias !7
  br label %out144
out144:
  %v148 = phi float [ %v147, %in143 ], [ 0x0000000000000000, %then137 ]
  %v149 = trunc i64 %v16 to i32
  %v150 = icmp ult i32 %v135, %v149
  br i1 %v150, label %in151, label %out152
in151:
  %v153 = sext i32 %v135 to i64
  %v154 = getelementptr inbounds float, ptr %v14, i64 %v153
  %v155 = load float, ptr %v154, align 4, !llvm.access.group !10, !noalias !7
  br label %out152
out152:
  %v156 = phi float [ %v155, %in151 ], [ 0x0000000000000000, %out144 ]
  %v157 = trunc i64 %v16 to i32
  %v158 = icmp ult i32 %v135, %v157
  br i1 %v158, label %in159, label %out160
in159:
  %v161 = fmul float %v6, %v148
  %v162 = fadd float %v161, %v156
  %v163 = sext i32 %v135 to i64
  %v164 = getelementptr inbounds float, ptr %v14, i64 %v163
  store float %v162, ptr %v164, align 4, !llvm.access.group !10, !noalias !7
  br label %out160
out160:
  br label %endif139
endif139:
  br label %end136
end136:
  %v165 = add nuw nsw i32 %v131, 1
  store i32 %v165, ptr %s130
  %v166 = icmp ult i32 %v165, %v122
  br i1 %v166, label %threads.x128, label %after129, !llvm.loop !14
after129:
  br label %after85
after85:
  %v167 = add nuw nsw i64 %v116, 1
  store i64 %v167, ptr %s115
  %v168 = icmp ult i64 %v167, 2
  br i1 %v168, label %side113, label %after114, !llvm.loop !9
after114:
  %v169 = load i64, ptr %s2
  %v170 = add nuw nsw i64 %v169, %v56
  %v171 = load i64, ptr %s3
  %v172 = add nuw nsw i64 %v171, 1
  %v173 = load i64, ptr %s4
  %v174 = add nuw nsw i64 %v173, 1
  %v175 = icmp eq i64 %v170, %gx
  %v176 = select i1 %v175, i64 0, i64 %v170
  store i64 %v176, ptr %s2
  br i1 %v175, label %row, label %following
row:
  %v177 = icmp eq i64 %v172, %gy
  %v178 = select i1 %v177, i64 0, i64 %v172
  store i64 %v178, ptr %s3
  br i1 %v177, label %plane, label %following
plane:
  store i64 %v174, ptr %s4
  br label %following
following:
  %v179 = load i64, ptr %s1
  %v180 = add nuw nsw i64 %v179, %v56
  store i64 %v180, ptr %s1
  %v181 = icmp ult i64 %v180, %v40
  br i1 %v181, label %block, label %done
done:
  br i1 %v32, label %exit, label %take
exit:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

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
!8 = !{!"llvm.loop.unroll.disable"}
!9 = distinct !{!9, !8}
!10 = distinct !{}
!11 = !{!"llvm.loop.parallel_accesses", !10}
!12 = !{!"llvm.loop.unroll.disable"}
!13 = !{!"llvm.loop.vectorize.enable", i1 false}
!14 = distinct !{!14, !11, !12, !13}
