target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s85 = alloca i32
  %s114 = alloca i32
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
  %v56 = load i64, ptr %s1
  %v57 = call i64 @llvm.umin.i64(i64 %v56, i64 %v53)
  %v58 = call i64 @llvm.umin.i64(i64 %v57, i64 %v55)
  %v59 = mul nuw nsw i64 %v58, 32
  %v60 = sext i32 %v47 to i64
  %v61 = mul nuw nsw i64 %v60, 32
  %v62 = add nuw nsw i64 %v61, %v59
  %v63 = sub nuw nsw i64 %v62, 1
  %v64 = sext i32 %v21 to i64
  %v65 = trunc i64 %v11 to i32
  %v66 = zext i32 %v65 to i64
  %v67 = trunc i64 %v17 to i32
  %v68 = zext i32 %v67 to i64
  %v69 = icmp slt i64 %v63, %v64
  %v70 = and i1 true, %v69
  %v71 = icmp slt i64 %v63, %v66
  %v72 = and i1 %v70, %v71
  %v73 = icmp slt i64 %v63, %v68
  %v74 = and i1 %v72, %v73
  br i1 %v74, label %inside75, label %edge76
inside75:
  %v78 = trunc i64 %v59 to i32
  %v79 = mul nuw nsw i32 %v51, 1
  %v80 = add nuw nsw i32 %v79, 0
  %v81 = mul nuw nsw i32 %v49, 1
  %v82 = add nuw nsw i32 %v81, 0
  store i32 0, ptr %s85
  br label %threads.x83
threads.x83:
  %v86 = load i32, ptr %s85
  %v87 = zext nneg i32 %v86 to i64
  %v88 = mul nuw nsw i32 %v47, 32
  %v89 = add nuw nsw i32 %v88, %v86
  %v91 = sext i32 %v89 to i64
  %v92 = getelementptr inbounds float, ptr %v9, i64 %v91
  %v93 = load float, ptr %v92, align 4, !llvm.access.group !0
  %v94 = sext i32 %v89 to i64
  %v95 = getelementptr inbounds float, ptr %v15, i64 %v94
  %v96 = load float, ptr %v95, align 4, !llvm.access.group !0
  %v97 = fmul float %v7, %v93
  %v98 = fadd float %v97, %v96
  %v99 = sext i32 %v89 to i64
  %v100 = getelementptr inbounds float, ptr %v15, i64 %v99
  store float %v98, ptr %v100, align 4, !llvm.access.group !0
  br label %end90
end90:
  %v101 = add nuw nsw i32 %v86, 1
  store i32 %v101, ptr %s85
  %v102 = icmp ult i32 %v101, %v78
  br i1 %v102, label %threads.x83, label %after84, !llvm.loop !4
after84:
  br label %both77
edge76:
  %v105 = icmp eq i64 %v58, 1
  br i1 %v105, label %single103, label %several104
several104:
  %v106 = lshr i64 %v58, 1
  store i64 %v106, ptr %s1
  br label %block
single103:
  %v107 = trunc i64 %v59 to i32
  %v108 = mul nuw nsw i32 %v51, 1
  %v109 = add nuw nsw i32 %v108, 0
  %v110 = mul nuw nsw i32 %v49, 1
  %v111 = add nuw nsw i32 %v110, 0
  store i32 0, ptr %s114
  br label %threads.x112
threads.x112:
  %v115 = load i32, ptr %s114
  %v116 = zext nneg i32 %v115 to i64
  %v117 = mul nuw nsw i32 %v47, 32
  %v118 = add nuw nsw i32 %v117, %v115
  %v123 = icmp slt i32 %v118, %v21
  br i1 %v123, label %then120, label %endif122
then120:
  %v124 = trunc i64 %v11 to i32
  %v125 = icmp ult i32 %v118, %v124
  br i1 %v125, label %in126, label %out127
in126:
  %v128 = sext i32 %v118 to i64
  %v129 = getelementptr inbounds float, ptr %v9, i64 %v128
  %v130 = load float, ptr %v129, align 4, !llvm.access.group !5
  br label %out127
out127:
  %v131 = phi float [ %v130, %in126 ], [ 0x0000000000000000, %then120 ]
  %v132 = trunc i64 %v17 to i32
  %v133 = icmp ult i32 %v118, %v132
  br i1 %v133, label %in134, label %out135
in134:
  %v136 = sext i32 %v118 to i64
  %v137 = getelementptr inbounds float, ptr %v15, i64 %v136
  %v138 = load float, ptr %v137, align 4, !llvm.access.group !5
  br label %out135
out135:
  %v139 = phi float [ %v138, %in134 ], [ 0x0000000000000000, %out127 ]
  %v140 = trunc i64 %v17 to i32
  %v141 = icmp ult i32 %v118, %v140
  br i1 %v141, label %in142, label %out143
in142:
  %v144 = fmul float %v7, %v131
  %v145 = fadd float %v144, %v139
  %v146 = sext i32 %v118 to i64
  %v147 = getelementptr inbounds float, ptr %v15, i64 %v146
  store float %v145, ptr %v147, align 4, !llvm.access.group !5
  br label %out143
out143:
  br label %endif122
endif122:
  br label %end119
end119:
  %v148 = add nuw nsw i32 %v115, 1
  store i32 %v148, ptr %s114
  %v149 = icmp ult i32 %v148, %v107
  br i1 %v149, label %threads.x112, label %after113, !llvm.loop !9
after113:
  br label %both77
both77:
  store i64 32768, ptr %s1
  %v150 = load i64, ptr %s3
  %v151 = add nuw nsw i64 %v150, %v58
  %v152 = load i64, ptr %s4
  %v153 = add nuw nsw i64 %v152, 1
  %v154 = load i64, ptr %s5
  %v155 = add nuw nsw i64 %v154, 1
  %v156 = icmp eq i64 %v151, %gx
  %v157 = select i1 %v156, i64 0, i64 %v151
  store i64 %v157, ptr %s3
  br i1 %v156, label %row, label %following
row:
  %v158 = icmp eq i64 %v153, %gy
  %v159 = select i1 %v158, i64 0, i64 %v153
  store i64 %v159, ptr %s4
  br i1 %v158, label %plane, label %following
plane:
  store i64 %v155, ptr %s5
  br label %following
following:
  %v160 = load i64, ptr %s2
  %v161 = add nuw nsw i64 %v160, %v58
  store i64 %v161, ptr %s2
  %v162 = icmp ult i64 %v161, %v41
  br i1 %v162, label %block, label %done
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
