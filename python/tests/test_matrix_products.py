"""Matrix products whose factors are read in place, packed once, or copied because a tile is not whole."""

import numpy as np
import pytest

import shoal
import shoal.language as tl


@shoal.jit
def masked_matmul(
    a, b, c, M, N, K, a_row, b_row, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr
):
    """As in Triton's tutorial: rows and columns modulo the size, masks along k."""
    columns_of_blocks = tl.cdiv(N, BN)
    block_m = tl.program_id(0) // columns_of_blocks
    block_n = tl.program_id(0) % columns_of_blocks
    rows = (block_m * BM + tl.arange(0, BM)) % M
    cols = (block_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * a_row + inner[None, :]
    b_at = b + inner[:, None] * b_row + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(a_at, mask=inner[None, :] < K - k * BK, other=0)
        right = tl.load(b_at, mask=inner[:, None] < K - k * BK, other=0)
        acc = tl.dot(left, right, acc, input_precision="ieee", out_dtype=ACC)
        a_at += BK
        b_at += BK * b_row
    out_rows = block_m * BM + tl.arange(0, BM)
    out_cols = block_n * BN + tl.arange(0, BN)
    inside = (out_rows[:, None] < M) & (out_cols[None, :] < N)
    tl.store(c + out_rows[:, None] * N + out_cols[None, :], acc, mask=inside)


@shoal.jit
def plain_matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    """Whole blocks only; programs walk down a column of blocks, so that b stays the same."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + k + inner[None, :])
        right = tl.load(b + (k + inner[:, None]) * N + cols[None, :])
        acc = tl.dot(left, right, acc, input_precision="ieee", out_dtype=ACC)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@shoal.jit
def storing_matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each round overwrites the block of a it has read: later products must not see that."""
    rows, cols, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        at = a + rows[:, None] * K + k + inner[None, :]
        left = tl.load(at)
        right = tl.load(b + (k + inner[:, None]) * BN + cols[None, :])
        acc = tl.dot(left, right, acc, input_precision="ieee")
        tl.store(at, tl.zeros((BM, BK), dtype=a.dtype.element_ty))
    tl.store(c + rows[:, None] * BN + cols[None, :], acc)


KINDS = {
    "float32": (np.float32, np.float32, tl.float32),
    "float16": (np.float16, np.float32, tl.float32),
    "int8": (np.int8, np.int32, tl.int32),
}


def matrix(rng, kind, *shape):
    dtype = KINDS[kind][0]
    if dtype is np.int8:
        return rng.integers(-100, 100, shape, dtype=dtype)
    return rng.standard_normal(shape).astype(dtype)


def check(kind, got, a, b):
    want = a.astype(np.float64) @ b.astype(np.float64)
    tolerance = 0 if kind == "int8" else 1e-5 * np.sqrt(a.shape[1]) * 8
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=0, atol=tolerance)


def poisoned(kind, m, n):
    out = KINDS[kind][1]
    return np.full((m, n), -77 if out is np.int32 else np.nan, out)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "size", [(64, 64, 64), (64, 96, 640), (65, 130, 70), (1, 3, 5), (200, 100, 33), (128, 64, 2080)]
)
def test_tiles_that_are_whole_and_tiles_that_are_not(kind, size):
    (m, n, k), rng = size, np.random.default_rng(1)
    # Rows further apart than they are long.
    a, b = matrix(rng, kind, m, k + 24)[:, :k], matrix(rng, kind, k, n + 8)[:, :n]
    c = poisoned(kind, m, n)
    grid = (shoal.cdiv(m, 64) * shoal.cdiv(n, 64),)
    masked_matmul[grid](a, b, c, m, n, k, k + 24, n + 8, BM=64, BN=64, BK=32, ACC=KINDS[kind][2])
    check(kind, c, a, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(256, 64, 32), (256, 128, 1024), (128, 128, 4128)])
def test_what_is_packed_is_not_left_over_from_another_launch(kind, size):
    (m, n, k), rng = size, np.random.default_rng(2)
    a, b = matrix(rng, kind, m, k), matrix(rng, kind, k, n)
    for _ in range(3):
        c = poisoned(kind, m, n)
        plain_matmul[(m // 64, n // 64)](a, b, c, n, k, BM=64, BN=64, BK=32, ACC=KINDS[kind][2])
        check(kind, c, a, b)
        # The same memory with other numbers.
        b[...] = matrix(rng, kind, k, n)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_factors_that_change_in_the_loop_are_read_in_time(kind):
    rng = np.random.default_rng(3)
    a, b = matrix(rng, kind, 64, 512), matrix(rng, kind, 512, 64)
    before, c = a.copy(), poisoned(kind, 64, 64)
    storing_matmul[(1,)](a, b, c, 512, BM=64, BN=64, BK=32)
    check(kind, c, before, b)
    assert not a.any()


@pytest.mark.torch
@pytest.mark.parametrize("size", [(64, 96, 640), (65, 130, 70), (200, 100, 33), (128, 256, 4128)])
def test_bfloat16(size):
    torch = pytest.importorskip("torch")
    m, n, k = size
    torch.manual_seed(0)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()
    for _ in range(2):
        c = torch.full((m, n), float("nan"))
        grid = (shoal.cdiv(m, 64) * shoal.cdiv(n, 64),)
        masked_matmul[grid](a, b, c, m, n, k, k, n, BM=64, BN=64, BK=32, ACC=tl.float32)
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-3)
        b.copy_(torch.randn(k, n))


@pytest.mark.torch
def test_bfloat16_that_changes_in_the_loop():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    a, b = torch.randn(64, 512).bfloat16(), torch.randn(512, 64).bfloat16()
    want, c = a.double() @ b.double(), torch.full((64, 64), float("nan"))
    storing_matmul[(1,)](a, b, c, 512, BM=64, BN=64, BK=32)
    torch.testing.assert_close(c.double(), want, rtol=1e-4, atol=1e-3)


@shoal.jit
def row_sums(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=3.0)
        total = tl.where(at < cols, total + value, total)
    tl.store(out + row, tl.sum(total, axis=0))


@pytest.mark.parametrize("cols", [1, 100, 256, 1000, 4096])
def test_sums_of_a_loop(cols):
    x = np.random.default_rng(4).standard_normal((5, cols)).astype(np.float32)
    out = np.full(5, np.nan, np.float32)
    row_sums[(5,)](x, out, cols, BLOCK=256)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-4)
