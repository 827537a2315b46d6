# lower: arrays(*fp32, i32)
# lower: loops(*fp32, 5)
# lower: shapes(*fp32, i32)
# lower: extremes(*fp32)
import math

import numpy as np
import triton
import triton.language as tl


@triton.jit
def arrays(x, n):
    v = tl.load(x + tl.arange(0, 16))
    a = np.sum(v)
    b = math.exp(v)
    c = math.tanh(v)
    d = tl.tanh(v)
    e = x[tl.arange(0, 16)]
    offsets = tl.arange(0, 16)
    f = x[offsets]
    x[offsets] = v
    g = x.shape[0]
    h = x.stride(0)
    i = tl.qqqq(v)


@triton.jit
def loops(x, B: tl.constexpr):
    for i in range(0, B / 2):
        tl.store(x + i, 0.0)
    for j in tl.static_range(0, B / 2):
        tl.store(x + j, 0.0)
    total = tl.load(x)
    for k in range(0, total / 2):
        tl.store(x, 1.0)


@triton.jit
def shapes(x, n):
    v = tl.load(x + tl.arange(0, 16))
    w = tl.reshape(v, (8, 8))
    offsets = tl.arange(0, 16)
    m = tl.arange(0, 8) < n
    tl.load(x + offsets, mask=m)
    tl.store(x + offsets, v, mask=m)
    tl.store(x + offsets, tl.arange(0, 8))


@triton.jit
def extremes(x):
    v = tl.load(x + tl.arange(0, 16))
    a = max(v)
    b = min(v)
    c = max(tl.load(x))
    d = sum(v)
    e = max(v, 0.0)
    f = max((1, 2))

# ---
# error: `numpy.sum` belongs to the host program
#   --> triton_way.py:15:12
#    |
# 15 |     a = np.sum(v)
#    |            ^^^ cannot be used in a kernel
#    |
#    = help: in a kernel use `tl.sum`
#
# error: `math.exp` works at compile time only
#   --> triton_way.py:16:18
#    |
# 16 |     b = math.exp(v)
#    |                  ^ this is computed on the device: fp32[16]
#    |
#    = help: use `tl.exp`, which works on scalars and tiles
#
# error: `math.tanh` works at compile time only
#   --> triton_way.py:17:19
#    |
# 17 |     c = math.tanh(v)
#    |                   ^ this is computed on the device: fp32[16]
#    |
#    = help: use `libdevice.tanh`, which works on scalars and tiles
#
# error: `tl` has no `tanh`
#   --> triton_way.py:18:12
#    |
# 18 |     d = tl.tanh(v)
#    |            ^^^^ unknown name
#    |
#    = help: it is in libdevice: `from triton.language.extra import libdevice`, then `libdevice.tanh(...)`
#
# error: a pointer cannot be indexed
#   --> triton_way.py:19:9
#    |
# 19 |     e = x[tl.arange(0, 16)]
#    |         ^^^^^^^^^^^^^^^^^^^ this is an address, not an array
#    |
#    = help: read with `tl.load(pointer + offsets)`, write with `tl.store(pointer + offsets, value)`
#
# error: a pointer cannot be indexed
#   --> triton_way.py:21:9
#    |
# 21 |     f = x[offsets]
#    |         ^^^^^^^^^^ this is an address, not an array
#    |
#    = help: read with `tl.load(x + offsets)`, write with `tl.store(x + offsets, value)`
#
# error: a pointer cannot be indexed
#   --> triton_way.py:22:5
#    |
# 22 |     x[offsets] = v
#    |     ^^^^^^^^^^ this is an address, not an array
#    |
#    = help: read with `tl.load(x + offsets)`, write with `tl.store(x + offsets, value)`
#
# error: a pointer has no dimensions
#   --> triton_way.py:23:9
#    |
# 23 |     g = x.shape[0]
#    |         ^^^^^^^ this is a scalar of type `*fp32`
#    |
#    = help: a kernel gets the address alone: pass sizes and strides as arguments of their own
#
# error: a scalar of type `*fp32` has no attribute `stride`
#   --> triton_way.py:24:11
#    |
# 24 |     h = x.stride(0)
#    |           ^^^^^^ unknown attribute
#    |
#    = help: a kernel gets the address alone: pass sizes and strides as arguments of their own
#
# error: `tl` has no `qqqq`
#   --> triton_way.py:25:12
#    |
# 25 |     i = tl.qqqq(v)
#    |            ^^^^ unknown name
# error: the bounds of a loop must be integers
#   --> triton_way.py:30:14
#    |
# 30 |     for i in range(0, B / 2):
#    |              ^^^^^^^^^^^^^^^ this is `2.5`
#    |
#    = help: `/` gives a float: divide with `//`
#
# error: the end of this range is not an integer
#   --> triton_way.py:32:14
#    |
# 32 |     for j in tl.static_range(0, B / 2):
#    |              ^^^^^^^^^^^^^^^^^^^^^^^^^ the end is `2.5`
#    |
#    = help: `/` gives a float: divide with `//`
#
# error: the bounds of a loop must be integers
#   --> triton_way.py:35:14
#    |
# 35 |     for k in range(0, total / 2):
#    |              ^^^^^^^^^^^^^^^^^^^ this is a scalar of type `fp32`
#    |
#    = help: divide with `//` instead of `/`, or convert to an integer with `.to(tl.int32)`
# error: cannot reshape [16] to [8, 8]
#   --> triton_way.py:42:9
#    |
# 42 |     w = tl.reshape(v, (8, 8))
#    |         ^^^^^^^^^^^^^^^^^^^^^ 16 elements do not fill 64 places
#    |
#    = help: a reshape keeps the number of elements: repeat them with `tl.broadcast_to`, or load only those you need
#
# error: the mask has shape [8], the pointers have [16]
#   --> triton_way.py:45:5
#    |
# 45 |     tl.load(x + offsets, mask=m)
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ dimension 0 is 16 in the pointers and 8 in the mask
#    |
#    = help: compare the offsets that the pointers are made of: `mask = offsets < n`
#
# error: the mask has shape [8], the pointers have [16]
#   --> triton_way.py:46:5
#    |
# 46 |     tl.store(x + offsets, v, mask=m)
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ dimension 0 is 16 in the pointers and 8 in the mask
#    |
#    = help: compare the offsets that the pointers are made of: `mask = offsets < n`
#
# error: the value has shape [8], the pointers have [16]
#   --> triton_way.py:47:5
#    |
# 47 |     tl.store(x + offsets, tl.arange(0, 8))
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ dimension 0 is 16 in the pointers and 8 in the value
#    |
#    = help: make it from the same `tl.arange` as the pointers, or use `tl.broadcast_to`
# error: `max` chooses between two or more values
#   --> triton_way.py:53:13
#    |
# 53 |     a = max(v)
#    |             ^ this is only a tile of type `fp32[16]`
#    |
#    = help: for the max of a tile's elements use `tl.max(v, axis=0)`
#
# error: `min` chooses between two or more values
#   --> triton_way.py:54:13
#    |
# 54 |     b = min(v)
#    |             ^ this is only a tile of type `fp32[16]`
#    |
#    = help: for the min of a tile's elements use `tl.min(v, axis=0)`
#
# error: `max` chooses between two or more values
#   --> triton_way.py:55:13
#    |
# 55 |     c = max(tl.load(x))
#    |             ^^^^^^^^^^ this is only a scalar of type `fp32`
#    |
#    = help: give a second value: `max(a, b)`
#
# error: a tile of type `fp32[16]` cannot be iterated
#   --> triton_way.py:56:13
#    |
# 56 |     d = sum(v)
#    |             ^
#    |
#    = help: its elements are reduced with `tl.sum(v, axis=0)`, `tl.max(v, axis=0)` and the like
