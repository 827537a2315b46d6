"""4. All-gather matmul.

Everybody's rows times a matrix. A stream copies the others' rows beside the kernel, as a copy engine does, and raises a
word for each rank whose rows are there. The kernel begins with its own rows and waits, block by block, for what it needs:
copies hide behind products.
"""

import numpy as np
import shoal
import shoal.language as sl


@shoal.jit
def matmul_as_they_come(
    mine, gathered, b, c, progress, M, N, K,
    BLOCK_M: sl.constexpr, BLOCK_N: sl.constexpr, BLOCK_K: sl.constexpr,
):  # fmt: skip
    rank = sl.rank()
    world = sl.num_ranks()
    down = sl.cdiv(M, BLOCK_M)
    of_rank = down * sl.cdiv(N, BLOCK_N)
    # As many programs as fit take the blocks one after another: none waits for one that has no place to run.
    for place in range(sl.program_id(0), of_rank * world, sl.num_programs(0)):
        owner = (rank + place // of_rank) % world
        block = place % of_rank
        rows = block % down * BLOCK_M + sl.arange(0, BLOCK_M)
        cols = block // down * BLOCK_N + sl.arange(0, BLOCK_N)
        a = gathered + owner * M * K
        if owner == rank:
            a = mine
        else:
            token = sl.wait(progress + owner, 1, "sys", "acquire", waitValue=1)
            a = sl.consume_token(a, token)
        acc = sl.zeros((BLOCK_M, BLOCK_N), dtype=sl.float32)
        for k in range(0, K, BLOCK_K):
            inner = k + sl.arange(0, BLOCK_K)
            left = sl.load(
                a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0
            )
            right = sl.load(
                b + inner[:, None] * N + cols[None, :], mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0
            )
            acc = sl.dot(left, right, acc, input_precision="ieee")
        at = (owner * M + rows[:, None]) * N + cols[None, :]
        sl.store(c + at, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def main(rank):
    m, n, k, world = 70, 48, 37, rank.num_ranks
    x = rank.symm_zeros((m, k), np.float32)
    x[:] = np.random.default_rng(rank.rank).standard_normal((m, k))
    b = np.random.default_rng(99).standard_normal((k, n)).astype(np.float32)
    gathered = rank.symm_zeros((world, m, k), np.float32)
    progress = rank.symm_zeros(world, np.uint32)
    c = np.full((world * m, n), np.nan, np.float32)

    rank.barrier()  # everybody's rows are there
    stream = rank.stream()
    for step in range(1, world):
        peer = (rank.rank + step) % world
        stream.copy(gathered[peer], rank.peer(x, peer))
        stream.write_value(progress, 1, peer)
    matmul_as_they_come[(2,)](x, gathered, b, c, progress, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    stream.synchronize()
    rank.barrier()  # nobody reads my rows any more

    rows = np.concatenate([np.random.default_rng(r).standard_normal((m, k)).astype(np.float32) for r in range(world)])
    np.testing.assert_allclose(c, rows.astype(np.float64) @ b.astype(np.float64), atol=1e-4)
    if rank.rank == 0:
        print(f"ok: {world * m} rows times a matrix, as they came")


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
