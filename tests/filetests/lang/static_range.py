# lower: unroll(*i32, 3)
import triton
import triton.language as tl


@triton.jit
def unroll(out, N: tl.constexpr):
    for i in tl.static_range(N):
        step: tl.constexpr = i * 10
        tl.store(out + i, step)
    for i in tl.static_range(4, 0, -3):
        tl.store(out + i, i)
    for value in (N, 7):
        tl.store(out, value)
    for i in range(N):
        for value in tl.static_range(2):
            tl.store(out + value, i)

# ---
# kernel @unroll(%0: ptr<i32>) {
#   %1 = const {value = 0} () : i32
#   %2 = ptr_add (%0, %1) : ptr<i32>
#   %3 = const {value = 0} () : i32
#   store (%2, %3)
#   %4 = const {value = 1} () : i32
#   %5 = ptr_add (%0, %4) : ptr<i32>
#   %6 = const {value = 10} () : i32
#   store (%5, %6)
#   %7 = const {value = 2} () : i32
#   %8 = ptr_add (%0, %7) : ptr<i32>
#   %9 = const {value = 20} () : i32
#   store (%8, %9)
#   %10 = const {value = 4} () : i32
#   %11 = ptr_add (%0, %10) : ptr<i32>
#   %12 = const {value = 4} () : i32
#   store (%11, %12)
#   %13 = const {value = 1} () : i32
#   %14 = ptr_add (%0, %13) : ptr<i32>
#   %15 = const {value = 1} () : i32
#   store (%14, %15)
#   %16 = const {value = 3} () : i32
#   store (%0, %16)
#   %17 = const {value = 7} () : i32
#   store (%0, %17)
#   %18 = const {value = 0} () : i32
#   %19 = const {value = 3} () : i32
#   %20 = const {value = 1} () : i32
#   for (%18, %19, %20) do (%21: i32) {
#     %22 = const {value = 0} () : i32
#     %23 = ptr_add (%0, %22) : ptr<i32>
#     store (%23, %21)
#     %24 = const {value = 1} () : i32
#     %25 = ptr_add (%0, %24) : ptr<i32>
#     store (%25, %21)
#     yield ()
#   }
#   return ()
# }
