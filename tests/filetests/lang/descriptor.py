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
# kernel @copy(%0: ptr<f16> {divisible = [16]}, %1: i32, %2: i32, %3: i64, %4: ptr<f16> {divisible = [16]}, %5: i32, %6: i32) {
#   %7 = const {value = 1} () : i64
#   %8 = make_desc (%0, %1, %2, %3, %7) : desc<16x32xf16>
#   %9 = cast {round = rtne} (%6) : i64
#   %10 = const {value = 1} () : i64
#   %11 = make_desc (%4, %5, %6, %9, %10) : desc<16x32xf16>
#   %12 = program_id {axis = 0} () : i32
#   %13 = const {value = 16} () : i32
#   %14 = mul (%12, %13) : i32
#   %15 = const {value = 0} () : i32
#   %16 = const {value = 32} () : i32
#   for (%15, %2, %16) do (%17: i32) {
#     %18 = desc_load (%8, %14, %17) : tile<16x32xf16>
#     desc_store (%11, %18, %14, %17)
#     yield ()
#   }
#   return ()
# }
