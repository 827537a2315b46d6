"""Tensor descriptors: made on the host, and made in the kernel."""

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_through(source, target, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    target.store([row, column], source.load([row, column]) * 2)


@triton.jit
def row_sums(in_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    desc = tl.make_tensor_descriptor(in_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for column in range(0, N, BLOCK_N):
        total += tl.sum(desc.load([row, column]), axis=1)
    rows = row + tl.arange(0, BLOCK_M)
    tl.store(out_ptr + rows, total, mask=rows < M)


def allocate(size: int, alignment: int, stream: int | None):
    return np.empty(size, dtype=np.int8)


triton.set_allocator(allocate)
x = np.random.default_rng(0).random((100, 72), dtype=np.float32)
y = np.zeros_like(x)
source = TensorDescriptor(x, shape=[100, 72], strides=[72, 1], block_shape=[16, 32])
target = TensorDescriptor(y, shape=[100, 72], strides=[72, 1], block_shape=[16, 32])
copy_through[(7, 3)](source, target, BLOCK_M=16, BLOCK_N=32)
np.testing.assert_array_equal(y, 2 * x)
sums = np.zeros(100, dtype=np.float32)
row_sums[(triton.cdiv(100, 16),)](x, sums, 100, 72, BLOCK_M=16, BLOCK_N=32)
np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-5)
# Taken back: kernels on a CPU need none.
triton.set_allocator(None)
sums[:] = 0
row_sums[(triton.cdiv(100, 16),)](x, sums, 100, 72, BLOCK_M=16, BLOCK_N=32)
np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-5)
print("ok")
