"""Collectives: rings, trees, pushes and pulls."""
# expect: clean
# ranks: 2 4
# schedules: 60

import shoal
import shoal.language as tl


@shoal.jit
def ring_all_gather(out, flags, n, BLOCK: tl.constexpr):
    """Each rank passes on what it got in the step before."""
    rank = tl.rank()
    world = tl.num_ranks()
    peer = (rank + 1) % world
    at = tl.arange(0, BLOCK)
    tl.store(out + rank * n + at, rank * 10 + at, mask=at < n)
    for step in range(world - 1):
        piece = (rank + world - step) % world
        value = tl.load(out + piece * n + at, mask=at < n)
        tl.store(tl.symm_at(out, peer) + piece * n + at, value, mask=at < n)
        tl.notify(flags + step, peer, comm_scope="intra_node")
        tl.wait(flags + step, 1, "sys", "acquire")


@shoal.harness
def ring_gather(world):
    out = world.symm_empty(5 * world.size, "int32")
    ring_all_gather[(1,)](out, world.symm(world.size, "int64"), 5, BLOCK=8)
    world.output(out)


@shoal.jit
def tree_broadcast(x, flag, n, BLOCK: tl.constexpr):
    """Rank r gets from (r - 1) // 2 and gives to 2r + 1 and 2r + 2."""
    rank = tl.rank()
    at = tl.arange(0, BLOCK)
    if rank > 0:
        tl.wait(flag, 1, "sys", "acquire")
    value = tl.load(x + at, mask=at < n)
    for child in range(2 * rank + 1, min(2 * rank + 3, tl.num_ranks())):
        tl.store(tl.symm_at(x, child) + at, value, mask=at < n)
        tl.notify(flag, child, comm_scope="intra_node")


@shoal.harness
def tree(world):
    x = world.symm(8, "int32", "arange")
    tree_broadcast[(1,)](x, world.symm(1, "int64"), 8, BLOCK=8)


@shoal.jit
def push_all_to_all(x, out, flags, n, BLOCK: tl.constexpr):
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    for step in range(world):
        peer = (rank + step) % world
        value = tl.load(x + peer * n + at, mask=at < n)
        tl.store(tl.symm_at(out, peer) + rank * n + at, value, mask=at < n)
        tl.notify(flags + rank, peer, comm_scope="intra_node")
    tl.wait(flags, world, "sys", "acquire")


@shoal.harness
def all_to_all(world):
    out = world.symm_empty(4 * world.size, "fp32")
    x = world.buffer(4 * world.size, "fp32", "random")
    push_all_to_all[(1,)](x, out, world.symm(world.size, "int64"), 4, BLOCK=4)
    world.output(out)


@shoal.jit
def one_shot(x, out, flags, epoch, n, BLOCK: tl.constexpr):
    rank = tl.rank()
    world = tl.num_ranks()
    ready = flags + tl.program_id(0) * world
    done = ready + tl.num_programs(0) * world
    for peer in range(world):
        tl.notify(ready + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(ready, world, "sys", "acquire", waitValue=epoch)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for peer in range(world):
        total += tl.load(tl.symm_at(x, peer) + at, mask=at < n, other=0.0)
    tl.store(out + at, total, mask=at < n)
    for peer in range(world):
        tl.notify(done + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(done, world, "sys", "acquire", waitValue=epoch)


@shoal.harness
def one_shot_all_reduce(world, programs=2):
    x = world.symm(30, "fp32", "random")
    out = world.empty(30, "fp32")
    flags = world.symm(2 * programs * world.size, "int64")
    world.barrier()
    for epoch in range(1, world.launches + 1):
        world.fill(x, epoch)
        one_shot[(programs,)](x, out, flags, epoch, 30, BLOCK=16)
    world.output(out)


@shoal.jit
def reduce_scatter_counter(x, out, counter, n, BLOCK: tl.constexpr):
    """Ranks add into their peers' sums atomically, and count."""
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    for step in range(world):
        peer = (rank + step) % world
        value = tl.load(x + peer * n + at, mask=at < n)
        tl.atomic_add(tl.symm_at(out, peer) + at, value, mask=at < n, sem="relaxed", scope="sys")
        tl.notify(counter, peer, sig_op="add", comm_scope="intra_node")
    tl.wait(counter, 1, "sys", "acquire", waitValue=world)
    tl.store(out + at, tl.load(out + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def reduce_scatter_by_atomics(world):
    x = world.buffer(4 * world.size, "fp32", "random")
    reduce_scatter_counter[(1,)](x, world.symm(4, "fp32"), world.symm(1, "int64"), 4, BLOCK=4)


@shoal.jit
def producer(x, flags, n, BLOCK: tl.constexpr):
    """One program per tile: data, then its flag on the neighbour."""
    tile = tl.program_id(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tile * BLOCK + tl.arange(0, BLOCK)
    tl.store(tl.symm_at(x, peer) + at, at + tl.rank())
    tl.notify(flags + tile, peer, comm_scope="intra_node")


@shoal.jit
def consumer(x, out, flags, BLOCK: tl.constexpr):
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    at = tile * BLOCK + tl.arange(0, BLOCK)
    token = tl.wait(flags + tile, 1, "sys", "acquire")
    tl.store(out + at, tl.load(tl.consume_token(x, token) + at))


@shoal.harness
def tiles_behind_flags(world):
    x = world.symm_empty(16, "int32")
    out = world.empty(16, "int32")
    flags = world.symm(4, "int64")
    producer[(4,)](x, flags, 16, BLOCK=4)
    consumer[(4,)](x, out, flags, BLOCK=4)
    world.output(out)


@shoal.jit
def through_table(table, out, pad, n, BLOCK: tl.constexpr):
    """Peers' buffers by a table of addresses, as in symmetric-memory libraries."""
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    mine = tl.load(table + rank).to(tl.pointer_type(tl.float32))
    tl.store(mine + at, at + rank, mask=at < n)
    for peer in range(world):
        tl.atomic_xchg(tl.symm_at(pad, peer) + rank, 1, sem="release", scope="sys")
    for peer in range(world):
        while tl.atomic_add(pad + peer, 0, sem="acquire", scope="sys") != 1:
            pass
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for peer in range(world):
        total += tl.load(tl.load(table + peer).to(tl.pointer_type(tl.float32)) + at, mask=at < n, other=0.0)
    tl.store(out + at, total, mask=at < n)


@shoal.harness
def table_of_buffers(world):
    x = world.symm_empty(8, "fp32")
    out = world.empty(8, "fp32")
    through_table[(1,)](world.pointers(x), out, world.symm(world.size, "int32"), 8, BLOCK=8)
    world.output(out)
