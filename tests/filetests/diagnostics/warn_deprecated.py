# lower: k(*i32, i32)
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    i = tl.arange(0, 8)
    m = (i > 2) and (i < n)
    tl.static_print("block is", i.shape, i.dtype)
    if tl.zeros((1,), tl.int32) == n:
        tl.store(x + i, i, m)

# ---
# warning: `and` between tiles is deprecated
#  --> warn_deprecated.py:9:9
#   |
# 9 |     m = (i > 2) and (i < n)
#   |         ^^^^^^^^^^^^^^^^^^^
#   |
#   = help: use `&`
#
# note: block is (8,) int32
#   --> warn_deprecated.py:10:5
#    |
# 10 |     tl.static_print("block is", i.shape, i.dtype)
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# warning: the condition of `if` is a tile of one element
#   --> warn_deprecated.py:11:8
#    |
# 11 |     if tl.zeros((1,), tl.int32) == n:
#    |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#    |
#    = help: use `.item()`
