# lower: k(*fp32)
import triton
import triton.language as tl


@triton.jit
def k(x):
    a = tl.arange(0, 16)
    b = tl.arange(0, 32)
    c = a + b
    d = a[:, None] * b[None, :]
    e = tl.dot(d.to(tl.float16), d.to(tl.float16))
    f = tl.reshape(d, (16, 16))
    g = tl.load(x + a, mask=b < 4)

# ---
# error: shapes [16] and [32] do not match
#   --> shape.py:10:9
#    |
# 10 |     c = a + b
#    |         ^^^^^ dimension 0 is 16 on the left and 32 on the right
#    |
#    = help: dimensions must be equal, or one of them 1
#
# error: shapes [16, 32] and [16, 32] cannot be multiplied
#   --> shape.py:12:9
#    |
# 12 |     e = tl.dot(d.to(tl.float16), d.to(tl.float16))
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 32 columns meet 16 rows
#    |
#    = help: the columns of the first must be the rows of the second; `tl.trans` swaps them
#
# error: cannot reshape [16, 32] to [16, 16]
#   --> shape.py:13:9
#    |
# 13 |     f = tl.reshape(d, (16, 16))
#    |         ^^^^^^^^^^^^^^^^^^^^^^^ 512 elements do not fill 256 places
#    |
#    = help: a reshape keeps the number of elements: repeat them with `tl.broadcast_to`, or load only those you need
#
# error: the mask has shape [32], the pointers have [16]
#   --> shape.py:14:9
#    |
# 14 |     g = tl.load(x + a, mask=b < 4)
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^ dimension 0 is 16 in the pointers and 32 in the mask
#    |
#    = help: compare the offsets that the pointers are made of: `mask = offsets < n`
