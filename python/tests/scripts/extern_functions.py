"""Functions of libdevice, by all the names they are imported by."""

import inspect
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import tanh


@triton.jit
def functions(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = libdevice.asin(x) + tanh(x) + tl.extra.libdevice.pow(x, 2.0) + tl.extra.cuda.libdevice.log1p(x)
    y += tl.math.exp2(x) + libdevice.rsqrt(x + 1.0)
    tl.store(y_ptr + offsets, y, mask=mask)


x = np.random.default_rng(0).random(1000, dtype=np.float32)
y = np.empty_like(x)
expected = np.arcsin(x) + np.tanh(x) + x**2 + np.log1p(x) + np.exp2(x) + 1 / np.sqrt(x + 1)
# Where Triton keeps NVIDIA's file.
files = {"libdevice": str(Path(inspect.getfile(triton)).parent / "backends/nvidia/lib/libdevice.10.bc")}
for options in ({}, {"extern_libs": files}):
    y[:] = 0
    functions[(triton.cdiv(x.size, 256),)](x, y, x.size, BLOCK_SIZE=256, **options)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
print("ok")
