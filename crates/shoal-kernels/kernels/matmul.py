"""c = a @ b for matrices of any size and strides. Programs walk the blocks of c in groups of rows, so that the blocks
of b that one program reads are still in the cache when the next one needs them."""

import shoal
import shoal.language as tl


@shoal.jit
def block_of(program, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """The block (row, column) of c that a program computes: down GROUP_M rows, then on to the next column."""
    block_rows = tl.cdiv(M, BLOCK_M)
    in_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_row = program // in_group * GROUP_M
    # The last group may have fewer rows.
    height = min(block_rows - first_row, GROUP_M)
    place = program % in_group
    return first_row + place % height, place // height


@shoal.jit
def matmul(
    a, b, c, M, N, K,
    a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN: tl.constexpr = False,
):  # fmt: skip
    """EVEN promises that each of M, N and K is a multiple of its block: nothing needs a mask."""
    block_m, block_n = block_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_at = a + rows[:, None] * a_row + inner[None, :] * a_col
    b_at = b + inner[:, None] * b_row + cols[None, :] * b_col
    sums: tl.constexpr = tl.int32 if a.dtype.element_ty.is_int() else tl.float32
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=sums)
    for k in range(0, K, BLOCK_K):
        if EVEN:
            left = tl.load(a_at)
            right = tl.load(b_at)
        else:
            left = tl.load(a_at, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0)
            right = tl.load(b_at, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0)
        acc = tl.dot(left, right, acc, input_precision="ieee", out_dtype=sums)
        a_at += BLOCK_K * a_col
        b_at += BLOCK_K * b_row
    c_at = c + rows[:, None] * c_row + cols[None, :] * c_col
    if EVEN:
        tl.store(c_at, acc.to(c.dtype.element_ty))
    else:
        tl.store(c_at, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
