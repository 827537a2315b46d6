# lower: k(*fp32, i32, fp32)
import triton
import triton.language as tl


@triton.jit
def k(x, n, f):
    a = x * 2
    b = f & n
    c = tl.load(n)
    d = x[0]
    e = tl.exp(n)
    if tl.arange(0, 4) > n:
        pass
    for i in range(f):
        pass
    n()
    g = n.value.foo

# ---
# error: this operation does not work on pointers: `*fp32` and the integer `2`
#  --> wrong_type.py:8:9
#   |
# 8 |     a = x * 2
#   |         ^^^^^
#   |
#   = help: pointers take `ptr + offset` and `ptr - offset`; compare addresses as `ptr.to(tl.int64)`
#
# error: `&` works on integers, not on `fp32` and `i32`
#  --> wrong_type.py:9:9
#   |
# 9 |     b = f & n
#   |         ^^^^^
#   |
#   = help: to combine conditions, put each comparison in parentheses: `(a < b) & (c < d)`
#
# error: `load` takes a pointer, not `i32`
#   --> wrong_type.py:10:9
#    |
# 10 |     c = tl.load(n)
#    |         ^^^^^^^^^^
#    |
#    = help: add the offset to a pointer argument: `ptr + offsets`
#
# error: a pointer cannot be indexed
#   --> wrong_type.py:11:9
#    |
# 11 |     d = x[0]
#    |         ^^^^ this is an address, not an array
#    |
#    = help: read with `tl.load(x + 0)`, write with `tl.store(x + 0, value)`
#
# error: `exp` takes `fp32` or `fp64`, not `i32`
#   --> wrong_type.py:12:9
#    |
# 12 |     e = tl.exp(n)
#    |         ^^^^^^^^^
#    |
#    = help: cast the argument with `.to(tl.float32)`
#
# error: the condition of `if` is a tile of 4 elements
#   --> wrong_type.py:13:8
#    |
# 13 |     if tl.arange(0, 4) > n:
#    |        ^^^^^^^^^^^^^^^^^^^ a tile of type `i1[4]`
#    |
#    = help: choose element by element with `tl.where`, or reduce the tile to a scalar with `tl.max` or `tl.sum`
#
# error: the bounds of a loop must be integers
#   --> wrong_type.py:15:14
#    |
# 15 |     for i in range(f):
#    |              ^^^^^^^^ this is a scalar of type `fp32`
#    |
#    = help: divide with `//` instead of `/`, or convert to an integer with `.to(tl.int32)`
#
# error: a scalar of type `i32` cannot be called
#   --> wrong_type.py:17:5
#    |
# 17 |     n()
#    |     ^^^
#
# error: a scalar of type `i32` has no attribute `value`
#   --> wrong_type.py:18:11
#    |
# 18 |     g = n.value.foo
#    |           ^^^^^ unknown attribute
