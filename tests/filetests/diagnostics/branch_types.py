# lower: k(*fp32, i32)
import triton
import triton.language as tl


@triton.jit
def f(n):
    if n > 0:
        return 1
    return 2.5


@triton.jit
def k(x, n):
    a = 1
    if n > 0:
        a = 2.0
        only = 3
        both = 1
    else:
        both = 1.0
    tl.store(x, only)
    tl.store(x, both)
    c = 1 if n > 0 else 2.0
    r = f(n)

# ---
# error: this function returns different types
#   --> branch_types.py:8:5
#    |
#  8 | /     if n > 0:
#  9 | |         return 1
#    | |________________^ on the two sides of this branch
#    |
#    = note: one side returns a scalar of type `i32`, the other a scalar of type `fp32`
#    = help: convert the values to one type before returning, for example with `.to(...)`
# note: in this call to `f`
#   --> branch_types.py:25:9
#    |
# 25 |     r = f(n)
#    |         ^^^^
#
# error: `a` has different types after this `if`
#   --> branch_types.py:17:9
#    |
# 15 |     a = 1
#    |     - otherwise it is a scalar of type `i32`
# 16 |     if n > 0:
# 17 |         a = 2.0
#    |         ^ here it is a scalar of type `fp32`
#    |
#    = help: convert one of them with `.to(...)`, or use another name
#
# error: `only` has no value here
#   --> branch_types.py:22:17
#    |
# 18 |         only = 3
#    |         ---- it gets a value on one side of an `if` only
# ...
# 22 |     tl.store(x, only)
#    |                 ^^^^ used here
#    |
#    = help: assign it before the `if`, or on both sides
#
# error: `both` has no value here
#   --> branch_types.py:23:17
#    |
# 19 |         both = 1
#    |         ---- on one side of the `if` it is a scalar of type `i32`, on the other a scalar of type `fp32`
# ...
# 23 |     tl.store(x, both)
#    |                 ^^^^ used here
#    |
#    = help: give it the same type on both sides
#
# error: the two values of this conditional have different types
#   --> branch_types.py:24:9
#    |
# 24 |     c = 1 if n > 0 else 2.0
#    |         -^^^^^^^^^^^^^^^---
#    |         |               |
#    |         |               this is a scalar of type `fp32`
#    |         this is a scalar of type `i32`
#    |
#    = help: convert one of them with `.to(...)`
