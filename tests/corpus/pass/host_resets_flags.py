"""The host sets flags back between launches, and the hosts meet before the next."""
# expect: clean
# must: race
# ranks: 2
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def push(x, box, flags, n, BLOCK: tl.constexpr):
    rank = tl.rank()
    at = tl.arange(0, BLOCK)
    for peer in range(tl.num_ranks()):
        tl.store(tl.symm_at(box, peer) + rank * n + at, tl.load(x + at, mask=at < n), mask=at < n)
        tl.notify(flags + rank, peer, comm_scope="intra_node")


@shoal.jit
def take(box, out, flags, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    tl.wait(flags + tl.program_id(0), 1, "sys", "acquire")
    tl.store(out + at, tl.load(box + at, mask=mask), mask=mask)


@shoal.harness
def twice(world, n=3):
    x = world.buffer(n, "int32", world.rank)
    box = world.symm_empty(n * world.size, "int32")
    flags = world.symm(world.size, "int64")
    out = world.empty(n * world.size, "int32")
    for launch in range(world.launches):
        push[(1,)](x, box, flags, n, BLOCK=4)
        take[(world.size,)](box, out, flags, n, BLOCK=4)
        world.synchronize()
        world.write(flags, 0)
        world.barrier()
    world.output(out)
