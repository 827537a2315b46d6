# lower: copy(tensordesc<fp16[16, 32]>, *fp16:16, i32, i32)
import triton
import triton.language as tl


@triton.jit
def copy(src, dst, m, n):
    out = tl.make_tensor_descriptor(dst, [m, n], [n, 1], [16, 32])
    row = tl.program_id(0) * 16
    for col in range(0, src.shape[1], 32):
        out.store([row, col], src.load([row, col]))

# ---
# kernel @copy(%0: desc<16x32xf16>, %1: ptr<f16> {divisible = [16]}, %2: i32, %3: i32) {
#   %4 = cast {round = rtne} (%3) : i64
#   %5 = const {value = 1} () : i64
#   %6 = make_desc (%1, %2, %3, %4, %5) : desc<16x32xf16>
#   %7 = program_id {axis = 0} () : i32
#   %8 = const {value = 16} () : i32
#   %9 = mul (%7, %8) : i32
#   %10 = desc_size {dim = 0} (%0) : i32
#   %11 = desc_size {dim = 1} (%0) : i32
#   %12 = const {value = 0} () : i32
#   %13 = const {value = 32} () : i32
#   for (%12, %11, %13) do (%14: i32) {
#     %15 = desc_load (%0, %9, %14) : tile<16x32xf16>
#     desc_store (%6, %15, %9, %14)
#     yield ()
#   }
#   return ()
# }
