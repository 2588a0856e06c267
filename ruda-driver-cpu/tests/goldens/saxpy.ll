target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s72 = alloca i32
  %s96 = alloca i32
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
  %v29 = getelementptr inbounds i8, ptr %control, i64 64
  %v30 = icmp eq i64 %v28, 0
  br i1 %v30, label %range, label %take
take:
  %v31 = load atomic i32, ptr %v26 monotonic, align 4
  %v32 = icmp eq i32 %v31, 0
  br i1 %v32, label %more, label %exit
more:
  %v33 = atomicrmw add ptr %v29, i64 %v28 monotonic, align 8
  %v34 = add i64 %v33, %v28
  %v35 = call i64 @llvm.umin.i64(i64 %v34, i64 %v22)
  %v36 = icmp ult i64 %v33, %v22
  br i1 %v36, label %range, label %exit
range:
  %v37 = phi i64 [ 0, %entry ], [ %v33, %more ]
  %v38 = phi i64 [ %v22, %entry ], [ %v35, %more ]
  %v39 = udiv i64 %v37, %gx
  %v40 = urem i64 %v37, %gx
  %v41 = urem i64 %v39, %gy
  %v42 = udiv i64 %v39, %gy
  store i64 %v37, ptr %s1
  store i64 %v40, ptr %s2
  store i64 %v41, ptr %s3
  store i64 %v42, ptr %s4
  br label %block
block:
  %v43 = load i64, ptr %s2
  %v44 = trunc i64 %v43 to i32
  %v45 = load i64, ptr %s3
  %v46 = trunc i64 %v45 to i32
  %v47 = load i64, ptr %s4
  %v48 = trunc i64 %v47 to i32
  %v49 = sext i32 %v44 to i64
  %v50 = mul nuw nsw i64 %v49, 32
  %v51 = add nuw nsw i64 %v50, 31
  %v52 = sext i32 %v20 to i64
  %v53 = trunc i64 %v10 to i32
  %v54 = zext i32 %v53 to i64
  %v55 = trunc i64 %v16 to i32
  %v56 = zext i32 %v55 to i64
  %v57 = icmp slt i64 %v51, %v52
  %v58 = and i1 true, %v57
  %v59 = icmp slt i64 %v51, %v54
  %v60 = and i1 %v58, %v59
  %v61 = icmp slt i64 %v51, %v56
  %v62 = and i1 %v60, %v61
  br i1 %v62, label %inside63, label %edge64
inside63:
  %v66 = mul nuw nsw i32 %v48, 1
  %v67 = add nuw nsw i32 %v66, 0
  %v68 = mul nuw nsw i32 %v46, 1
  %v69 = add nuw nsw i32 %v68, 0
  store i32 0, ptr %s72
  br label %threads.x70
threads.x70:
  %v73 = load i32, ptr %s72
  %v74 = zext nneg i32 %v73 to i64
  %v75 = mul nuw nsw i32 %v44, 32
  %v76 = add nuw nsw i32 %v75, %v73
  %v78 = sext i32 %v76 to i64
  %v79 = getelementptr inbounds float, ptr %v8, i64 %v78
  %v80 = load float, ptr %v79, align 4, !llvm.access.group !0
  %v81 = sext i32 %v76 to i64
  %v82 = getelementptr inbounds float, ptr %v14, i64 %v81
  %v83 = load float, ptr %v82, align 4, !llvm.access.group !0
  %v84 = fmul float %v6, %v80
  %v85 = fadd float %v84, %v83
  %v86 = sext i32 %v76 to i64
  %v87 = getelementptr inbounds float, ptr %v14, i64 %v86
  store float %v85, ptr %v87, align 4, !llvm.access.group !0
  br label %end77
end77:
  %v88 = add nuw nsw i32 %v73, 1
  store i32 %v88, ptr %s72
  %v89 = icmp ult i32 %v88, 32
  br i1 %v89, label %threads.x70, label %after71, !llvm.loop !3
after71:
  br label %both65
edge64:
  %v90 = mul nuw nsw i32 %v48, 1
  %v91 = add nuw nsw i32 %v90, 0
  %v92 = mul nuw nsw i32 %v46, 1
  %v93 = add nuw nsw i32 %v92, 0
  store i32 0, ptr %s96
  br label %threads.x94
threads.x94:
  %v97 = load i32, ptr %s96
  %v98 = zext nneg i32 %v97 to i64
  %v99 = mul nuw nsw i32 %v44, 32
  %v100 = add nuw nsw i32 %v99, %v97
  %v105 = icmp slt i32 %v100, %v20
  br i1 %v105, label %then102, label %endif104
then102:
  %v106 = trunc i64 %v10 to i32
  %v107 = icmp ult i32 %v100, %v106
  br i1 %v107, label %in108, label %out109
in108:
  %v110 = sext i32 %v100 to i64
  %v111 = getelementptr inbounds float, ptr %v8, i64 %v110
  %v112 = load float, ptr %v111, align 4, !llvm.access.group !4
  br label %out109
out109:
  %v113 = phi float [ %v112, %in108 ], [ 0x0000000000000000, %then102 ]
  %v114 = trunc i64 %v16 to i32
  %v115 = icmp ult i32 %v100, %v114
  br i1 %v115, label %in116, label %out117
in116:
  %v118 = sext i32 %v100 to i64
  %v119 = getelementptr inbounds float, ptr %v14, i64 %v118
  %v120 = load float, ptr %v119, align 4, !llvm.access.group !4
  br label %out117
out117:
  %v121 = phi float [ %v120, %in116 ], [ 0x0000000000000000, %out109 ]
  %v122 = trunc i64 %v16 to i32
  %v123 = icmp ult i32 %v100, %v122
  br i1 %v123, label %in124, label %out125
in124:
  %v126 = fmul float %v6, %v113
  %v127 = fadd float %v126, %v121
  %v128 = sext i32 %v100 to i64
  %v129 = getelementptr inbounds float, ptr %v14, i64 %v128
  store float %v127, ptr %v129, align 4, !llvm.access.group !4
  br label %out125
out125:
  br label %endif104
endif104:
  br label %end101
end101:
  %v130 = add nuw nsw i32 %v97, 1
  store i32 %v130, ptr %s96
  %v131 = icmp ult i32 %v130, 32
  br i1 %v131, label %threads.x94, label %after95, !llvm.loop !7
after95:
  br label %both65
both65:
  %v132 = load i64, ptr %s2
  %v133 = add nuw nsw i64 %v132, 1
  %v134 = load i64, ptr %s3
  %v135 = add nuw nsw i64 %v134, 1
  %v136 = load i64, ptr %s4
  %v137 = add nuw nsw i64 %v136, 1
  %v138 = icmp eq i64 %v133, %gx
  %v139 = select i1 %v138, i64 0, i64 %v133
  store i64 %v139, ptr %s2
  br i1 %v138, label %row, label %following
row:
  %v140 = icmp eq i64 %v135, %gy
  %v141 = select i1 %v140, i64 0, i64 %v135
  store i64 %v141, ptr %s3
  br i1 %v140, label %plane, label %following
plane:
  store i64 %v137, ptr %s4
  br label %following
following:
  %v142 = load i64, ptr %s1
  %v143 = add nuw nsw i64 %v142, 1
  store i64 %v143, ptr %s1
  %v144 = icmp ult i64 %v143, %v38
  br i1 %v144, label %block, label %done
done:
  br i1 %v30, label %exit, label %take
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
