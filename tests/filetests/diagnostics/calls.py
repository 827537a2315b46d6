# lower: k(*fp32, i32)
import torch
import triton
import triton.language as tl


@triton.jit
def inner(x, SIZE: tl.constexpr):
    return x + tl.arange(0, SIZE)


@triton.jit
def outer(x, SIZE: tl.constexpr):
    return inner(x, SIZE)


def host_function(x):
    return x + 1


@triton.constexpr_function
def must_be_even(n):
    assert n % 2 == 0, "odd"
    return n // 2


@triton.jit
def k(x, n):
    outer(x, 12)
    inner(x)
    inner(x, 16, 17)
    inner(x, SIZ=16)
    tl.load()
    tl.load(x, 1, 2, 3, 4)
    host_function(n)
    torch.empty(3)
    must_be_even(3)
    k[(1,)](x, n)

# ---
# error: the length of `arange` must be a power of two
#   --> calls.py:9:16
#    |
#  9 |     return x + tl.arange(0, SIZE)
#    |                ^^^^^^^^^^^^^^^^^^ this is 12
#    |
#    = help: use 16 and mask the elements past the end
# note: in this call to `inner`
#   --> calls.py:14:12
#    |
# 14 |     return inner(x, SIZE)
#    |            ^^^^^^^^^^^^^^
# note: in this call to `outer`
#   --> calls.py:29:5
#    |
# 29 |     outer(x, 12)
#    |     ^^^^^^^^^^^^
#
# error: a compile-time assertion does not hold
#   --> calls.py:23:12
#    |
# 23 |     assert n % 2 == 0, "odd"
#    |            ^^^^^^^^^^ this is false
#    |
#    = note: odd
# note: in this call to `must_be_even`
#   --> calls.py:37:5
#    |
# 37 |     must_be_even(3)
#    |     ^^^^^^^^^^^^^^^
#
# error: `inner` is missing the argument `SIZE`
#   --> calls.py:30:5
#    |
#  8 | def inner(x, SIZE: tl.constexpr):
#    |     ----- defined here
# ...
# 30 |     inner(x)
#    |     ^^^^^^^^
#
# error: `inner` takes at most 2 positional arguments
#   --> calls.py:31:18
#    |
#  8 | def inner(x, SIZE: tl.constexpr):
#    |     ----- its parameters are: x, SIZE
# ...
# 31 |     inner(x, 16, 17)
#    |                  ^^ one too many
#
# error: `inner` has no parameter `SIZ`
#   --> calls.py:32:14
#    |
#  8 | def inner(x, SIZE: tl.constexpr):
#    |     ----- defined here
# ...
# 32 |     inner(x, SIZ=16)
#    |              ^^^ unknown keyword
#    |
#    = help: did you mean `SIZE`?
#
# error: `load` is missing the argument `pointer`
#   --> calls.py:33:5
#    |
# 33 |     tl.load()
#    |     ^^^^^^^^^
#    |
#    = help: its signature is `load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', eviction_policy='', volatile=False)`
#
# error: `padding_option` of `load` must be a string
#   --> calls.py:34:25
#    |
# 34 |     tl.load(x, 1, 2, 3, 4)
#    |                         ^ this is `4`
#
# error: `host_function` is a host function
#   --> calls.py:35:5
#    |
# 17 | def host_function(x):
#    |     ------------- defined here without `@jit`
# ...
# 35 |     host_function(n)
#    |     ^^^^^^^^^^^^^^^^ called with values that are on the device
#    |
#    = help: decorate `host_function` with `@triton.jit`
#
# error: `torch.empty` belongs to the host program
#   --> calls.py:36:11
#    |
# 36 |     torch.empty(3)
#    |           ^^^^^ cannot be used in a kernel
#    |
#    = help: pass what you need as an argument
#
# error: `k[...]` launches a kernel, which only the host can do
#   --> calls.py:38:5
#    |
# 38 |     k[(1,)](x, n)
#    |     ^^^^^^^
#    |
#    = help: call it as a function: `k(...)`
