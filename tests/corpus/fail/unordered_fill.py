"""The host fills its buffer, and nothing makes that come before a peer's first put."""
# expect: race
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def put(x, flag, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.notify(flag, peer, comm_scope="intra_node")
    tl.wait(flag, 1, "sys", "acquire")


@shoal.harness
def first_put(world):
    x = world.symm_empty(32, "fp32")
    flag = world.symm(1, "int64")
    world.fill(x, 0)
    put[(1,)](x, flag, 32, BLOCK=32)

# says: no flag, barrier or launch orders them
