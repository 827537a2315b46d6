# lower: reduce(*fp32, *i32)
import triton
import triton.language as tl


@triton.jit
def larger(a, i, b, j):
    take = a > b
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def reduce(x, out):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    best, at = tl.reduce((v, i), 0, larger)
    prefix = tl.associative_scan(v, 0, add)
    tl.store(x + i, prefix + best)
    tl.store(out, at)

# ---
# kernel @reduce(%0: ptr<f32>, %1: ptr<i32>) {
#   %2 = iota {start = 0} () : tile<16xi32>
#   %3 = splat (%0) : tile<16xptr<f32>>
#   %4 = ptr_add (%3, %2) : tile<16xptr<f32>>
#   %5 = load (%4) : tile<16xf32>
#   %6, %7 = reduce {axis = 0} (%5, %2) : f32, i32 do (%8: f32, %9: i32, %10: f32, %11: i32) {
#     %12, %13 = call {callee = "larger"} (%8, %9, %10, %11) : f32, i32
#     yield (%12, %13)
#   }
#   %14 = scan {axis = 0} (%5) : tile<16xf32> do (%15: f32, %16: f32) {
#     %17 = call {callee = "add"} (%15, %16) : f32
#     yield (%17)
#   }
#   %18 = splat (%0) : tile<16xptr<f32>>
#   %19 = ptr_add (%18, %2) : tile<16xptr<f32>>
#   %20 = splat (%6) : tile<16xf32>
#   %21 = add (%14, %20) : tile<16xf32>
#   store (%19, %21)
#   store (%1, %7)
#   return ()
# }
#
# func @larger(%0: f32, %1: i32, %2: f32, %3: i32) -> (f32, i32) {
#   %4 = cmp {is = gt} (%0, %2) : i1
#   %5 = select (%4, %0, %2) : f32
#   %6 = select (%4, %1, %3) : i32
#   return (%5, %6)
# }
#
# func @add(%0: f32, %1: f32) -> (f32) {
#   %2 = add (%0, %1) : f32
#   return (%2)
# }
