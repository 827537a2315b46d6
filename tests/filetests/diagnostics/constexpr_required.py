# lower: k(*fp32, i32)
# lower: j(*fp32, i32)
import triton
import triton.language as tl

BLOCK = 128
GOOD = tl.constexpr(128)


@triton.jit
def k(x, n):
    i = tl.arange(0, n)
    z = tl.zeros((n,), tl.float32)
    m = 16
    j = tl.arange(0, m)
    c: tl.constexpr = n + 1
    d: tl.constexpr = 4
    d: tl.constexpr = 5
    t = (1, 2)[n]
    s = f"{n}"
    tl.static_assert(n > 4)
    i = tl.arange(0, BLOCK)
    tl.static_assert(GOOD == 64, "needs 64")
    never_looked_at()


@triton.jit
def j(x, N: tl.constexpr):
    pass

# ---
# error: `end` of `arange` must be known at compile time
#   --> constexpr_required.py:12:22
#    |
# 12 |     i = tl.arange(0, n)
#    |                      ^ this is computed on the device: i32
#    |
#    = help: make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`
#
# error: `shape` of `full` must be known at compile time
#   --> constexpr_required.py:13:9
#    |
# 13 |     z = tl.zeros((n,), tl.float32)
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^ this is computed on the device: (i32)
#    |
#    = note: found inside the library function `zeros`
#    = help: make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`
#
# error: `end` of `arange` must be known at compile time
#   --> constexpr_required.py:15:22
#    |
# 15 |     j = tl.arange(0, m)
#    |                      ^ this is computed on the device: i32
#    |
#    = help: make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`
#
# error: the `constexpr` `d` is already defined
#   --> constexpr_required.py:18:5
#    |
# 17 |     d: tl.constexpr = 4
#    |     - first assigned here
# 18 |     d: tl.constexpr = 5
#    |     ^ assigned again here
#    |
#    = help: use another name: a `constexpr` cannot change
#
# error: the index of a tuple must be known at compile time
#   --> constexpr_required.py:19:9
#    |
# 19 |     t = (1, 2)[n]
#    |         ^^^^^^^^^ the index is a scalar of type `i32`
#    |
#    = help: use `tl.static_range` so that the index is a `constexpr`
#
# error: an f-string in a kernel shows compile-time values only
#   --> constexpr_required.py:20:12
#    |
# 20 |     s = f"{n}"
#    |            ^ this is a scalar of type `i32`
#    |
#    = help: print device values with `tl.device_print("text", value)`
#
# error: `static_assert` needs a condition that is known at compile time
#   --> constexpr_required.py:21:5
#    |
# 21 |     tl.static_assert(n > 4)
#    |     ^^^^^^^^^^^^^^^^^^^^^^^ this is `i1`, computed on the device
#    |
#    = help: use `tl.device_assert`, or make what it depends on `tl.constexpr`
#
# error: the global `BLOCK` is not a `constexpr`
#   --> constexpr_required.py:22:22
#    |
#  6 | BLOCK = 128
#    | ----- defined here
# ...
# 22 |     i = tl.arange(0, BLOCK)
#    |                      ^^^^^ kernels see only globals that cannot change
#    |
#    = help: write `BLOCK = tl.constexpr(...)`, or pass it as a parameter `BLOCK: tl.constexpr`
#
# error: compile-time assertion failed
#   --> constexpr_required.py:23:5
#    |
# 23 |     tl.static_assert(GOOD == 64, "needs 64")
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs 64
# kernel @j(%x: ptr<f32>) {
#   return ()
# }
