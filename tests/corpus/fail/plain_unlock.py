"""Split-K: programs add their part to a tile under a lock, which a plain store opens."""
# expect: race
# ranks: 1
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def split_k(a, c, locks, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    part = tl.load(a + (tile * tl.num_programs(1) + tl.program_id(1)) * BLOCK + at)
    while tl.atomic_cas(locks + tile, 0, 1, sem="acquire", scope="gpu") != 0:
        pass
    tl.store(c + tile * BLOCK + at, tl.load(c + tile * BLOCK + at) + part)
    tl.debug_barrier()
    tl.store(locks + tile, 0)


@shoal.harness
def two_tiles(world):
    c = world.buffer(8, "int32")
    split_k[(2, 2)](world.buffer(16, "int32", 1), c, world.buffer(2, "int32"), BLOCK=4)
    world.expect(c, 2)

# says: only one of them is atomic
# says: make the plain store atomic
# says: put a barrier between them, or a flag: release after the write
