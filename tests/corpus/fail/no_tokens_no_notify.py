"""A rank without tokens skips its notify, and the others wait for it."""
# expect: deadlock
# ranks: 3

import shoal
import shoal.language as tl


@shoal.jit
def dispatch(x, flags, tokens, BLOCK: tl.constexpr):
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    for peer in range(world):
        if tokens > 0:
            tl.store(tl.symm_at(x, peer) + rank * BLOCK + at, rank, mask=at < tokens)
            tl.notify(flags + rank, peer, comm_scope="intra_node")
    tl.wait(flags, world, "sys", "acquire")


@shoal.harness
def ragged(world):
    x = world.symm(8 * world.size, "int32")
    flags = world.symm(world.size, "int64")
    dispatch[(1,)](x, flags, 5 if world.rank != 1 else 0, BLOCK=8)

# says: waits for 1 in byte 8 of flags of rank 0, which holds 0; nobody wrote it; nothing that is left could write it
