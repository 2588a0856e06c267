target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s85 = alloca i32
  %s113 = alloca i32
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
  br i1 %v102, label %threads.x83, label %after84, !llvm.loop !3
after84:
  br label %both77
edge76:
  %v105 = icmp eq i64 %v58, 1
  br i1 %v105, label %single103, label %several104
several104:
  store i64 1, ptr %s1
  br label %block
single103:
  %v106 = trunc i64 %v59 to i32
  %v107 = mul nuw nsw i32 %v51, 1
  %v108 = add nuw nsw i32 %v107, 0
  %v109 = mul nuw nsw i32 %v49, 1
  %v110 = add nuw nsw i32 %v109, 0
  store i32 0, ptr %s113
  br label %threads.x111
threads.x111:
  %v114 = load i32, ptr %s113
  %v115 = zext nneg i32 %v114 to i64
  %v116 = mul nuw nsw i32 %v47, 32
  %v117 = add nuw nsw i32 %v116, %v114
  %v122 = icmp slt i32 %v117, %v21
  br i1 %v122, label %then119, label %endif121
then119:
  %v123 = trunc i64 %v11 to i32
  %v124 = icmp ult i32 %v117, %v123
  br i1 %v124, label %in125, label %out126
in125:
  %v127 = sext i32 %v117 to i64
  %v128 = getelementptr inbounds float, ptr %v9, i64 %v127
  %v129 = load float, ptr %v128, align 4, !llvm.access.group !4
  br label %out126
out126:
  %v130 = phi float [ %v129, %in125 ], [ 0x0000000000000000, %then119 ]
  %v131 = trunc i64 %v17 to i32
  %v132 = icmp ult i32 %v117, %v131
  br i1 %v132, label %in133, label %out134
in133:
  %v135 = sext i32 %v117 to i64
  %v136 = getelementptr inbounds float, ptr %v15, i64 %v135
  %v137 = load float, ptr %v136, align 4, !llvm.access.group !4
  br label %out134
out134:
  %v138 = phi float [ %v137, %in133 ], [ 0x0000000000000000, %out126 ]
  %v139 = trunc i64 %v17 to i32
  %v140 = icmp ult i32 %v117, %v139
  br i1 %v140, label %in141, label %out142
in141:
  %v143 = fmul float %v7, %v130
  %v144 = fadd float %v143, %v138
  %v145 = sext i32 %v117 to i64
  %v146 = getelementptr inbounds float, ptr %v15, i64 %v145
  store float %v144, ptr %v146, align 4, !llvm.access.group !4
  br label %out142
out142:
  br label %endif121
endif121:
  br label %end118
end118:
  %v147 = add nuw nsw i32 %v114, 1
  store i32 %v147, ptr %s113
  %v148 = icmp ult i32 %v147, %v106
  br i1 %v148, label %threads.x111, label %after112, !llvm.loop !7
after112:
  br label %both77
both77:
  store i64 32768, ptr %s1
  %v149 = load i64, ptr %s3
  %v150 = add nuw nsw i64 %v149, %v58
  %v151 = load i64, ptr %s4
  %v152 = add nuw nsw i64 %v151, 1
  %v153 = load i64, ptr %s5
  %v154 = add nuw nsw i64 %v153, 1
  %v155 = icmp eq i64 %v150, %gx
  %v156 = select i1 %v155, i64 0, i64 %v150
  store i64 %v156, ptr %s3
  br i1 %v155, label %row, label %following
row:
  %v157 = icmp eq i64 %v152, %gy
  %v158 = select i1 %v157, i64 0, i64 %v152
  store i64 %v158, ptr %s4
  br i1 %v157, label %plane, label %following
plane:
  store i64 %v154, ptr %s5
  br label %following
following:
  %v159 = load i64, ptr %s2
  %v160 = add nuw nsw i64 %v159, %v58
  store i64 %v160, ptr %s2
  %v161 = icmp ult i64 %v160, %v41
  br i1 %v161, label %block, label %done
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
!3 = distinct !{!3, !1, !2}
!4 = distinct !{}
!5 = !{!"llvm.loop.parallel_accesses", !4}
!6 = !{!"llvm.loop.unroll.disable"}
!7 = distinct !{!7, !5, !6}
