"""The GPU computes what the interpreter does: a kernel for each part of the language, random data, poisoned outputs."""

import numpy as np
import pytest

import shoal
import shoal.language as tl

RNG = np.random.default_rng(7)


@shoal.jit
def elementwise(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = at < n
    a, b = tl.load(x + at, mask=m, other=0.5), tl.load(y + at, mask=m, other=0.5)
    value = tl.where(a > b, tl.exp(a * 0.1) - tl.sqrt(b * b + 1.0), tl.maximum(a, -b) / (tl.abs(b) + 1.0))
    tl.store(out + at, value + tl.cos(a) * tl.sin(b) + tl.log(tl.abs(a) + 1.0), mask=m)


@shoal.jit
def rows(x, y, out, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + r * BLOCK + at)
    z = v - tl.max(v, axis=0)
    e = tl.exp(z)
    tl.store(out + r * BLOCK + at, e / tl.sum(e, axis=0))


@shoal.jit
def two_dimensional(x, y, out, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK), tl.arange(0, 32)
    t = tl.load(x + i[:, None] * 32 + j[None, :])
    u = tl.trans(t) + tl.sum(t, axis=1)[None, :] - tl.max(t, axis=0)[:, None]
    tl.store(out + j[:, None] * BLOCK + i[None, :], u)


@shoal.jit
def scanned(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.cumsum(v, axis=0))
    tl.store(out + BLOCK + at, tl.associative_scan(v, 0, _larger))


@shoal.jit
def _larger(a, b):
    return tl.maximum(a, b)


@shoal.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1), tl.load(y + at, mask=at < n, other=1)
    d = tl.where(b == 0, 1, b)
    v = (a // d) * 3 + a % d + (a << 2) - (b >> 1) + (a & b) - (a | b) + (a ^ b) + tl.minimum(a, b)
    tl.store(out + at, v, mask=at < n)


@shoal.jit
def product(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * BLOCK + i[None, :])
    b = tl.load(y + i[:, None] * BLOCK + i[None, :])
    tl.store(out + i[:, None] * BLOCK + i[None, :], tl.dot(a, b, out_dtype=tl.float32))


@shoal.jit
def summed_atomically(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + (at % 17), tl.load(x + at, mask=at < n, other=0), mask=at < n)
    tl.atomic_max(out + 32 + (at % 5), tl.load(y + at, mask=at < n, other=0), mask=at < n)


@shoal.jit
def looped(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + at, mask=start + at < n, other=0.0)
        if start % (2 * BLOCK) == 0:
            total = total * 0.5
    i = 0
    while i < 5:
        total += i
        i += 1
    tl.store(out + at, total)


@shoal.jit
def sorted_tile(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.sort(v))
    tl.store(out + BLOCK + at, tl.flip(v, 0))


@shoal.jit
def gathered(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.gather(v, (at * 7 + 3) % BLOCK, 0))


@shoal.jit
def reduced_with_index(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out, tl.argmax(v, axis=0).to(tl.float32))
    tl.store(out + 1, tl.argmin(v, axis=0).to(tl.float32))
    tl.store(out + 2, tl.min(v, axis=0))


@shoal.jit
def random_numbers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(42, at), mask=at < n)


@shoal.jit
def histogrammed(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, 64), tl.histogram(tl.load(x + at) & 63, 64))


@shoal.jit
def converted(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    small = v.to(tl.float8e4nv).to(tl.float32) + v.to(tl.bfloat16).to(tl.float32) + v.to(tl.float16).to(tl.float32)
    tl.store(out + at, small + v.to(tl.int32).to(tl.float32), mask=at < n)


FLOATS = [
    (elementwise, 1024, 3000, 3, 1e-5),
    (elementwise, 128, 1000, 8, 1e-5),
    (rows, 1024, 1024, 4, 1e-5),
    (rows, 64, 64, 4, 1e-5),
    (two_dimensional, 64, 64, 1, 1e-4),
    (scanned, 512, 512, 1, 1e-4),
    (product, 64, 64, 1, 1e-4),
    (product, 16, 16, 1, 1e-4),
    (looped, 256, 3000, 1, 1e-4),
    (sorted_tile, 256, 256, 1, 0),
    (gathered, 256, 256, 1, 0),
    (reduced_with_index, 512, 512, 1, 0),
    (random_numbers, 256, 1000, 4, 0),
    (converted, 512, 1000, 2, 0),
]
INTEGERS = [(integers, 256, 1000, 4), (summed_atomically, 256, 1000, 4), (histogrammed, 512, 512, 1)]


def both(kernel, x, y, size, grid, n, block, **options):
    """What the interpreter computes, and what the GPU does."""
    results = []
    for device in ("interp", "cuda"):
        out = np.full(size, -77, x.dtype) if kernel is not summed_atomically else np.zeros(size, x.dtype)
        with shoal.device(device):
            kernel[(grid,)](x.copy(), y.copy(), out, n, BLOCK=block, default_dot_input_precision="ieee", **options)
        results.append(out)
    return results


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("kernel,block,n,grid,tolerance", FLOATS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_floats(kernel, block, n, grid, tolerance, warps):
    x, y = ((RNG.standard_normal(1 << 14) * 3).astype(np.float32) for _ in range(2))
    expected, found = both(kernel, x, y, 1 << 14, grid, n, block, num_warps=warps)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kernel,block,n,grid", INTEGERS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_integers(kernel, block, n, grid, dtype):
    if kernel is histogrammed and dtype == "int64":
        pytest.skip("histograms count 32-bit integers")
    x, y = (RNG.integers(-1000, 1000, 1 << 12).astype(dtype) for _ in range(2))
    expected, found = both(kernel, x, y, 1 << 12, grid, n, block)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("block", [16, 32, 64, 128])
@pytest.mark.parametrize("warps", [4, 8])
def test_products(dtype, block, warps):
    x, y = (RNG.standard_normal(block * block).astype(dtype) for _ in range(2))
    out = np.full(block * block, np.nan, np.float32)
    with shoal.device("cuda"):
        product[(1,)](x, y, out, 0, BLOCK=block, num_warps=warps, default_dot_input_precision="ieee")
    exact = x.reshape(block, block).astype(np.float64) @ y.reshape(block, block).astype(np.float64)
    np.testing.assert_allclose(out.reshape(block, block), exact, rtol=1e-4, atol=1e-4)
