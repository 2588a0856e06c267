target triple = "x86_64-unknown-linux-gnu"

define void @ruda_k(ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr noalias %scratch) #0 {
entry:
  %s1 = alloca i64
  %s2 = alloca i64
  %s3 = alloca i64
  %s4 = alloca i64
  %s5 = alloca i64
  %s83 = alloca i32
  %s111 = alloca i32
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
  %v30 = getelementptr inbounds i8, ptr %control, i64 64
  %v31 = icmp eq i64 %v29, 0
  br i1 %v31, label %range, label %take
take:
  %v32 = load atomic i32, ptr %v27 monotonic, align 4
  %v33 = icmp eq i32 %v32, 0
  br i1 %v33, label %more, label %exit
more:
  %v34 = atomicrmw add ptr %v30, i64 %v29 monotonic, align 8
  %v35 = add i64 %v34, %v29
  %v36 = call i64 @llvm.umin.i64(i64 %v35, i64 %v23)
  %v37 = icmp ult i64 %v34, %v23
  br i1 %v37, label %range, label %exit
range:
  %v38 = phi i64 [ 0, %entry ], [ %v34, %more ]
  %v39 = phi i64 [ %v23, %entry ], [ %v36, %more ]
  %v40 = udiv i64 %v38, %gx
  %v41 = urem i64 %v38, %gx
  %v42 = urem i64 %v40, %gy
  %v43 = udiv i64 %v40, %gy
  store i64 %v38, ptr %s2
  store i64 %v41, ptr %s3
  store i64 %v42, ptr %s4
  store i64 %v43, ptr %s5
  store i64 32768, ptr %s1
  br label %block
block:
  %v44 = load i64, ptr %s3
  %v45 = trunc i64 %v44 to i32
  %v46 = load i64, ptr %s4
  %v47 = trunc i64 %v46 to i32
  %v48 = load i64, ptr %s5
  %v49 = trunc i64 %v48 to i32
  %v50 = load i64, ptr %s2
  %v51 = sub nuw nsw i64 %v39, %v50
  %v52 = load i64, ptr %s3
  %v53 = sub nuw nsw i64 %gx, %v52
  %v54 = load i64, ptr %s1
  %v55 = call i64 @llvm.umin.i64(i64 %v54, i64 %v51)
  %v56 = call i64 @llvm.umin.i64(i64 %v55, i64 %v53)
  %v57 = mul nuw nsw i64 %v56, 32
  %v58 = sext i32 %v45 to i64
  %v59 = mul nuw nsw i64 %v58, 32
  %v60 = add nuw nsw i64 %v59, %v57
  %v61 = sub nuw nsw i64 %v60, 1
  %v62 = sext i32 %v21 to i64
  %v63 = trunc i64 %v11 to i32
  %v64 = zext i32 %v63 to i64
  %v65 = trunc i64 %v17 to i32
  %v66 = zext i32 %v65 to i64
  %v67 = icmp slt i64 %v61, %v62
  %v68 = and i1 true, %v67
  %v69 = icmp slt i64 %v61, %v64
  %v70 = and i1 %v68, %v69
  %v71 = icmp slt i64 %v61, %v66
  %v72 = and i1 %v70, %v71
  br i1 %v72, label %inside73, label %edge74
inside73:
  %v76 = trunc i64 %v57 to i32
  %v77 = mul nuw nsw i32 %v49, 1
  %v78 = add nuw nsw i32 %v77, 0
  %v79 = mul nuw nsw i32 %v47, 1
  %v80 = add nuw nsw i32 %v79, 0
  store i32 0, ptr %s83
  br label %threads.x81
threads.x81:
  %v84 = load i32, ptr %s83
  %v85 = zext nneg i32 %v84 to i64
  %v86 = mul nuw nsw i32 %v45, 32
  %v87 = add nuw nsw i32 %v86, %v84
  %v89 = sext i32 %v87 to i64
  %v90 = getelementptr inbounds float, ptr %v9, i64 %v89
  %v91 = load float, ptr %v90, align 4, !llvm.access.group !0
  %v92 = sext i32 %v87 to i64
  %v93 = getelementptr inbounds float, ptr %v15, i64 %v92
  %v94 = load float, ptr %v93, align 4, !llvm.access.group !0
  %v95 = fmul float %v7, %v91
  %v96 = fadd float %v95, %v94
  %v97 = sext i32 %v87 to i64
  %v98 = getelementptr inbounds float, ptr %v15, i64 %v97
  store float %v96, ptr %v98, align 4, !llvm.access.group !0
  br label %end88
end88:
  %v99 = add nuw nsw i32 %v84, 1
  store i32 %v99, ptr %s83
  %v100 = icmp ult i32 %v99, %v76
  br i1 %v100, label %threads.x81, label %after82, !llvm.loop !3
after82:
  br label %both75
edge74:
  %v103 = icmp eq i64 %v56, 1
  br i1 %v103, label %single101, label %several102
several102:
  store i64 1, ptr %s1
  br label %block
single101:
  %v104 = trunc i64 %v57 to i32
  %v105 = mul nuw nsw i32 %v49, 1
  %v106 = add nuw nsw i32 %v105, 0
  %v107 = mul nuw nsw i32 %v47, 1
  %v108 = add nuw nsw i32 %v107, 0
  store i32 0, ptr %s111
  br label %threads.x109
threads.x109:
  %v112 = load i32, ptr %s111
  %v113 = zext nneg i32 %v112 to i64
  %v114 = mul nuw nsw i32 %v45, 32
  %v115 = add nuw nsw i32 %v114, %v112
  %v120 = icmp slt i32 %v115, %v21
  br i1 %v120, label %then117, label %endif119
then117:
  %v121 = trunc i64 %v11 to i32
  %v122 = icmp ult i32 %v115, %v121
  br i1 %v122, label %in123, label %out124
in123:
  %v125 = sext i32 %v115 to i64
  %v126 = getelementptr inbounds float, ptr %v9, i64 %v125
  %v127 = load float, ptr %v126, align 4, !llvm.access.group !4
  br label %out124
out124:
  %v128 = phi float [ %v127, %in123 ], [ 0x0000000000000000, %then117 ]
  %v129 = trunc i64 %v17 to i32
  %v130 = icmp ult i32 %v115, %v129
  br i1 %v130, label %in131, label %out132
in131:
  %v133 = sext i32 %v115 to i64
  %v134 = getelementptr inbounds float, ptr %v15, i64 %v133
  %v135 = load float, ptr %v134, align 4, !llvm.access.group !4
  br label %out132
out132:
  %v136 = phi float [ %v135, %in131 ], [ 0x0000000000000000, %out124 ]
  %v137 = trunc i64 %v17 to i32
  %v138 = icmp ult i32 %v115, %v137
  br i1 %v138, label %in139, label %out140
in139:
  %v141 = fmul float %v7, %v128
  %v142 = fadd float %v141, %v136
  %v143 = sext i32 %v115 to i64
  %v144 = getelementptr inbounds float, ptr %v15, i64 %v143
  store float %v142, ptr %v144, align 4, !llvm.access.group !4
  br label %out140
out140:
  br label %endif119
endif119:
  br label %end116
end116:
  %v145 = add nuw nsw i32 %v112, 1
  store i32 %v145, ptr %s111
  %v146 = icmp ult i32 %v145, %v104
  br i1 %v146, label %threads.x109, label %after110, !llvm.loop !7
after110:
  br label %both75
both75:
  store i64 32768, ptr %s1
  %v147 = load i64, ptr %s3
  %v148 = add nuw nsw i64 %v147, %v56
  %v149 = load i64, ptr %s4
  %v150 = add nuw nsw i64 %v149, 1
  %v151 = load i64, ptr %s5
  %v152 = add nuw nsw i64 %v151, 1
  %v153 = icmp eq i64 %v148, %gx
  %v154 = select i1 %v153, i64 0, i64 %v148
  store i64 %v154, ptr %s3
  br i1 %v153, label %row, label %following
row:
  %v155 = icmp eq i64 %v150, %gy
  %v156 = select i1 %v155, i64 0, i64 %v150
  store i64 %v156, ptr %s4
  br i1 %v155, label %plane, label %following
plane:
  store i64 %v152, ptr %s5
  br label %following
following:
  %v157 = load i64, ptr %s2
  %v158 = add nuw nsw i64 %v157, %v56
  store i64 %v158, ptr %s2
  %v159 = icmp ult i64 %v158, %v39
  br i1 %v159, label %block, label %done
done:
  br i1 %v31, label %exit, label %take
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
