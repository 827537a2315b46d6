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
    tl.store(x, inner + i)

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
