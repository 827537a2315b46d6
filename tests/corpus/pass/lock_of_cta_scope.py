"""A lock of `gpu` scope between programs of one rank."""
# expect: clean
# ranks: 1
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def locked(lock, count):
    while tl.atomic_cas(lock, 0, 1, sem="acquire", scope="gpu") != 0:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.atomic_xchg(lock, 0, sem="release", scope="gpu")


@shoal.harness
def three(world):
    count = world.buffer(1, "int32")
    locked[(3,)](world.buffer(1, "int32"), count)
    world.expect(count, 3)
