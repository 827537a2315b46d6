"""1. Notify and wait.

Every rank writes a few numbers into its right neighbour's memory and raises a flag there; the neighbour waits for its
flag, then uses the numbers. This is what every kernel of several ranks is made of.

    python 01_notify_and_wait.py                            # four ranks, as threads
    shoal launch -n 4 -- python 01_notify_and_wait.py       # four ranks, as processes
    shoal check 01_notify_and_wait.py                       # looks for races and deadlocks on 2, 3 and 4 ranks
"""

import numpy as np
import shoal
import shoal.language as sl


@shoal.jit
def pass_on(inbox, flag, n, BLOCK: sl.constexpr):
    rank = sl.rank()
    right = (rank + 1) % sl.num_ranks()
    at = sl.arange(0, BLOCK)
    # `symm_at` is the same place in another rank's memory: arrays of `symm_zeros` lie at one offset on all ranks.
    sl.store(sl.symm_at(inbox, right) + at, rank * 100 + at, mask=at < n)
    # All that this program did before is seen by whoever waits for the flag.
    sl.notify(flag, right, signal=1, sig_op="set", comm_scope="intra_node")
    token = sl.wait(flag, 1, "sys", "acquire", waitValue=1)
    # Nothing that uses this `inbox` is moved before the wait.
    inbox = sl.consume_token(inbox, token)
    sl.store(inbox + at, sl.load(inbox + at, mask=at < n) + 1, mask=at < n)


def main(rank):
    inbox = rank.symm_zeros(5, np.int32)
    flag = rank.symm_zeros(1, np.int64)
    pass_on[(1,)](inbox, flag, 5, BLOCK=8)
    left = (rank.rank - 1) % rank.num_ranks
    assert inbox.tolist() == [left * 100 + i + 1 for i in range(5)], inbox
    rank.barrier()
    if rank.rank == 0:
        print(f"ok: {rank.num_ranks} ranks passed their numbers on")


@shoal.harness
def check(world):
    """What `shoal check` does on each rank: it reads this function, and tries many orders of events."""
    inbox = world.symm(5, "int32")
    flag = world.symm(1, "int64")
    pass_on[(1,)](inbox, flag, 5, BLOCK=8)
    left = (world.rank - 1) % world.size
    world.expect(inbox, [left * 100 + i + 1 for i in range(5)])


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
