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
# kernel @unroll(%out: ptr<i32>) {
#   %0 = const {value = 0} () : i32
#   %1 = ptr_add (%out, %0) : ptr<i32>
#   %2 = const {value = 0} () : i32
#   store (%1, %2)
#   %3 = const {value = 1} () : i32
#   %4 = ptr_add (%out, %3) : ptr<i32>
#   %5 = const {value = 10} () : i32
#   store (%4, %5)
#   %6 = const {value = 2} () : i32
#   %7 = ptr_add (%out, %6) : ptr<i32>
#   %8 = const {value = 20} () : i32
#   store (%7, %8)
#   %9 = const {value = 4} () : i32
#   %10 = ptr_add (%out, %9) : ptr<i32>
#   %11 = const {value = 4} () : i32
#   store (%10, %11)
#   %12 = const {value = 1} () : i32
#   %13 = ptr_add (%out, %12) : ptr<i32>
#   %14 = const {value = 1} () : i32
#   store (%13, %14)
#   %15 = const {value = 3} () : i32
#   store (%out, %15)
#   %16 = const {value = 7} () : i32
#   store (%out, %16)
#   %17 = const {value = 0} () : i32
#   %18 = const {value = 3} () : i32
#   %19 = const {value = 1} () : i32
#   for (%17, %18, %19) do (%i: i32) {
#     %20 = const {value = 0} () : i32
#     %21 = ptr_add (%out, %20) : ptr<i32>
#     store (%21, %i)
#     %22 = const {value = 1} () : i32
#     %23 = ptr_add (%out, %22) : ptr<i32>
#     store (%23, %i)
#     yield ()
#   }
#   return ()
# }
