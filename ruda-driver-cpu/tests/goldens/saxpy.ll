target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s86 = alloca i32
  %s117 = alloca i32
  %v6 = getelementptr inbounds i8, ptr %packed, i64 0
  %v7 = load float, ptr %v6, align 1
  %v8 = getelementptr inbounds i8, ptr %packed, i64 8
  %v9 = load ptr, ptr %v8, align 1
  %v10 = getelementptr inbounds i8, ptr %packed, i64 16
  %v11 = load i64, ptr %v10, align 1
  %v12 = getelementptr inbounds i8, ptr %packed, i64 24
  %v13 = load i64, ptr %v12, align 1
  %v14 = getelementptr inbounds i8, ptr %packed, i64 32
  %v15 = load ptr, ptr %v14, align 1
  %v16 = getelementptr inbounds i8, ptr %packed, i64 40
  %v17 = load i64, ptr %v16, align 1
  %v18 = getelementptr inbounds i8, ptr %packed, i64 48
  %v19 = load i64, ptr %v18, align 1
  %v20 = getelementptr inbounds i8, ptr %packed, i64 56
  %v21 = load i32, ptr %v20, align 1
  %v22 = mul i64 %gx, %gy
  %v23 = mul i64 %v22, %gz
  %v24 = trunc i64 %gx to i32
  %v25 = trunc i64 %gy to i32
  %v26 = trunc i64 %gz to i32
  %v27 = getelementptr inbounds i8, ptr %control, i64 8
  %v28 = getelementptr inbounds i8, ptr %control, i64 0
  %v29 = load i64, ptr %v28, align 8
  %v30 = getelementptr inbounds i8, ptr %control, i64 16
  %v31 = load i64, ptr %v30, align 8
  %v32 = getelementptr inbounds i8, ptr %control, i64 64
  %v33 = icmp eq i64 %v29, 0
  br i1 %v33, label %range, label %take
take:
  %v34 = load atomic i32, ptr %v27 monotonic, align 4
  %v35 = icmp eq i32 %v34, 0
  br i1 %v35, label %more, label %exit
more:
  %v36 = atomicrmw add ptr %v32, i64 %v29 monotonic, align 8
  %v37 = add i64 %v36, %v29
  %v38 = call i64 @llvm.umin.i64(i64 %v37, i64 %v31)
  %v39 = icmp ult i64 %v36, %v31
  br i1 %v39, label %range, label %exit
range:
  %v40 = phi i64 [ 0, %entry ], [ %v36, %more ]
  %v41 = phi i64 [ %v23, %entry ], [ %v38, %more ]
  %v42 = udiv i64 %v40, %gx
  %v43 = urem i64 %v40, %gx
  %v44 = urem i64 %v42, %gy
  %v45 = udiv i64 %v42, %gy
  store i64 %v40, ptr %s2
  store i64 %v43, ptr %s3
  store i64 %v44, ptr %s4
  store i64 %v45, ptr %s5
  store i64 32768, ptr %s1
  br label %block
block:
  %v46 = load i64, ptr %s3
  %v47 = trunc i64 %v46 to i32
  %v48 = load i64, ptr %s4
  %v49 = trunc i64 %v48 to i32
  %v50 = load i64, ptr %s5
  %v51 = trunc i64 %v50 to i32
  %v52 = load i64, ptr %s2
  %v53 = sub nuw nsw i64 %v41, %v52
  %v54 = load i64, ptr %s3
  %v55 = sub nuw nsw i64 %gx, %v54
  %v56 = call i64 @llvm.umin.i64(i64 %v53, i64 %v55)
  %v57 = call i64 @llvm.umin.i64(i64 %v56, i64 32768)
  %v58 = load i64, ptr %s1
  %v59 = call i64 @llvm.umin.i64(i64 %v57, i64 %v58)
  %v60 = mul nuw nsw i64 %v59, 32
  %v61 = sext i32 %v47 to i64
  %v62 = mul nuw nsw i64 %v61, 32
  %v63 = add nuw nsw i64 %v62, %v60
  %v64 = sub nuw nsw i64 %v63, 1
  %v65 = sext i32 %v21 to i64
  %v66 = trunc i64 %v11 to i32
  %v67 = zext i32 %v66 to i64
  %v68 = trunc i64 %v17 to i32
  %v69 = zext i32 %v68 to i64
  %v70 = icmp slt i64 %v64, %v65
  %v71 = and i1 true, %v70
  %v72 = icmp slt i64 %v64, %v67
  %v73 = and i1 %v71, %v72
  %v74 = icmp slt i64 %v64, %v69
  %v75 = and i1 %v73, %v74
  br i1 %v75, label %inside76, label %edge77
inside76:
  %v79 = trunc i64 %v60 to i32
  %v80 = mul nuw nsw i32 %v51, 1
  %v81 = add nuw nsw i32 %v80, 0
  %v82 = mul nuw nsw i32 %v49, 1
  %v83 = add nuw nsw i32 %v82, 0
  store i32 0, ptr %s86
  br label %threads.x84
threads.x84:
  %v87 = load i32, ptr %s86
  %v88 = zext nneg i32 %v87 to i64
  %v89 = mul nuw nsw i32 %v47, 32
  %v90 = add nuw nsw i32 %v89, %v87
  %v92 = sext i32 %v90 to i64
  %v93 = getelementptr inbounds float, ptr %v9, i64 %v92
  %v94 = load float, ptr %v93, align 4, !llvm.access.group !0
  %v95 = sext i32 %v90 to i64
  %v96 = getelementptr inbounds float, ptr %v15, i64 %v95
  %v97 = load float, ptr %v96, align 4, !llvm.access.group !0
  %v98 = fmul float %v7, %v94
  %v99 = fadd float %v98, %v97
  %v100 = sext i32 %v90 to i64
  %v101 = getelementptr inbounds float, ptr %v15, i64 %v100
  store float %v99, ptr %v101, align 4, !llvm.access.group !0
  br label %end91
end91:
  %v102 = add nuw nsw i32 %v87, 1
  store i32 %v102, ptr %s86
  %v103 = icmp ult i32 %v102, %v79
  br i1 %v103, label %threads.x84, label %after85, !llvm.loop !4
after85:
  br label %both78
edge77:
  %v106 = icmp eq i64 %v59, 1
  br i1 %v106, label %single104, label %several105
several105:
  %v107 = icmp eq i64 %v59, %v57
  %v108 = sub i64 %v59, 1
  %v109 = select i1 %v107, i64 %v108, i64 1
  store i64 %v109, ptr %s1
  br label %block
single104:
  %v110 = trunc i64 %v60 to i32
  %v111 = mul nuw nsw i32 %v51, 1
  %v112 = add nuw nsw i32 %v111, 0
  %v113 = mul nuw nsw i32 %v49, 1
  %v114 = add nuw nsw i32 %v113, 0
  store i32 0, ptr %s117
  br label %threads.x115
threads.x115:
  %v118 = load i32, ptr %s117
  %v119 = zext nneg i32 %v118 to i64
  %v120 = mul nuw nsw i32 %v47, 32
  %v121 = add nuw nsw i32 %v120, %v118
  %v126 = icmp slt i32 %v121, %v21
  br i1 %v126, label %then123, label %endif125
then123:
  %v127 = trunc i64 %v11 to i32
  %v128 = icmp ult i32 %v121, %v127
  br i1 %v128, label %in129, label %out130
in129:
  %v131 = sext i32 %v121 to i64
  %v132 = getelementptr inbounds float, ptr %v9, i64 %v131
  %v133 = load float, ptr %v132, align 4, !llvm.access.group !5
  br label %out130
out130:
  %v134 = phi float [ %v133, %in129 ], [ 0x0000000000000000, %then123 ]
  %v135 = trunc i64 %v17 to i32
  %v136 = icmp ult i32 %v121, %v135
  br i1 %v136, label %in137, label %out138
in137:
  %v139 = sext i32 %v121 to i64
  %v140 = getelementptr inbounds float, ptr %v15, i64 %v139
  %v141 = load float, ptr %v140, align 4, !llvm.access.group !5
  br label %out138
out138:
  %v142 = phi float [ %v141, %in137 ], [ 0x0000000000000000, %out130 ]
  %v143 = trunc i64 %v17 to i32
  %v144 = icmp ult i32 %v121, %v143
  br i1 %v144, label %in145, label %out146
in145:
  %v147 = fmul float %v7, %v134
  %v148 = fadd float %v147, %v142
  %v149 = sext i32 %v121 to i64
  %v150 = getelementptr inbounds float, ptr %v15, i64 %v149
  store float %v148, ptr %v150, align 4, !llvm.access.group !5
  br label %out146
out146:
  br label %endif125
endif125:
  br label %end122
end122:
  %v151 = add nuw nsw i32 %v118, 1
  store i32 %v151, ptr %s117
  %v152 = icmp ult i32 %v151, %v110
  br i1 %v152, label %threads.x115, label %after116, !llvm.loop !9
after116:
  br label %both78
both78:
  store i64 32768, ptr %s1
  %v153 = load i64, ptr %s3
  %v154 = add nuw nsw i64 %v153, %v59
  %v155 = load i64, ptr %s4
  %v156 = add nuw nsw i64 %v155, 1
  %v157 = load i64, ptr %s5
  %v158 = add nuw nsw i64 %v157, 1
  %v159 = icmp eq i64 %v154, %gx
  %v160 = select i1 %v159, i64 0, i64 %v154
  store i64 %v160, ptr %s3
  br i1 %v159, label %row, label %following
row:
  %v161 = icmp eq i64 %v156, %gy
  %v162 = select i1 %v161, i64 0, i64 %v156
  store i64 %v162, ptr %s4
  br i1 %v161, label %plane, label %following
plane:
  store i64 %v158, ptr %s5
  br label %following
following:
  %v163 = load i64, ptr %s2
  %v164 = add nuw nsw i64 %v163, %v59
  store i64 %v164, ptr %s2
  %v165 = icmp ult i64 %v164, %v41
  br i1 %v165, label %block, label %done
done:
  br i1 %v33, label %exit, label %take
exit:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }
attributes #1 = { nofree nosync nounwind willreturn memory(none) }
attributes #2 = { alwaysinline nounwind }

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = !{!"llvm.loop.unroll.disable"}
!3 = !{!"llvm.loop.interleave.count", i32 4}
!4 = distinct !{!4, !1, !2, !3}
!5 = distinct !{}
!6 = !{!"llvm.loop.parallel_accesses", !5}
!7 = !{!"llvm.loop.unroll.disable"}
!8 = !{!"llvm.loop.interleave.count", i32 4}
!9 = distinct !{!9, !6, !7, !8}
