"""Many matrix products of different sizes in one launch: c[g] = a[g] @ b[g].

The matrices of a group lie row by row in one buffer each; `table` has a row (M, N, K, start of a, of b, of c) for each
product. A fixed number of programs walks over the blocks of all products, so small products leave no core idle."""

import shoal
import shoal.language as tl


@shoal.jit
def grouped_gemm(
    a, b, c, table, groups,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0).to(tl.int64)
    done = tile * 0
    for group in range(groups):
        M = tl.load(table + group * 6)
        N = tl.load(table + group * 6 + 1)
        K = tl.load(table + group * 6 + 2)
        a_start = a + tl.load(table + group * 6 + 3)
        b_start = b + tl.load(table + group * 6 + 4)
        c_start = c + tl.load(table + group * 6 + 5)
        blocks_n = tl.cdiv(N, BLOCK_N)
        blocks = tl.cdiv(M, BLOCK_M) * blocks_n
        while tile < done + blocks:
            place = tile - done
            rows = place // blocks_n * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = place % blocks_n * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                inner = k + tl.arange(0, BLOCK_K)
                left = tl.load(
                    a_start + rows[:, None] * K + inner[None, :],
                    mask=(rows[:, None] < M) & (inner[None, :] < K),
                    other=0.0,
                )
                right = tl.load(
                    b_start + inner[:, None] * N + cols[None, :],
                    mask=(inner[:, None] < K) & (cols[None, :] < N),
                    other=0.0,
                )
                acc = tl.dot(left, right, acc, input_precision="ieee")
            tl.store(
                c_start + rows[:, None] * N + cols[None, :],
                acc.to(c.dtype.element_ty),
                mask=(rows[:, None] < M) & (cols[None, :] < N),
            )
            tile += tl.num_programs(0)
        done += blocks
