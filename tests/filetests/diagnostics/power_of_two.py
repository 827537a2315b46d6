# lower: k(*fp32, 100)
import triton
import triton.language as tl


@triton.jit
def k(x, N: tl.constexpr):
    i = tl.arange(0, N)
    z = tl.zeros((N, 4), tl.float32)
    big = tl.zeros((2048, 2048), tl.float32)
    tl.store(x + i, 0.0)

# ---
# error: the length of `arange` must be a power of two
#  --> power_of_two.py:8:9
#   |
# 8 |     i = tl.arange(0, N)
#   |         ^^^^^^^^^^^^^^^ this is 100
#   |
#   = help: use 128 and mask the elements past the end
#
# error: dimension 0 of the shape must be a power of two
#  --> power_of_two.py:9:9
#   |
# 9 |     z = tl.zeros((N, 4), tl.float32)
#   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is 100
#   |
#   = note: found inside the library function `zeros`
#   = help: use 128 and mask the elements past the end
#
# error: a tile of 4194304 elements is too large
#   --> power_of_two.py:10:11
#    |
# 10 |     big = tl.zeros((2048, 2048), tl.float32)
#    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shape [2048, 2048]
#    |
#    = note: found inside the library function `zeros`
#    = help: a tile has at most 1048576 elements: loop over smaller tiles
