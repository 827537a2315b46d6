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
# kernel @copy(%src: desc<16x32xf16>, %dst: ptr<f16> {divisible = [16]}, %m: i32, %n: i32) {
#   %0 = cast {round = rtne} (%n) : i64
#   %1 = const {value = 1} () : i64
#   %out = make_desc (%dst, %m, %n, %0, %1) : desc<16x32xf16>
#   %2 = program_id {axis = 0} () : i32
#   %3 = const {value = 16} () : i32
#   %row = mul (%2, %3) : i32
#   %4 = desc_size {dim = 0} (%src) : i32
#   %5 = desc_size {dim = 1} (%src) : i32
#   %6 = const {value = 0} () : i32
#   %7 = const {value = 32} () : i32
#   for (%6, %5, %7) do (%col: i32) {
#     %8 = desc_load (%src, %row, %col) : tile<16x32xf16>
#     desc_store (%out, %8, %row, %col)
#     yield ()
#   }
#   return ()
# }
