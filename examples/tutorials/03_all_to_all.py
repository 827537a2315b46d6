"""3. All-to-all with ragged splits.

Every rank has rows for every other, any number of them, perhaps none: what experts of a mixture exchange. Each rank finds
out where its rows go, writes them there, and notifies; nothing is padded.
"""

import numpy as np
import shoal
import shoal.language as sl


@shoal.jit
def all_to_all(x, out, splits, starts, flags, launch, dim, BLOCK: sl.constexpr):
    """One program for each receiver. `splits[s, r]` rows go from rank s to rank r, and begin at row `starts[s, r]`."""
    rank = sl.rank()
    world = sl.num_ranks()
    receiver = sl.program_id(0)
    first = 0
    for other in range(receiver):
        first += sl.load(splits + rank * world + other)
    count = sl.load(splits + rank * world + receiver) * dim
    source = x + first * dim
    there = sl.symm_at(out, receiver) + sl.load(starts + rank * world + receiver) * dim
    for start in range(0, count, BLOCK):
        at = start + sl.arange(0, BLOCK)
        sl.store(there + at, sl.load(source + at, mask=at < count), mask=at < count)
    # Also where nothing was sent: the receiver waits for everybody.
    sl.notify(flags + rank, receiver, signal=launch, comm_scope="intra_node")
    if receiver == rank:
        sl.wait(flags, world, "sys", "acquire", waitValue=launch)


def rows_of(sender, splits, dim):
    return np.random.default_rng(sender).standard_normal((int(splits[sender].sum()), dim)).astype(np.float32)


def main(rank):
    world, dim = rank.num_ranks, 33
    mine = np.random.default_rng(100 + rank.rank).integers(0, 9, world).astype(np.int32)
    mine[(rank.rank + 1) % world] = 0
    # How many rows go from whom to whom is exchanged first; in each receiver's memory senders follow each other.
    splits = np.array(rank.all_gather(mine.tolist()), dtype=np.int32)
    starts = np.concatenate([np.zeros((1, world), np.int32), np.cumsum(splits, axis=0)[:-1]]).astype(np.int32)
    out = rank.symm_zeros((int(splits.sum(axis=0).max()), dim), np.float32)
    flags = rank.symm_zeros(world, np.int64)
    all_to_all[(world,)](rows_of(rank.rank, splits, dim), out, splits, starts, flags, 1, dim, BLOCK=128)

    expected = []
    for sender in range(world):
        first = int(splits[sender, : rank.rank].sum())
        expected.append(rows_of(sender, splits, dim)[first : first + int(splits[sender, rank.rank])])
    expected = np.concatenate(expected)
    assert (out[: len(expected)] == expected).all()
    rank.barrier()
    if rank.rank == 0:
        print(f"ok: {int(splits.sum())} rows found their ranks")


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
