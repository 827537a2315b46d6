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
#     %12 = cmp {is = gt} (%8, %10) : i1
#     %13 = select (%12, %8, %10) : f32
#     %14 = select (%12, %9, %11) : i32
#     yield (%13, %14)
#   }
#   %15 = scan {axis = 0} (%5) : tile<16xf32> do (%16: f32, %17: f32) {
#     %18 = add (%16, %17) : f32
#     yield (%18)
#   }
#   %19 = splat (%0) : tile<16xptr<f32>>
#   %20 = ptr_add (%19, %2) : tile<16xptr<f32>>
#   %21 = splat (%6) : tile<16xf32>
#   %22 = add (%15, %21) : tile<16xf32>
#   store (%20, %22)
#   store (%1, %7)
#   return ()
# }
