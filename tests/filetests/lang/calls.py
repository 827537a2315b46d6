# lower: calls(*fp32, i32, 4)
import triton
import triton.language as tl


@triton.jit
def scale(x, by=2, *, shift: tl.constexpr = 0):
    return x * by + shift


@triton.jit
def pair(x):
    return x, scale(x)


@triton.jit
def total(*values):
    sum = values[0]
    for i in tl.static_range(1, len(values)):
        sum += values[i]
    return sum


@triton.jit
def power(x, N: tl.constexpr):
    if N == 0:
        return x * 0 + 1
    return x * power(x, N - 1)


@triton.jit
def apply(FN: tl.constexpr, x):
    return FN(x)


@triton.jit
def calls(out, n, N: tl.constexpr):
    a = scale(n)
    b = scale(n, by=3, shift=N)
    c = scale(n)
    d, e = pair(n)
    f = total(a, b, *(c, d), e)
    g = power(n, 2)
    h = apply(scale, n)
    tl.store(out, f + g + h)

# ---
# kernel @calls(%0: ptr<f32>, %1: i32) {
#   %2 = call {callee = "scale"} (%1) : i32
#   %3 = call {callee = "scale.1"} (%1) : i32
#   %4 = call {callee = "scale"} (%1) : i32
#   %5, %6 = call {callee = "pair"} (%1) : i32, i32
#   %7 = call {callee = "total"} (%2, %3, %4, %5, %6) : i32
#   %8 = call {callee = "power"} (%1) : i32
#   %9 = call {callee = "apply"} (%1) : i32
#   %10 = add (%7, %8) : i32
#   %11 = add (%10, %9) : i32
#   %12 = cast {round = rtne} (%11) : f32
#   store (%0, %12)
#   return ()
# }
#
# func @scale(%0: i32) -> (i32) {
#   %1 = const {value = 2} () : i32
#   %2 = mul (%0, %1) : i32
#   %3 = const {value = 0} () : i32
#   %4 = add (%2, %3) : i32
#   return (%4)
# }
#
# func @scale.1(%0: i32) -> (i32) {
#   %1 = const {value = 3} () : i32
#   %2 = mul (%0, %1) : i32
#   %3 = const {value = 4} () : i32
#   %4 = add (%2, %3) : i32
#   return (%4)
# }
#
# func @pair(%0: i32) -> (i32, i32) {
#   %1 = call {callee = "scale"} (%0) : i32
#   return (%0, %1)
# }
#
# func @total(%0: i32, %1: i32, %2: i32, %3: i32, %4: i32) -> (i32) {
#   %5 = add (%0, %1) : i32
#   %6 = add (%5, %2) : i32
#   %7 = add (%6, %3) : i32
#   %8 = add (%7, %4) : i32
#   return (%8)
# }
#
# func @power.2(%0: i32) -> (i32) {
#   %1 = const {value = 0} () : i32
#   %2 = mul (%0, %1) : i32
#   %3 = const {value = 1} () : i32
#   %4 = add (%2, %3) : i32
#   return (%4)
# }
#
# func @power.1(%0: i32) -> (i32) {
#   %1 = call {callee = "power.2"} (%0) : i32
#   %2 = mul (%0, %1) : i32
#   return (%2)
# }
#
# func @power(%0: i32) -> (i32) {
#   %1 = call {callee = "power.1"} (%0) : i32
#   %2 = mul (%0, %1) : i32
#   return (%2)
# }
#
# func @apply(%0: i32) -> (i32) {
#   %1 = call {callee = "scale"} (%0) : i32
#   return (%1)
# }
