"""Longer protocols: slots that are given back, barriers with a sense, tickets, stealing, sequence locks."""
# expect: clean
# ranks: 2 3
# schedules: 30

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem
from triton_dist.language.extra.language_extra import __syncthreads, fence, tid


@shoal.jit
def ring_of_two_slots(x, out, slots, full, free, n, epoch, BLOCK: tl.constexpr):
    """All-gather round a ring; a slot is written again when its reader has counted it free. The counts only grow."""
    rank = tl.rank()
    world = tl.num_ranks()
    right = (rank + 1) % world
    left = (rank + world - 1) % world
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + rank * n + at, value, mask=at < n)
    for step in range(world - 1):
        number = (epoch - 1) * (world - 1) + step
        slot = number % 2
        while tl.atomic_add(free + slot, 0, sem="acquire", scope="sys") < number // 2:
            pass
        tl.store(tl.symm_at(slots, right) + slot * n + at, value, mask=at < n)
        tl.atomic_xchg(tl.symm_at(full, right) + slot, number // 2 + 1, sem="release", scope="sys")
        while tl.atomic_add(full + slot, 0, sem="acquire", scope="sys") < number // 2 + 1:
            pass
        value = tl.load(slots + slot * n + at, mask=at < n)
        tl.atomic_add(tl.symm_at(free, left) + slot, 1, sem="release", scope="sys")
        tl.store(out + ((rank + world - 1 - step) % world) * n + at, value, mask=at < n)


@shoal.harness
def slots_that_are_given_back(world, n=3):
    x = world.buffer(n, "int32", [world.rank * 10 + i for i in range(n)])
    out = world.empty(n * world.size, "int32")
    slots = world.symm_empty(2 * n, "int32")
    full = world.symm(2, "int32")
    free = world.symm(2, "int32")
    for epoch in range(1, world.launches + 1):
        ring_of_two_slots[(1,)](x, out, slots, full, free, n, epoch, BLOCK=4)
    world.expect(out, [rank * 10 + i for rank in range(world.size) for i in range(n)])


@shoal.jit
def barrier_with_sense(count, sense, mine):
    """The last to come sets the count back, then turns the sense that the others wait for."""
    count = tl.symm_at(count, 0)
    sense = tl.symm_at(sense, 0)
    if tl.atomic_add(count, 1, sem="acq_rel", scope="sys") == tl.num_ranks() - 1:
        tl.atomic_xchg(count, 0, sem="relaxed", scope="sys")
        tl.atomic_xchg(sense, mine, sem="release", scope="sys")
    else:
        while tl.atomic_add(sense, 0, sem="acquire", scope="sys") != mine:
            pass


@shoal.jit
def phases(x, out, count, sense, rounds):
    for round in range(rounds):
        tl.store(x, tl.rank() + round)
        barrier_with_sense(count, sense, 1)
        total = 0
        for peer in range(tl.num_ranks()):
            total += tl.load(tl.symm_at(x, peer))
        tl.store(out + round, total)
        barrier_with_sense(count, sense, 0)


@shoal.harness
def barriers_with_a_sense(world, rounds=2):
    out = world.empty(rounds, "int32")
    phases[(1,)](world.symm_empty(1, "int32"), out, world.symm(1, "int32"), world.symm(1, "int32"), rounds)
    world.expect(out, [sum([peer + round for peer in range(world.size)]) for round in range(rounds)])


@shoal.jit
def product_by_tickets(a, b, part, out, ticket, count, tiles, M: tl.constexpr):
    """Programs take tiles; parts go to the tile's owner, and who counts last adds them up there."""
    rank = tl.rank()
    world = tl.num_ranks()
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    tile = tl.atomic_add(ticket, 1, sem="relaxed", scope="gpu")
    while tile < tiles * world:
        owner = tile % world
        mine = tile // world
        parts = tl.symm_at(part, owner) + mine * world * M * M
        tl.store(parts + rank * M * M + at, tl.dot(tl.load(a + tile * M * M + at), tl.load(b + at)))
        counted = tl.symm_at(count, owner) + mine
        if tl.atomic_add(counted, 1, sem="acq_rel", scope="sys") == world - 1:
            total = tl.zeros((M, M), tl.float32)
            for source in range(world):
                total += tl.load(parts + source * M * M + at)
            tl.store(tl.symm_at(out, owner) + mine * M * M + at, total)
            tl.atomic_xchg(counted, 0, sem="relaxed", scope="sys")
        tile = tl.atomic_add(ticket, 1, sem="relaxed", scope="gpu")


@shoal.harness
def persistent_product_and_reduce_scatter(world, tiles=1, M=4):
    a = world.buffer((tiles * world.size, M, M), "fp32", 1)
    part = world.symm_empty(tiles * world.size * M * M, "fp32")
    out = world.symm_empty(tiles * M * M, "fp32")
    ticket = world.buffer(1, "int32")
    count = world.symm(tiles, "int32")
    for launch in range(world.launches):
        world.write(ticket, 0)
        product_by_tickets[(2,)](a, world.buffer((M, M), "fp32", 1), part, out, ticket, count, tiles, M=M)
        world.barrier()
    world.expect(out, M * world.size)


@shoal.jit
def steal(queue, head, done, out, total):
    """Items are taken from one's own queue first, then from those of others; each is counted where it came from."""
    rank = tl.rank()
    world = tl.num_ranks()
    for step in range(world):
        victim = (rank + step) % world
        item = tl.atomic_add(tl.symm_at(head, victim), 1, sem="relaxed", scope="sys")
        while item < total:
            tl.store(tl.symm_at(out, victim) + item, tl.load(tl.symm_at(queue, victim) + item) + 1)
            tl.atomic_add(tl.symm_at(done, victim), 1, sem="release", scope="sys")
            item = tl.atomic_add(tl.symm_at(head, victim), 1, sem="relaxed", scope="sys")
    while tl.atomic_add(done, 0, sem="acquire", scope="sys") < total:
        pass
    for item in range(total):
        tl.store(queue + item, tl.load(out + item))


@shoal.harness
def work_that_is_stolen(world, total=3):
    queue = world.symm(total, "int32", "arange")
    world.barrier()
    out = world.symm_empty(total, "int32")
    steal[(1,)](queue, world.symm(1, "int32"), world.symm(1, "int32"), out, total)
    world.expect(queue, [i + 1 for i in range(total)])


@shoal.jit
def sequence_lock(number, data, out):
    """Readers look again if the number was odd or has changed; what it guards is accessed by relaxed atomics."""
    if tl.rank() == 0:
        for value in range(1, 3):
            for peer in range(1, tl.num_ranks()):
                there = tl.symm_at(data, peer)
                tl.atomic_add(tl.symm_at(number, peer), 1, sem="relaxed", scope="sys")
                fence("acq_rel", "sys")
                tl.atomic_xchg(there, value, sem="relaxed", scope="sys")
                tl.atomic_xchg(there + 1, value, sem="relaxed", scope="sys")
                tl.atomic_add(tl.symm_at(number, peer), 1, sem="release", scope="sys")
    else:
        a = 0
        b = 0
        before = 1
        after = 0
        while (before % 2 == 1) | (before != after):
            before = tl.atomic_add(number, 0, sem="acquire", scope="sys")
            a = tl.atomic_add(data, 0, sem="relaxed", scope="sys")
            b = tl.atomic_add(data + 1, 0, sem="relaxed", scope="sys")
            fence("acq_rel", "sys")
            after = tl.atomic_add(number, 0, sem="relaxed", scope="sys")
        tl.device_assert(a == b, "two values of different times")
        tl.store(out, a)


@shoal.harness
def readers_of_a_sequence_lock(world):
    sequence_lock[(1,)](world.symm(1, "int32"), world.symm(2, "int32"), world.buffer(1, "int32"))


@shoal.jit
def raise_slot(there):
    tl.inline_asm_elementwise(
        """{
            .reg .u32 %old; .reg .pred %p;
            send: atom.global.release.sys.cas.b32 %old, [$1], 0, 1;
            setp.ne.u32 %p, %old, 0;
            @%p bra send;
            mov.u32 $0, %old;
        }""",
        "=r,l",
        [there],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@shoal.jit
def lower_slot(mine):
    """Volatile accesses are relaxed ones; the fence behind them acquires."""
    tl.inline_asm_elementwise(
        """{
            .reg .pred %p;
            wait: ld.volatile.global.u32 $0, [$1];
            setp.ne.u32 %p, $0, 1;
            @%p bra wait;
            st.volatile.global.u32 [$1], 0;
            fence.acq_rel.sys;
        }""",
        "=r,l",
        [mine],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@shoal.jit
def meet_by_ptx(pad):
    __syncthreads()
    lane = tid(0)
    if lane < tl.num_ranks():
        raise_slot(tl.symm_at(pad, lane) + tl.rank())
        lower_slot(pad + lane)
    __syncthreads()


@shoal.jit
def reduce_in_place(x, pad, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    meet_by_ptx(pad)
    total = tl.zeros((BLOCK,), tl.int32)
    for peer in range(tl.num_ranks()):
        total += tl.load(tl.symm_at(x, peer) + at, mask=at < n, other=0)
    meet_by_ptx(pad)
    tl.store(x + at, total, mask=at < n)


@shoal.harness
def pad_of_inline_ptx(world, n=4):
    x = world.symm(n, "int32", world.rank + 1)
    reduce_in_place[(1,)](x, world.symm(world.size, "int32"), n, BLOCK=4)
    world.expect(x, sum([rank + 1 for rank in range(world.size)]))


@shoal.jit
def put_to_member(x, out, team, n, BLOCK: tl.constexpr):
    """A put to the next member of a team, between two barriers of the team alone."""
    at = tl.arange(0, BLOCK)
    next = (shmem.team_my_pe(team) + 1) % shmem.team_n_pes(team)
    shmem.putmem_nbi_block(x + n, x, n * 4, shmem.team_translate_pe(team, next, shmem.NVSHMEM_TEAM_WORLD))
    shmem.barrier_block(team)
    tl.store(out + at, tl.load(x + n + at, mask=at < n), mask=at < n)
    shmem.barrier_block(team)


@shoal.harness
def puts_within_teams(world, n=3):
    members = [rank for rank in range(world.size) if rank % 2 == world.rank % 2]
    team = world.team(members)
    x = world.symm(2 * n, "int32", world.rank)
    out = world.empty(n, "int32")
    for launch in range(world.launches):
        put_to_member[(1,)](x, out, team, n, BLOCK=4)
    world.expect(out, members[(world.rank // 2 + len(members) - 1) % len(members)])


@shoal.jit
def push_rows(x, gathered, flags, n, epoch, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    rank = tl.rank()
    for step in range(tl.num_ranks()):
        peer = (rank + step) % tl.num_ranks()
        tl.store(tl.symm_at(gathered, peer) + rank * n + at, tl.load(x + at, mask=at < n), mask=at < n)
        tl.notify(flags + rank, peer, signal=epoch, comm_scope="intra_node")


@shoal.jit
def use_rows(gathered, out, flags, n, epoch, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.wait(flags + tile, 1, "sys", "acquire", waitValue=epoch)
    tl.store(out + tile * n + at, tl.load(gathered + tile * n + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def rows_pushed_by_another_stream(world, n=3):
    x = world.buffer(n, "int32", world.rank)
    gathered = world.symm_empty(n * world.size, "int32")
    flags = world.symm(world.size, "int64")
    out = world.empty(n * world.size, "int32")
    side = world.stream()
    for epoch in range(1, world.launches + 1):
        push_rows[(1,)](x, gathered, flags, n, epoch, BLOCK=4, stream=side)
        use_rows[(world.size,)](gathered, out, flags, n, epoch, BLOCK=4)
        world.synchronize()
        world.barrier()
    world.expect(out, [2 * rank for rank in range(world.size) for i in range(n)])
