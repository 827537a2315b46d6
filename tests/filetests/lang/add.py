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
# kernel @add(%0: ptr<f32> {divisible = [16]}, %1: ptr<f32> {divisible = [16]}, %2: ptr<f32> {divisible = [16]}, %3: i32 {divisible = [16]}) {
#   %4 = program_id {axis = 0} () : i32
#   %5 = const {value = 128} () : i32
#   %6 = mul (%4, %5) : i32
#   %7 = iota {start = 0} () : tile<128xi32>
#   %8 = splat (%6) : tile<128xi32>
#   %9 = add (%8, %7) : tile<128xi32>
#   %10 = splat (%3) : tile<128xi32>
#   %11 = cmp {is = lt} (%9, %10) : tile<128xi1>
#   %12 = splat (%0) : tile<128xptr<f32>>
#   %13 = ptr_add (%12, %9) : tile<128xptr<f32>>
#   %14 = load (%13, %11) : tile<128xf32>
#   %15 = splat (%1) : tile<128xptr<f32>>
#   %16 = ptr_add (%15, %9) : tile<128xptr<f32>>
#   %17 = load (%16, %11) : tile<128xf32>
#   %18 = splat (%2) : tile<128xptr<f32>>
#   %19 = ptr_add (%18, %9) : tile<128xptr<f32>>
#   %20 = add (%14, %17) : tile<128xf32>
#   store (%19, %20, %11)
#   return ()
# }
