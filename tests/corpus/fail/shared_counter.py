"""Two protocols count in one word, and the second launch meets what the first left there."""
# expect: race deadlock
# ranks: 2
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def first(x, counter, n, BLOCK: tl.constexpr):
    """Puts to the neighbour and counts; waits until the count is one higher than it was for this launch."""
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.notify(counter, peer, sig_op="add", comm_scope="intra_node")
    tl.wait(counter, 1, "sys", "acquire", waitValue=1)
    tl.atomic_add(counter, -1, sem="relaxed", scope="sys")


@shoal.jit
def second(y, counter, n, BLOCK: tl.constexpr):
    """The other way round, with a word that it believes to be its own."""
    peer = (tl.rank() + tl.num_ranks() - 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(y, peer) + at, at, mask=at < n)
    tl.notify(counter, peer, sig_op="add", comm_scope="intra_node")
    tl.wait(counter, 1, "sys", "acquire", waitValue=1)
    tl.store(y + at, tl.load(y + at, mask=at < n) + 1, mask=at < n)
    tl.atomic_add(counter, -1, sem="relaxed", scope="sys")


@shoal.harness
def one_after_the_other(world):
    x = world.symm(8, "int32")
    y = world.symm(8, "int32")
    counters = world.symm(2, "int64")
    other = counters
    for launch in range(world.launches):
        first[(1,)](x, counters, 8, BLOCK=8)
        second[(1,)](y, other, 8, BLOCK=8)
        world.barrier()

# says: it could still be written by rank 1, program (0, 0, 0) in line 30, which waits itself in line 28
