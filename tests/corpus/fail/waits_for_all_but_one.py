"""A wait over the words of all ranks but the last."""
# expect: race unwritten-read
# must: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def gather(x, all, flags, out, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for peer in range(WORLD):
        tl.store(tl.symm_at(all, peer) + tl.rank() * n + at, tl.load(x + at, mask=at < n), mask=at < n)
        tl.notify(flags + tl.rank(), peer, comm_scope="intra_node")
    token = tl.wait(flags, WORLD - 1, "sys", "acquire")
    all = tl.consume_token(all, token)
    for peer in range(WORLD):
        tl.store(out + peer * n + at, tl.load(all + peer * n + at, mask=at < n), mask=at < n)


@shoal.harness
def once(world, n=4):
    out = world.empty(n * world.size, "int32")
    x = world.buffer(n, "int32", world.rank)
    all = world.symm_empty(n * world.size, "int32")
    flags = world.symm(world.size, "int64")
    gather[(1,)](x, all, flags, out, n, WORLD=world.size, BLOCK=4)
    world.output(out)

# says: of `all of rank
