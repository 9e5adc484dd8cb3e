; What compiled kernels ask of Numba's runtime: memory for arrays, and the strides of a contiguous array in a new shape.

declare ptr @malloc(i64)
declare void @free(ptr)

; Arrays are counted in a record that precedes their data: count, destructor, its argument, data, size, allocator.
define hidden ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %alignment = zext i32 %align to i64
  %rounding = sub i64 %alignment, 1
  %room = add i64 %rounding, 48
  %total = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %size, i64 %room)
  %overflows = extractvalue { i64, i1 } %total, 1
  br i1 %overflows, label %none, label %allocate

allocate:
  %bytes = extractvalue { i64, i1 } %total, 0
  %record = call ptr @malloc(i64 %bytes)
  %failed = icmp eq ptr %record, null
  br i1 %failed, label %none, label %fill

fill:
  %address = ptrtoint ptr %record to i64
  %end = add i64 %address, %room
  %mask = sub i64 0, %alignment
  %aligned = and i64 %end, %mask
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %record
  %destructor = getelementptr i64, ptr %record, i64 1
  store ptr null, ptr %destructor
  %argument = getelementptr i64, ptr %record, i64 2
  store ptr null, ptr %argument
  %start = getelementptr i64, ptr %record, i64 3
  store ptr %data, ptr %start
  %length = getelementptr i64, ptr %record, i64 4
  store i64 %size, ptr %length
  %allocator = getelementptr i64, ptr %record, i64 5
  store ptr null, ptr %allocator
  ret ptr %record

none:
  ret ptr null
}

declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)

define hidden void @NRT_MemInfo_call_dtor(ptr %record) {
  call void @free(ptr %record)
  ret void
}

; Numba accepts `reshape` of contiguous arrays only, so the new strides follow from the new shape alone.
define hidden i32 @numba_attempt_nocopy_reshape(i64 %axes, ptr %shape, ptr %strides, i64 %new_axes, ptr %new_shape,
                                                ptr %new_strides, i64 %item, i32 %by_columns) {
entry:
  br label %next

next:
  %left = phi i64 [ %new_axes, %entry ], [ %axis, %set ]
  %stride = phi i64 [ %item, %entry ], [ %wider, %set ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %set

set:
  %axis = sub i64 %left, 1
  %place = getelementptr i64, ptr %new_strides, i64 %axis
  store i64 %stride, ptr %place
  %extent = getelementptr i64, ptr %new_shape, i64 %axis
  %length = load i64, ptr %extent
  %wider = mul i64 %stride, %length
  br label %next

end:
  ret i32 1
}
