import triton
import triton.language as tl

COUNT = tl.constexpr(16)
BY = tl.constexpr(3)


@triton.jit
def offset():
    return COUNT * 2


@triton.jit
def scaled(v):
    return v * BY
