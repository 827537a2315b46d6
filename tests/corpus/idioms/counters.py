"""Counters, tickets, locks."""
# expect: clean
# ranks: 1 2

import shoal
import shoal.language as tl


@shoal.jit
def ticket(x, counter, out):
    """The last of the grid to arrive, by a counter, reads what all the others wrote."""
    pid = tl.program_id(0)
    n = tl.num_programs(0)
    tl.store(x + pid, pid + 1)
    order = tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu")
    if order == n - 1:
        total = 0
        for i in range(n):
            total += tl.load(x + i)
        tl.store(out, total)


@shoal.harness
def last_one_reduces(world, n=4):
    out = world.empty(1, "int32")
    ticket[(n,)](world.empty(n, "int32"), world.buffer(1, "int32"), out)
    world.output(out)


@shoal.jit
def counted(x, counter):
    """Release by relaxed increments in between: a chain of read-modify-writes carries it."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(x, 5)
        tl.atomic_add(counter, 1, sem="release", scope="gpu")
    elif pid == 1:
        tl.atomic_add(counter, 2, sem="relaxed", scope="gpu")
    else:
        while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") != 3:
            pass
        tl.store(x, tl.load(x) + 1)


@shoal.harness
def release_through_a_chain(world):
    counted[(3,)](world.buffer(1, "int32"), world.buffer(1, "int32"))


@shoal.jit
def locked(lock, count):
    while tl.atomic_cas(lock, 0, 1, sem="acquire", scope="gpu") != 0:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.atomic_xchg(lock, 0, sem="release", scope="gpu")


@shoal.harness
def spin_lock(world):
    locked[(4,)](world.buffer(1, "int32"), world.buffer(1, "int32"))


@shoal.jit
def ticket_lock(tickets, count):
    mine = tl.atomic_add(tickets, 1, sem="relaxed", scope="gpu")
    while tl.atomic_add(tickets + 1, 0, sem="acquire", scope="gpu") != mine:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.atomic_add(tickets + 1, 1, sem="release", scope="gpu")


@shoal.harness
def ticket_lock_in_order(world):
    ticket_lock[(4,)](world.buffer(2, "int32"), world.buffer(1, "int32"))


@shoal.jit
def locked_everywhere(lock, count):
    """A lock in the heap of rank 0 that all ranks take."""
    lock = tl.symm_at(lock, 0)
    count = tl.symm_at(count, 0)
    while tl.atomic_cas(lock, 0, 1, sem="acquire", scope="sys") != 0:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.atomic_xchg(lock, 0, sem="release", scope="sys")


@shoal.harness
def lock_between_ranks(world):
    locked_everywhere[(2,)](world.symm(1, "int32"), world.symm(1, "int32"))


@shoal.jit
def work_queue(next, out, n):
    """Programs take tiles from a counter; nobody takes one twice."""
    tile = tl.atomic_add(next, 1, sem="relaxed", scope="gpu")
    while tile < n:
        tl.store(out + tile, tile)
        tile = tl.atomic_add(next, 1, sem="relaxed", scope="gpu")


@shoal.harness
def dynamic_tiles(world):
    out = world.empty(7, "int32")
    work_queue[(3,)](world.buffer(1, "int32"), out, 7)
    world.output(out)


@shoal.jit
def grid_barrier(x, out, counter):
    """A barrier of the grid: all arrive at a counter and spin on it."""
    pid = tl.program_id(0)
    n = tl.num_programs(0)
    tl.store(x + pid, pid * 3)
    tl.atomic_add(counter, 1, sem="release", scope="gpu")
    while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < n:
        pass
    tl.store(out + pid, tl.load(x + (pid + 1) % n))


@shoal.harness
def barrier_of_the_grid(world, n=3):
    out = world.empty(n, "int32")
    grid_barrier[(n,)](world.empty(n, "int32"), out, world.buffer(1, "int32"))
    world.output(out)


@shoal.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_add(bins + tl.load(x + at, mask=mask, other=0) % 4, 1, mask=mask, sem="relaxed", scope="gpu")


@shoal.harness
def relaxed_histogram(world):
    x = world.buffer(30, "int32", "arange")
    histogram[(2,)](x, world.buffer(4, "int32"), 30, BLOCK=16)


@shoal.jit
def stream_k(partial, locks, out, BLOCK: tl.constexpr):
    """The first program adds what the others leave for it, one after the other."""
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    if pid > 0:
        tl.store(partial + pid * BLOCK + at, at * pid)
        tl.atomic_xchg(locks + pid, 1, sem="release", scope="gpu")
    else:
        total = at
        for other in range(1, tl.num_programs(0)):
            while tl.atomic_cas(locks + other, 1, 1, sem="acquire", scope="gpu") != 1:
                pass
            total += tl.load(partial + other * BLOCK + at)
        tl.store(out + at, total)


@shoal.harness
def partial_sums_behind_locks(world):
    out = world.empty(8, "int32")
    stream_k[(3,)](world.empty(24, "int32"), world.buffer(3, "int32"), out, BLOCK=8)
    world.output(out)


@shoal.jit
def max_of_all(x, out):
    tl.atomic_max(out, tl.load(x + tl.program_id(0)), sem="relaxed", scope="gpu")


@shoal.harness
def relaxed_maximum(world):
    max_of_all[(5,)](world.buffer(5, "int32", "random"), world.buffer(1, "int32"))
