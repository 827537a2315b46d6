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
# kernel @reduce(%x: ptr<f32>, %out: ptr<i32>) {
#   %i = iota {start = 0} () : tile<16xi32>
#   %0 = splat (%x) : tile<16xptr<f32>>
#   %1 = ptr_add (%0, %i) : tile<16xptr<f32>>
#   %v = load (%1) : tile<16xf32>
#   %best, %at = reduce {axis = 0} (%v, %i) : f32, i32 do (%a: f32, %i.1: i32, %b: f32, %j: i32) {
#     %take = cmp {is = gt} (%a, %b) : i1
#     %2 = select (%take, %a, %b) : f32
#     %3 = select (%take, %i.1, %j) : i32
#     yield (%2, %3)
#   }
#   %prefix = scan {axis = 0} (%v) : tile<16xf32> do (%a.1: f32, %b.1: f32) {
#     %4 = add (%a.1, %b.1) : f32
#     yield (%4)
#   }
#   %5 = splat (%x) : tile<16xptr<f32>>
#   %6 = ptr_add (%5, %i) : tile<16xptr<f32>>
#   %7 = splat (%best) : tile<16xf32>
#   %8 = add (%prefix, %7) : tile<16xf32>
#   store (%6, %8)
#   store (%out, %at)
#   return ()
# }
