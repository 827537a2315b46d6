"""Programs of one number on all ranks meet, and as many as there are run at once."""
# expect: clean
# ranks: 2
# resident: 16
# launches: 1
# schedules: 40

import shoal
import shoal.language as tl


@shoal.jit
def meet(x, out, flags, tiles):
    rank = tl.rank()
    world = tl.num_ranks()
    tile = tl.program_id(0)
    while tile < tiles:
        one(x, out, flags, tile, rank, world)
        tile += tl.num_programs(0)


@shoal.jit
def one(x, out, flags, tile, rank, world):
    for peer in range(world):
        tl.store(tl.symm_at(x, peer) + tile * world + rank, rank + tile)
        tl.notify(flags + tile * world + rank, peer, comm_scope="intra_node")
    tl.wait(flags + tile * world, world, "sys", "acquire")
    total = 0
    for peer in range(world):
        total += tl.load(x + tile * world + peer)
    tl.store(out + tile, total)


@shoal.harness
def forty_tiles(world, tiles=40):
    x = world.symm_empty(tiles * world.size, "int32")
    out = world.empty(tiles, "int32")
    meet[(16,)](x, out, world.symm(tiles * world.size, "int64"), tiles)
    world.output(out)
