"""A copy of a peer's stream is announced by a word that nobody waits for."""
# expect: race
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def consume(inbox, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(inbox + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def push(world):
    x = world.symm(16, "int32", "arange")
    inbox = world.symm(16, "int32")
    flag = world.symm(1, "int32")
    out = world.empty(16, "int32")
    side = world.stream()
    peer = (world.rank + 1) % world.size
    side.copy(world.at(inbox, peer), x)
    side.write_value(world.at(flag, peer), 1)
    consume[(1,)](inbox, out, 16, BLOCK=16)
    world.synchronize()
    world.output(out)

# says: no flag, barrier or launch orders them
