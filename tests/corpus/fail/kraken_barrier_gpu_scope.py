"""A barrier over signal pads whose signals are sent at `gpu` scope: they order nothing for another GPU."""
# expect: race deadlock
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def pad_of(pads, rank):
    """The pad of a rank, from a table of addresses such as symmetric memory hands out."""
    return tl.load(pads + rank).to(tl.pointer_type(tl.uint32))


@shoal.jit
def barrier(pads, rank, WORLD: tl.constexpr):
    """Programs of one number meet: slot `program * world + source` goes from 0 to 1 and back."""
    block = tl.program_id(0)
    tl.debug_barrier()
    for peer in tl.static_range(WORLD):
        slot = pad_of(pads, peer) + block * WORLD + rank
        while tl.atomic_cas(slot, 0, 1, sem="release", scope="gpu") != 0:
            pass
    for peer in tl.static_range(WORLD):
        slot = pad_of(pads, rank) + block * WORLD + peer
        while tl.atomic_cas(slot, 1, 0, sem="acquire", scope="sys") != 1:
            pass
    tl.debug_barrier()


@shoal.jit
def one_shot(buffers, out, pads, rank, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    barrier(pads, rank, WORLD)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for peer in tl.static_range(WORLD):
        x = tl.load(buffers + peer).to(tl.pointer_type(tl.float32))
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, total, mask=at < n)
    barrier(pads, rank, WORLD)


@shoal.harness
def all_reduce(world, n=6, programs=2, BLOCK=4):
    x = world.symm(n, "fp32", world.rank)
    out = world.empty(n, "fp32")
    pads = world.pointers(world.symm(programs * world.size, "uint32"))
    buffers = world.pointers(x)
    for launch in range(world.launches):
        world.write(x, world.rank + 1)
        one_shot[(programs,)](buffers, out, pads, world.rank, n, WORLD=world.size, BLOCK=BLOCK)
    world.expect(out, world.size * (world.size + 1) // 2)

# says: write the flag at scope `sys` instead of `gpu`
