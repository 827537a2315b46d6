"""Collectives made of puts and signals alone, for ranks that loads and stores do not reach: those of other hosts.

Programs of one number meet through words that only grow: word `program * world + source` of a rank's `signals` holds the
last round that `source` has come to. Whoever launches counts the rounds, of which a launch takes up to four, and begins
with one; nothing is cleared between launches. A kernel ends when its own signals have arrived: one that came late would
set a word back that a later launch has set. Each program carries its share of the elements.
"""

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def meet(signals, round):
    """Returns when the programs of this number have come to this round on all ranks. What they put before is there."""
    rank = shmem.my_pe()
    world = shmem.n_pes()
    first = tl.program_id(0) * world
    shmem.quiet()
    for step in range(1, world):
        shmem.signal_op(signals + first + rank, round, shmem.NVSHMEM_SIGNAL_SET, (rank + step) % world)
    for step in range(1, world):
        shmem.signal_wait_until(signals + first + (rank + step) % world, shmem.NVSHMEM_CMP_GE, round)


@shoal.jit
def share(n):
    """Begin and number of this program's elements of `n` in a row."""
    each = tl.cdiv(n, tl.num_programs(0))
    begin = tl.minimum(tl.program_id(0) * each, n)
    return begin, tl.minimum(each, n - begin)


@shoal.jit
def put(target, source, count, peer):
    """Puts elements; they are there after the next meeting, and the source is left alone until then."""
    shmem.putmem_nbi_block(target, source, count * (source.dtype.element_ty.primitive_bitwidth // 8), peer)


@shoal.jit
def add_up(parts, out, count, stride, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """out = the sum of `WORLD` rows, `stride` elements apart, in fp32 and in their order."""
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for source in range(WORLD):
            total += tl.load(parts + source.to(tl.int64) * stride + at, mask=at < count, other=0.0).to(tl.float32)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < count)


@shoal.jit
def all_gather_put(x, out, signals, round, n):
    """Every rank puts its `x` into its place of everybody's `out`, which is symmetric."""
    rank = shmem.my_pe()
    world = shmem.n_pes()
    begin, count = share(n)
    # Nobody writes to what an earlier launch still reads.
    meet(signals, round)
    for step in range(world):
        put(out + rank.to(tl.int64) * n + begin, x + begin, count, (rank + step) % world)
    meet(signals, round + 1)
    shmem.quiet()


@shoal.jit
def all_gather_put_ring(x, out, signals, round, n):
    """Every rank puts to its right neighbour alone, and hands on what came last. `out` is symmetric."""
    rank = shmem.my_pe()
    world = shmem.n_pes()
    right = (rank + 1) % world
    begin, count = share(n)
    size: tl.constexpr = out.dtype.element_ty.primitive_bitwidth // 8
    # One word for each hop, behind those of the programs that meet.
    hops = signals + (tl.num_programs(0) + tl.program_id(0)) * world
    shmem.putmem_block(out + rank.to(tl.int64) * n + begin, x + begin, count * size, rank)
    meet(signals, round)
    for hop in range(world - 1):
        if hop > 0:
            shmem.signal_wait_until(hops + hop - 1, shmem.NVSHMEM_CMP_GE, round)
        place = out + ((rank + world - hop) % world).to(tl.int64) * n + begin
        shmem.putmem_signal_block(
            place, place, count * size, hops + hop, round, shmem.NVSHMEM_SIGNAL_SET, right
        )  # fmt: skip
    if world > 1:
        # All ranks have come to the round then, so no signal of this launch is still under way.
        shmem.signal_wait_until(hops + world - 2, shmem.NVSHMEM_CMP_GE, round)


@shoal.jit
def broadcast_put(x, signals, round, root, n):
    """The root puts its `x`, which is symmetric, into everybody's."""
    rank = shmem.my_pe()
    world = shmem.n_pes()
    begin, count = share(n)
    meet(signals, round)
    if rank == root:
        for step in range(1, world):
            put(x + begin, x + begin, count, (rank + step) % world)
    meet(signals, round + 1)
    shmem.quiet()


@shoal.jit
def reduce_scatter_put(x, inbox, out, signals, round, n, part, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Every rank puts the part of `x` that another adds up into that one's `inbox`, which is symmetric and has `part`
    elements for each rank. The last ranks have fewer elements of the sum, or none."""
    rank = shmem.my_pe()
    begin, count = share(part)
    meet(signals, round)
    for step in range(WORLD):
        owner = (rank + step) % WORLD
        fitting = tl.maximum(tl.minimum(count, n - owner * part - begin), 0)
        put(inbox + rank.to(tl.int64) * part + begin, x + owner.to(tl.int64) * part + begin, fitting, owner)
    meet(signals, round + 1)
    mine = tl.maximum(tl.minimum(count, n - rank * part - begin), 0)
    add_up(inbox + begin, out + begin, mine, part, WORLD, BLOCK)
    shmem.quiet()


@shoal.jit
def all_reduce_put(x, inbox, out, signals, round, n, part, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """The same, and every rank puts its part of the sum into everybody's `out`, which is symmetric."""
    rank = shmem.my_pe()
    begin, count = share(part)
    meet(signals, round)
    for step in range(WORLD):
        owner = (rank + step) % WORLD
        fitting = tl.maximum(tl.minimum(count, n - owner * part - begin), 0)
        put(inbox + rank.to(tl.int64) * part + begin, x + owner.to(tl.int64) * part + begin, fitting, owner)
    meet(signals, round + 1)
    mine = tl.maximum(tl.minimum(count, n - rank * part - begin), 0)
    place = out + rank.to(tl.int64) * part + begin
    add_up(inbox + begin, place, mine, part, WORLD, BLOCK)
    tl.debug_barrier()  # shoal: redundant because a put of the program comes after all that it has stored
    for step in range(1, WORLD):
        put(place, place, mine, (rank + step) % WORLD)
    meet(signals, round + 2)
    shmem.quiet()


@shoal.jit
def all_to_all_put(x, splits, all_splits, out, received, signals, round, dim, room):
    """`splits` says how many rows of `x` are for each rank, which lie in the order of the ranks. `out`, which has `room`
    rows on every rank, and `all_splits`, which has a `world × world` table for each program, are symmetric. Rows for a
    rank go to its `out` in the order of the senders, their numbers to `received`. Rows beyond the `room` are left out:
    whoever launches sees from `received` that there are such."""
    rank = shmem.my_pe()
    world = shmem.n_pes()
    table = all_splits + tl.program_id(0) * world * world
    # Everybody has read the table of an earlier launch when that ends.
    for step in range(world):
        put(table + rank * world, splits, world, (rank + step) % world)
    meet(signals, round)
    sent = tl.full((), 0, tl.int64)
    for to in range(world):
        before = tl.full((), 0, tl.int64)
        for sender in range(rank):
            before += tl.load(table + sender * world + to)
        rows = tl.load(table + rank * world + to)
        fitting = tl.maximum(tl.minimum(rows, room - before), 0)
        begin, count = share(fitting * dim)
        put(out + before * dim + begin, x + sent * dim + begin, count, to)
        sent += rows
    if tl.program_id(0) == 0:
        for sender in range(world):
            tl.store(received + sender, tl.load(table + sender * world + rank))
    meet(signals, round + 1)
    shmem.quiet()
