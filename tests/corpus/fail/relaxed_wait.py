"""A signal is awaited without acquire."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def ring(x, flag, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at, mask=at < n)
    tl.notify(flag, peer, comm_scope="intra_node")
    token = tl.wait(flag, 1, "sys", "relaxed")
    x = tl.consume_token(x, token)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def once(world):
    x = world.symm(32, "fp32")
    flag = world.symm(1, "int64")
    ring[(1,)](x, flag, 32, BLOCK=32)

# says: the read acquires nothing
# says: `acquire` instead of `relaxed`
