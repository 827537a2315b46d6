# lower: k(*fp32, i32, 16)
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOK)
    x = tl.laod(x_ptr + offsets)
    y = arange(0, 4)
    z = n.too(tl.float32)
    w = tl.load(x_ptr, msk=n > 1)
    u = tl.float31
    q = float23
    v = something_else
    tl.store(x_ptr + offsets, x + y)

# ---
# error: `BLOK` is not defined
#  --> unknown_name.py:8:28
#   |
# 8 |     offsets = tl.arange(0, BLOK)
#   |                            ^^^^ unknown name
#   |
#   = help: did you mean `BLOCK`?
#
# error: `tl` has no `laod`
#  --> unknown_name.py:9:12
#   |
# 9 |     x = tl.laod(x_ptr + offsets)
#   |            ^^^^ unknown name
#   |
#   = help: did you mean `load`?
#
# error: `arange` is not defined
#   --> unknown_name.py:10:9
#    |
# 10 |     y = arange(0, 4)
#    |         ^^^^^^ unknown name
#    |
#    = help: did you mean `tl.arange`?
#
# error: a scalar of type `i32` has no attribute `too`
#   --> unknown_name.py:11:11
#    |
# 11 |     z = n.too(tl.float32)
#    |           ^^^ unknown attribute
#
# error: `load` has no parameter `msk`
#   --> unknown_name.py:12:24
#    |
# 12 |     w = tl.load(x_ptr, msk=n > 1)
#    |                        ^^^ unknown keyword
#    |
#    = help: did you mean `mask`?
#
# error: `tl` has no `float31`
#   --> unknown_name.py:13:12
#    |
# 13 |     u = tl.float31
#    |            ^^^^^^^ unknown name
#    |
#    = help: did you mean `float32`?
#
# error: `float23` is not defined
#   --> unknown_name.py:14:9
#    |
# 14 |     q = float23
#    |         ^^^^^^^ unknown name
#
# error: `something_else` is not defined
#   --> unknown_name.py:15:9
#    |
# 15 |     v = something_else
#    |         ^^^^^^^^^^^^^^ unknown name
