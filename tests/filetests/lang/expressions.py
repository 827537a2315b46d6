# lower: expressions(*i32, i32, fp32)
import triton
import triton.language as tl


@triton.jit
def expressions(out, n, f):
    a = n if n > 0 else -n
    b = 0 < n < 10
    c = n > 1 and n < 5 or not b
    d = n > 1 and True
    e: tl.int64 = n
    t = tl.zeros((4, 8), tl.int32)
    g = t.T + t.trans(1, 0) + t.shape[0] + t.numel
    h = (t + 1).to(f.dtype).sum(axis=1)
    i = max(n, 3) + min(n, a, 4)
    i <<= 1
    j = ~n ^ (n | 3) & 7
    tl.store(out, a + i + j, mask=b & c & d)
    tl.store(out + tl.arange(0, 8)[:, None] + tl.arange(0, 4)[None, :], g)
    tl.store(out + tl.arange(0, 4), h)
    assert n > 0, "positive"
    print("n", n)

# ---
# kernel @expressions(%out: ptr<i32>, %n: i32, %f: f32) {
#   %0 = const {value = 0} () : i32
#   %1 = cmp {is = gt} (%n, %0) : i1
#   %a = if (%1) : i32 do {
#     yield (%n)
#   } do {
#     %2 = neg (%n) : i32
#     yield (%2)
#   }
#   %3 = const {value = 0} () : i32
#   %4 = cmp {is = lt} (%3, %n) : i1
#   %5 = const {value = 10} () : i32
#   %6 = cmp {is = lt} (%n, %5) : i1
#   %b = and (%4, %6) : i1
#   %7 = const {value = 1} () : i32
#   %8 = cmp {is = gt} (%n, %7) : i1
#   %9 = const {value = 5} () : i32
#   %10 = cmp {is = lt} (%n, %9) : i1
#   %11 = and (%8, %10) : i1
#   %12 = not (%b) : i1
#   %c = or (%11, %12) : i1
#   %13 = const {value = 1} () : i32
#   %d = cmp {is = gt} (%n, %13) : i1
#   %t = call {callee = "zeros"} () : tile<4x8xi32>
#   %14 = transpose {perm = [1, 0]} (%t) : tile<8x4xi32>
#   %15 = transpose {perm = [1, 0]} (%t) : tile<8x4xi32>
#   %16 = add (%14, %15) : tile<8x4xi32>
#   %17 = const {value = 4} () : i32
#   %18 = splat (%17) : tile<8x4xi32>
#   %19 = add (%16, %18) : tile<8x4xi32>
#   %20 = const {value = 32} () : i32
#   %21 = splat (%20) : tile<8x4xi32>
#   %g = add (%19, %21) : tile<8x4xi32>
#   %22 = const {value = 1} () : i32
#   %23 = splat (%22) : tile<4x8xi32>
#   %24 = add (%t, %23) : tile<4x8xi32>
#   %25 = cast {round = rtne} (%24) : tile<4x8xf32>
#   %h = call {callee = "sum"} (%25) : tile<4xf32>
#   %26 = const {value = 3} () : i32
#   %27 = max (%n, %26) : i32
#   %28 = min (%n, %a) : i32
#   %29 = const {value = 4} () : i32
#   %30 = min (%28, %29) : i32
#   %i = add (%27, %30) : i32
#   %31 = const {value = 1} () : i32
#   %i.1 = shl (%i, %31) : i32
#   %32 = not (%n) : i32
#   %33 = const {value = 3} () : i32
#   %34 = or (%n, %33) : i32
#   %35 = const {value = 7} () : i32
#   %36 = and (%34, %35) : i32
#   %j = xor (%32, %36) : i32
#   %37 = add (%a, %i.1) : i32
#   %38 = add (%37, %j) : i32
#   %39 = and (%b, %c) : i1
#   %40 = and (%39, %d) : i1
#   store (%out, %38, %40)
#   %41 = iota {start = 0} () : tile<8xi32>
#   %42 = reshape (%41) : tile<8x1xi32>
#   %43 = splat (%out) : tile<8x1xptr<i32>>
#   %44 = ptr_add (%43, %42) : tile<8x1xptr<i32>>
#   %45 = iota {start = 0} () : tile<4xi32>
#   %46 = reshape (%45) : tile<1x4xi32>
#   %47 = broadcast (%44) : tile<8x4xptr<i32>>
#   %48 = broadcast (%46) : tile<8x4xi32>
#   %49 = ptr_add (%47, %48) : tile<8x4xptr<i32>>
#   store (%49, %g)
#   %50 = iota {start = 0} () : tile<4xi32>
#   %51 = splat (%out) : tile<4xptr<i32>>
#   %52 = ptr_add (%51, %50) : tile<4xptr<i32>>
#   %53 = cast {round = rtne} (%h) : tile<4xi32>
#   store (%52, %53)
#   %54 = const {value = 0} () : i32
#   %55 = cmp {is = gt} (%n, %54) : i1
#   print {prefix = " n: "} (%n)
#   return ()
# }
#
# func @zeros() -> (tile<4x8xi32>) {
#   %0 = const {value = 0} () : i32
#   %1 = splat (%0) : tile<4x8xi32>
#   return (%1)
# }
#
# func @sum(%input: tile<4x8xf32>) -> (tile<4xf32>) {
#   %0 = reduce {axis = 1} (%input) : tile<4xf32> do (%a: f32, %b: f32) {
#     %1 = add (%a, %b) : f32
#     yield (%1)
#   }
#   return (%0)
# }
