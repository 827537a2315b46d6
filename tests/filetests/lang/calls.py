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
# kernel @calls(%out: ptr<f32>, %n: i32) {
#   %a = call {callee = "scale"} (%n) : i32
#   %b = call {callee = "scale.1"} (%n) : i32
#   %c = call {callee = "scale"} (%n) : i32
#   %d, %e = call {callee = "pair"} (%n) : i32, i32
#   %f = call {callee = "total"} (%a, %b, %c, %d, %e) : i32
#   %g = call {callee = "power"} (%n) : i32
#   %h = call {callee = "apply"} (%n) : i32
#   %0 = add (%f, %g) : i32
#   %1 = add (%0, %h) : i32
#   %2 = cast {round = rtne} (%1) : f32
#   store (%out, %2)
#   return ()
# }
#
# func @scale(%x: i32) -> (i32) {
#   %0 = const {value = 2} () : i32
#   %1 = mul (%x, %0) : i32
#   %2 = const {value = 0} () : i32
#   %3 = add (%1, %2) : i32
#   return (%3)
# }
#
# func @scale.1(%x: i32) -> (i32) {
#   %0 = const {value = 3} () : i32
#   %1 = mul (%x, %0) : i32
#   %2 = const {value = 4} () : i32
#   %3 = add (%1, %2) : i32
#   return (%3)
# }
#
# func @pair(%x: i32) -> (i32, i32) {
#   %0 = call {callee = "scale"} (%x) : i32
#   return (%x, %0)
# }
#
# func @total(%values: i32, %values.1: i32, %values.2: i32, %values.3: i32, %values.4: i32) -> (i32) {
#   %sum = add (%values, %values.1) : i32
#   %sum.1 = add (%sum, %values.2) : i32
#   %sum.2 = add (%sum.1, %values.3) : i32
#   %sum.3 = add (%sum.2, %values.4) : i32
#   return (%sum.3)
# }
#
# func @power.2(%x: i32) -> (i32) {
#   %0 = const {value = 0} () : i32
#   %1 = mul (%x, %0) : i32
#   %2 = const {value = 1} () : i32
#   %3 = add (%1, %2) : i32
#   return (%3)
# }
#
# func @power.1(%x: i32) -> (i32) {
#   %0 = call {callee = "power.2"} (%x) : i32
#   %1 = mul (%x, %0) : i32
#   return (%1)
# }
#
# func @power(%x: i32) -> (i32) {
#   %0 = call {callee = "power.1"} (%x) : i32
#   %1 = mul (%x, %0) : i32
#   return (%1)
# }
#
# func @apply(%x: i32) -> (i32) {
#   %0 = call {callee = "scale"} (%x) : i32
#   return (%0)
# }
