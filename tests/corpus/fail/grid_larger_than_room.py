"""Every tile of a product waits for its peers' tiles, in an order that the room for programs does not allow."""
# expect: deadlock
# ranks: 2
# resident: 2
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def product_reduce_scatter(a, partial, out, flags, K: tl.constexpr, TILE: tl.constexpr):
    """Each program computes a tile for every rank, and reduces one tile of its own rank, when all peers have theirs."""
    rank = tl.rank()
    world = tl.num_ranks()
    tile = tl.program_id(0)
    tiles = tl.num_programs(0)
    at = tl.arange(0, TILE)
    value = tl.zeros((TILE,), dtype=tl.float32)
    for k in range(K):
        value += tl.load(a + (tile * K + k) * TILE + at)
    for peer in range(world):
        tl.store(tl.symm_at(partial, peer) + (rank * tiles + tile) * TILE + at, value)
        tl.notify(flags + rank * tiles + tile, peer, comm_scope="intra_node")
    mine = tiles - 1 - tile
    total = tl.zeros((TILE,), dtype=tl.float32)
    for peer in range(world):
        tl.wait(flags + peer * tiles + mine, 1, "sys", "acquire")
        total += tl.load(partial + (peer * tiles + mine) * TILE + at)
    tl.store(out + mine * TILE + at, total)


@shoal.harness
def gemm_rs(world, tiles=4, K=2, TILE=4):
    a = world.buffer((tiles, K, TILE), "fp32", "random")
    partial = world.symm_empty((world.size, tiles, TILE), "fp32")
    out = world.empty((tiles, TILE), "fp32")
    flags = world.symm(world.size * tiles, "int64")
    product_reduce_scatter[(tiles,)](a, partial, out, flags, K=K, TILE=TILE)
    world.output(out)

# says: waits for 1 in byte
# says: nobody wrote it; it could still be written by rank
# says: which has not started
# says: launch at most 2 programs per rank
# says: needs 3 co-resident programs per rank, there is room for 2
