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
# kernel @expressions(%0: ptr<i32>, %1: i32, %2: f32) {
#   %3 = const {value = 0} () : i32
#   %4 = cmp {is = gt} (%1, %3) : i1
#   %5 = if (%4) : i32 do {
#     yield (%1)
#   } do {
#     %6 = neg (%1) : i32
#     yield (%6)
#   }
#   %7 = const {value = 0} () : i32
#   %8 = cmp {is = lt} (%7, %1) : i1
#   %9 = const {value = 10} () : i32
#   %10 = cmp {is = lt} (%1, %9) : i1
#   %11 = and (%8, %10) : i1
#   %12 = const {value = 1} () : i32
#   %13 = cmp {is = gt} (%1, %12) : i1
#   %14 = const {value = 5} () : i32
#   %15 = cmp {is = lt} (%1, %14) : i1
#   %16 = and (%13, %15) : i1
#   %17 = not (%11) : i1
#   %18 = or (%16, %17) : i1
#   %19 = const {value = 1} () : i32
#   %20 = cmp {is = gt} (%1, %19) : i1
#   %21 = call {callee = "zeros"} () : tile<4x8xi32>
#   %22 = transpose {perm = [1, 0]} (%21) : tile<8x4xi32>
#   %23 = transpose {perm = [1, 0]} (%21) : tile<8x4xi32>
#   %24 = add (%22, %23) : tile<8x4xi32>
#   %25 = const {value = 4} () : i32
#   %26 = splat (%25) : tile<8x4xi32>
#   %27 = add (%24, %26) : tile<8x4xi32>
#   %28 = const {value = 32} () : i32
#   %29 = splat (%28) : tile<8x4xi32>
#   %30 = add (%27, %29) : tile<8x4xi32>
#   %31 = const {value = 1} () : i32
#   %32 = splat (%31) : tile<4x8xi32>
#   %33 = add (%21, %32) : tile<4x8xi32>
#   %34 = cast {round = rtne} (%33) : tile<4x8xf32>
#   %35 = call {callee = "sum"} (%34) : tile<4xf32>
#   %36 = const {value = 3} () : i32
#   %37 = max (%1, %36) : i32
#   %38 = min (%1, %5) : i32
#   %39 = const {value = 4} () : i32
#   %40 = min (%38, %39) : i32
#   %41 = add (%37, %40) : i32
#   %42 = const {value = 1} () : i32
#   %43 = shl (%41, %42) : i32
#   %44 = not (%1) : i32
#   %45 = const {value = 3} () : i32
#   %46 = or (%1, %45) : i32
#   %47 = const {value = 7} () : i32
#   %48 = and (%46, %47) : i32
#   %49 = xor (%44, %48) : i32
#   %50 = add (%5, %43) : i32
#   %51 = add (%50, %49) : i32
#   %52 = and (%11, %18) : i1
#   %53 = and (%52, %20) : i1
#   store (%0, %51, %53)
#   %54 = iota {start = 0} () : tile<8xi32>
#   %55 = reshape (%54) : tile<8x1xi32>
#   %56 = splat (%0) : tile<8x1xptr<i32>>
#   %57 = ptr_add (%56, %55) : tile<8x1xptr<i32>>
#   %58 = iota {start = 0} () : tile<4xi32>
#   %59 = reshape (%58) : tile<1x4xi32>
#   %60 = broadcast (%57) : tile<8x4xptr<i32>>
#   %61 = broadcast (%59) : tile<8x4xi32>
#   %62 = ptr_add (%60, %61) : tile<8x4xptr<i32>>
#   store (%62, %30)
#   %63 = iota {start = 0} () : tile<4xi32>
#   %64 = splat (%0) : tile<4xptr<i32>>
#   %65 = ptr_add (%64, %63) : tile<4xptr<i32>>
#   %66 = cast {round = rtne} (%35) : tile<4xi32>
#   store (%65, %66)
#   %67 = const {value = 0} () : i32
#   %68 = cmp {is = gt} (%1, %67) : i1
#   print {prefix = " n: "} (%1)
#   return ()
# }
#
# func @zeros() -> (tile<4x8xi32>) {
#   %0 = const {value = 0} () : i32
#   %1 = splat (%0) : tile<4x8xi32>
#   return (%1)
# }
#
# func @sum(%0: tile<4x8xf32>) -> (tile<4xf32>) {
#   %1 = reduce {axis = 1} (%0) : tile<4xf32> do (%2: f32, %3: f32) {
#     %4 = add (%2, %3) : f32
#     yield (%4)
#   }
#   return (%1)
# }
