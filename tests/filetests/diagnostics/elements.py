# lower: k(*fp32, i32)
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    a = tl.arange(0, 4)
    b = a[-1]
    c = a[4]
    d = tl.zeros((4, 8), tl.int32)
    e = d[1, 8]
    a[7] = 1
    a[tl.arange(0, 4)] = a
    f = a[1:3]
    g = a[tl.arange(0, 4)]
    t = (1, 2)
    t[0] = 3
    h = a[3] + d[3, 7] + a[n]

# ---
# error: index -1 is out of range: dimension 0 of the tile has 4 elements
#  --> elements.py:9:9
#   |
# 9 |     b = a[-1]
#   |         ^^^^^ the tile is `i32[4]`
#   |
#   = help: indices go from 0 to 3
#
# error: index 4 is out of range: dimension 0 of the tile has 4 elements
#   --> elements.py:10:9
#    |
# 10 |     c = a[4]
#    |         ^^^^ the tile is `i32[4]`
#    |
#    = help: indices go from 0 to 3
#
# error: index 8 is out of range: dimension 1 of the tile has 8 elements
#   --> elements.py:12:9
#    |
# 12 |     e = d[1, 8]
#    |         ^^^^^^^ the tile is `i32[4, 8]`
#    |
#    = help: indices go from 0 to 7
#
# error: index 7 is out of range: dimension 0 of the tile has 4 elements
#   --> elements.py:13:5
#    |
# 13 |     a[7] = 1
#    |     ^^^^^^^^ the tile is `i32[4]`
#    |
#    = help: indices go from 0 to 3
#
# error: elements of this value cannot be assigned
#   --> elements.py:14:5
#    |
# 14 |     a[tl.arange(0, 4)] = a
#    |     ^^^^^^^^^^^^^^^^^^ the value is a tile of type `i32[4]`
#    |
#    = help: an integer for each dimension names one element; for more compute a new tile with `tl.where`
#
# error: tiles cannot be sliced
#   --> elements.py:15:9
#    |
# 15 |     f = a[1:3]
#    |         ^^^^^^
#    |
#    = help: `:` keeps a dimension, `None` adds one; load the part you need, or use `tl.split`, `tl.gather` or a mask
#
# error: a tile cannot be indexed by a tile of type `i32[4]`
#   --> elements.py:16:9
#    |
# 16 |     g = a[tl.arange(0, 4)]
#    |         ^^^^^^^^^^^^^^^^^^
#    |
#    = help: `:` keeps a dimension, `None` adds one, an integer for each dimension takes one element; to pick several use `tl.gather`, `tl.where` or `tl.load`
#
# error: elements of this value cannot be assigned
#   --> elements.py:18:5
#    |
# 18 |     t[0] = 3
#    |     ^^^^ the value is a tuple of 2 elements
#    |
#    = help: make a new one with the changed element
