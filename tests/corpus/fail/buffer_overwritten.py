"""The next launch overwrites a buffer that peers may still read: no barrier after the read."""
# expect: race deadlock
# ranks: 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def gather(x, out, flags, epoch, n, BLOCK: tl.constexpr):
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(x + at, rank * 100 + epoch + at, mask=at < n)
    for peer in range(world):
        tl.notify(flags + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(flags, world, "sys", "acquire", waitValue=epoch)
    for peer in range(world):
        tl.store(out + peer * n + at, tl.load(tl.symm_at(x, peer) + at, mask=at < n), mask=at < n)


@shoal.harness
def launches(world):
    x = world.symm(8, "int32")
    out = world.empty(8 * world.size, "int32")
    flags = world.symm(2 * world.size, "int64")
    for epoch in range(1, world.launches + 1):
        gather[(1,)](x, out, flags, epoch, 8, BLOCK=8)
    world.output(out)

# says: let the readers tell that they are done (a barrier, or a flag with release)
