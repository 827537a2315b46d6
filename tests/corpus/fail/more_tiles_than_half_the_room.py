"""Programs of one number on all ranks meet, and there are more of them than run at once, in any order."""
# expect: deadlock
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
    meet[(tiles,)](x, out, world.symm(tiles * world.size, "int64"), tiles)
    world.output(out)

# says: which has not started
# says: launch at most 16 programs per rank
# says: needs 21 co-resident programs per rank, there is room for 16
