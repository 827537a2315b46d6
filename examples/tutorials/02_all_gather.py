"""2. All-gather.

Every rank writes its elements to its place in everybody's output. Each has one flag for every sender, so it knows when all
have come. A launch waits for a number of its own, so flags need no clearing and the kernel can be launched again at once.
"""

import numpy as np
import shoal
import shoal.language as sl


@shoal.jit
def all_gather(x, out, entered, arrived, launch, n, BLOCK: sl.constexpr):
    rank = sl.rank()
    world = sl.num_ranks()
    # Nobody writes before all have come: some may still read what the last launch brought.
    for peer in range(world):
        sl.notify(entered + rank, peer, signal=launch, comm_scope="intra_node")
    sl.wait(entered, world, "sys", "acquire", waitValue=launch)
    for step in range(world):
        # Each rank begins with itself, so that not all write to the same one.
        peer = (rank + step) % world
        there = sl.symm_at(out, peer) + rank * n
        for start in range(0, n, BLOCK):
            at = start + sl.arange(0, BLOCK)
            sl.store(there + at, sl.load(x + at, mask=at < n), mask=at < n)
        sl.notify(arrived + rank, peer, signal=launch, comm_scope="intra_node")
    sl.wait(arrived, world, "sys", "acquire", waitValue=launch)


def main(rank):
    n = 1000
    out = rank.symm_zeros(rank.num_ranks * n, np.float32)
    entered = rank.symm_zeros(rank.num_ranks, np.int64)
    arrived = rank.symm_zeros(rank.num_ranks, np.int64)
    for launch in range(1, 4):
        x = np.random.default_rng((rank.rank, launch)).standard_normal(n, np.float32)
        all_gather[(1,)](x, out, entered, arrived, launch, n, BLOCK=256)
        expected = [np.random.default_rng((r, launch)).standard_normal(n, np.float32) for r in range(rank.num_ranks)]
        assert (out == np.concatenate(expected)).all()
    rank.barrier()
    if rank.rank == 0:
        print(f"ok: {rank.num_ranks} ranks have everybody's {n} elements, three times")


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
