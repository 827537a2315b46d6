# lower: k(*fp32, i32, None)
import triton
import triton.language as tl


@triton.jit
def k(x, n, bias):
    acc = 0
    for i in range(n):
        acc += 1.5
    tile = 0.0
    while n > 0:
        tile = tile + tl.load(x + tl.arange(0, 8))
        n -= 1
    for i in range(n):
        bias = tl.load(x + i)
    for i in range(n):
        inner = i
    tl.store(x, inner)
    tl.store(x, i)
    kind = tl.float16
    for i in range(n):
        tl.store(x, n.to(kind))
        kind = tl.float32

# ---
# error: `acc` changes its type in the loop
#   --> loop_carried.py:10:9
#    |
#  8 |     acc = 0
#    |     --- before the loop it is a scalar of type `i32`
#  9 |     for i in range(n):
# 10 |         acc += 1.5
#    |         ^^^ here it becomes a scalar of type `fp32`
#    |
#    = help: begin with a value of type `fp32`, or convert back to `i32` with `.to(...)`
#
# error: `tile` changes its type in the loop
#   --> loop_carried.py:13:9
#    |
# 11 |     tile = 0.0
#    |     ---- before the loop it is a scalar of type `fp32`
# 12 |     while n > 0:
# 13 |         tile = tile + tl.load(x + tl.arange(0, 8))
#    |         ^^^^ here it becomes a tile of type `fp32[8]`
#    |
#    = help: begin with a tile of that shape: `tl.zeros([8], dtype=…)`
#
# error: `bias` is known at compile time before the loop, but not inside
#   --> loop_carried.py:16:9
#    |
#  7 | def k(x, n, bias):
#    |             ---- before the loop it is `None`
# ...
# 16 |         bias = tl.load(x + i)
#    |         ^^^^ here it becomes a scalar of type `fp32`
#    |
#    = help: give it a device value before the loop, for example with `tl.full` or `tl.zeros`
#
# error: `inner` has no value here
#   --> loop_carried.py:19:17
#    |
# 18 |         inner = i
#    |         ----- it is assigned only inside a loop that may not run
# 19 |     tl.store(x, inner)
#    |                 ^^^^^ used here
#    |
#    = help: assign it before the loop
#
# error: `i` has no value here
#   --> loop_carried.py:20:17
#    |
# 17 |     for i in range(n):
#    |         - it is the variable of a loop that has ended
# ...
# 20 |     tl.store(x, i)
#    |                 ^ used here
#    |
#    = help: assign it to another name inside the loop
#
# error: the compile-time value of `kind` changes in the loop
#   --> loop_carried.py:24:9
#    |
# 21 |     kind = tl.float16
#    |     ---- before the loop it is the dtype `fp16`
# ...
# 24 |         kind = tl.float32
#    |         ^^^^ here it becomes the dtype `fp32`
#    |
#    = help: a loop on the device is compiled once: use another name, or `tl.static_range`
