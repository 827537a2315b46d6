"""MoE dispatch: every sender puts its rows behind those of the senders before it, whose counts all ranks know."""
# expect: clean
# must: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def dispatch(rows, expert, counts, got, ready, done, n):
    rank = tl.rank()
    world = tl.num_ranks()
    for to in range(world):
        count = 0
        for row in range(n):
            count += (tl.load(expert + row) == to).to(tl.int32)
        for peer in range(world):
            tl.store(tl.symm_at(counts, peer) + rank * world + to, count)
    for peer in range(world):
        tl.notify(ready + rank, peer, comm_scope="intra_node")
    tl.wait(ready, world, "sys", "acquire")
    for to in range(world):
        place = 0
        for source in range(rank):
            place += tl.load(counts + source * world + to)
        for row in range(n):
            if tl.load(expert + row) == to:
                tl.store(tl.symm_at(got, to) + place, tl.load(rows + row))
                place += 1
        tl.notify(done + rank, to, comm_scope="intra_node")
    tl.wait(done, world, "sys", "acquire")


@shoal.harness
def two_rows_for_each(world):
    n = 2 * world.size
    rows = world.buffer(n, "int32", [world.rank * 100 + i for i in range(n)])
    expert = world.buffer(n, "int32", [i // 2 for i in range(n)])
    counts = world.symm_empty(world.size * world.size, "int32")
    got = world.symm_empty(n, "int32")
    dispatch[(1,)](rows, expert, counts, got, world.symm(world.size, "int64"), world.symm(world.size, "int64"), n)
    world.expect(got, [rank * 100 + 2 * world.rank + i for rank in range(world.size) for i in range(2)])
