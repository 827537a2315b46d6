# lower: add(*fp32:16, *fp32:16, *fp32:16, i32:16, 128)
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)

# ---
# kernel @add(%x_ptr: ptr<f32> {divisible = [16]}, %y_ptr: ptr<f32> {divisible = [16]}, %out_ptr: ptr<f32> {divisible = [16]}, %n: i32 {divisible = [16]}) {
#   %pid = program_id {axis = 0} () : i32
#   %0 = const {value = 128} () : i32
#   %1 = mul (%pid, %0) : i32
#   %2 = iota {start = 0} () : tile<128xi32>
#   %3 = splat (%1) : tile<128xi32>
#   %offsets = add (%3, %2) : tile<128xi32>
#   %4 = splat (%n) : tile<128xi32>
#   %mask = cmp {is = lt} (%offsets, %4) : tile<128xi1>
#   %5 = splat (%x_ptr) : tile<128xptr<f32>>
#   %6 = ptr_add (%5, %offsets) : tile<128xptr<f32>>
#   %x = load (%6, %mask) : tile<128xf32>
#   %7 = splat (%y_ptr) : tile<128xptr<f32>>
#   %8 = ptr_add (%7, %offsets) : tile<128xptr<f32>>
#   %y = load (%8, %mask) : tile<128xf32>
#   %9 = splat (%out_ptr) : tile<128xptr<f32>>
#   %10 = ptr_add (%9, %offsets) : tile<128xptr<f32>>
#   %11 = add (%x, %y) : tile<128xf32>
#   store (%10, %11, %mask)
#   return ()
# }
