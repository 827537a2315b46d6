"""5. GEMM + reduce-scatter.

The inner dimension is spread over the ranks: each has a part of the sum that every element is. A rank computes the rows of
another, writes them into that rank's inbox, and counts up its flag; who has heard from all adds up what is in its inbox.
"""

import numpy as np
import shoal
import shoal.language as sl


@shoal.jit
def gemm_reduce_scatter(
    a, b, inbox, arrived, out, M, N, K, part, blocks_so_far,
    BLOCK_M: sl.constexpr, BLOCK_N: sl.constexpr, BLOCK_K: sl.constexpr,
):  # fmt: skip
    """Rows `r * part` and following are rank r's. `inbox` has `part` rows of each sender."""
    rank = sl.rank()
    world = sl.num_ranks()
    across = sl.cdiv(N, BLOCK_N)
    of_rank = sl.cdiv(part, BLOCK_M) * across
    for place in range(sl.program_id(0), of_rank * world, sl.num_programs(0)):
        # The next rank's rows first, its own last.
        owner = (rank + 1 + place // of_rank) % world
        block = place % of_rank
        inside = block // across * BLOCK_M + sl.arange(0, BLOCK_M)
        rows = owner * part + inside
        cols = block % across * BLOCK_N + sl.arange(0, BLOCK_N)
        is_row = (inside[:, None] < part) & (rows[:, None] < M)
        acc = sl.zeros((BLOCK_M, BLOCK_N), dtype=sl.float32)
        for k in range(0, K, BLOCK_K):
            inner = k + sl.arange(0, BLOCK_K)
            left = sl.load(a + rows[:, None] * K + inner[None, :], mask=is_row & (inner[None, :] < K), other=0.0)
            right = sl.load(
                b + inner[:, None] * N + cols[None, :], mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0
            )
            acc = sl.dot(left, right, acc, input_precision="ieee")
        there = sl.symm_at(inbox, owner) + rank * part * N
        sl.store(there + inside[:, None] * N + cols[None, :], acc, mask=is_row & (cols[None, :] < N))
        sl.notify(arrived, owner, signal=1, sig_op="add", comm_scope="intra_node")
    # All blocks of all senders are in the inbox.
    sl.wait(arrived, 1, "sys", "acquire", waitValue=blocks_so_far + of_rank * world)
    for block in range(sl.program_id(0), of_rank, sl.num_programs(0)):
        inside = block // across * BLOCK_M + sl.arange(0, BLOCK_M)
        cols = block % across * BLOCK_N + sl.arange(0, BLOCK_N)
        is_mine = (inside[:, None] < part) & (rank * part + inside[:, None] < M) & (cols[None, :] < N)
        at = inside[:, None] * N + cols[None, :]
        total = sl.zeros((BLOCK_M, BLOCK_N), dtype=sl.float32)
        for sender in range(world):
            total += sl.load(inbox + sender * part * N + at, mask=is_mine, other=0.0)
        sl.store(out + at, total, mask=is_mine)


def main(rank):
    m, n, k, world = 90, 40, 24, rank.num_ranks
    part = shoal.cdiv(m, world)  # the last ranks may have fewer
    a = np.random.default_rng(rank.rank).standard_normal((m, k)).astype(np.float32)
    b = np.random.default_rng(50 + rank.rank).standard_normal((k, n)).astype(np.float32)
    inbox = rank.symm_zeros((world, part, n), np.float32)
    arrived = rank.symm_zeros(1, np.int64)
    rows = slice(rank.rank * part, min((rank.rank + 1) * part, m))
    out = np.full((rows.stop - rows.start, n), np.nan, np.float32)
    gemm_reduce_scatter[(2,)](a, b, inbox, arrived, out, m, n, k, part, 0, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)

    whole = np.zeros((m, n))
    for r in range(world):
        left = np.random.default_rng(r).standard_normal((m, k)).astype(np.float32)
        right = np.random.default_rng(50 + r).standard_normal((k, n)).astype(np.float32)
        whole += left.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(out, whole[rows], atol=1e-4)
    rank.barrier()
    if rank.rank == 0:
        print(f"ok: each of {world} ranks has its part of {m} rows")


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
