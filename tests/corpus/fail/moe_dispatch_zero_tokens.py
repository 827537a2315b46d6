"""A dispatch tells how many tokens come, and a rank with none for somebody tells 0, which is what waits see anyway."""
# expect: deadlock
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def dispatch(tokens, inbox, counts, splits, received, room, dim, BLOCK: tl.constexpr):
    """Tokens for each rank's experts, then how many there are. The word of a sender is 0 until it has told."""
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    first = tl.full((), 0, tl.int64)
    for peer in range(world):
        count = tl.load(splits + peer)
        place = tl.symm_at(inbox, peer) + rank * room * dim
        for row in range(count):
            tl.store(place + row * dim + at, tl.load(tokens + (first + row) * dim + at, mask=at < dim), mask=at < dim)
        first += count
        tl.notify(counts + rank, peer, signal=count, comm_scope="intra_node")
    for source in range(world):
        count = tl.atomic_add(counts + source, 0, sem="acquire", scope="sys")
        while count == 0:
            count = tl.atomic_add(counts + source, 0, sem="acquire", scope="sys")
        for row in range(count):
            tl.load(inbox + (source * room + row) * dim + at, mask=at < dim)
        tl.store(received + source, count)


@shoal.harness
def ragged_dispatch(world, most=2, case=2, dim=3, BLOCK=4):
    splits = world.ragged(most, case)
    tokens = world.buffer((most * world.size, dim), "fp32", "random")
    inbox = world.symm_empty((world.size, most, dim), "fp32")
    counts = world.symm(world.size, "int64")
    received = world.empty(world.size, "int64")
    dispatch[(1,)](tokens, inbox, counts, world.buffer(world.size, "int64", splits), received, most, dim, BLOCK=BLOCK)
    world.expect(received, splits[world.rank])

# says: repeats a loop that only a change of memory could end: byte 0 of counts of rank 0 holds 0
