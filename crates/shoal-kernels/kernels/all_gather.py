"""Everybody's elements, on every rank, in the order of the ranks."""

import shoal
import shoal.language as tl
from sharing import copy
from sync import meet, receive, send


@shoal.jit
def all_gather_push(x, out, pad, n, BLOCK: tl.constexpr):
    """Every rank writes its `x` to its place in everybody's `out`, which is symmetric."""
    rank = tl.rank()
    world = tl.num_ranks()
    # Nobody writes to what an earlier launch still reads.
    meet(pad, FIRST=True)
    for step in range(world):
        copy(x, tl.symm_at(out, (rank + step) % world) + rank.to(tl.int64) * n, n, BLOCK)
    meet(pad)


@shoal.jit
def all_gather_pull(x, out, pad, n, BLOCK: tl.constexpr):
    """Every rank reads everybody's `x`, which is symmetric and may be overwritten afterwards."""
    rank = tl.rank()
    world = tl.num_ranks()
    meet(pad, FIRST=True)
    for step in range(world):
        peer = (rank + step) % world
        copy(tl.symm_at(x, peer), out + peer.to(tl.int64) * n, n, BLOCK)
    meet(pad, READ=True)


@shoal.jit
def all_gather_ring(x, out, pad, n, BLOCK: tl.constexpr):
    """Every rank talks to its neighbours alone: it hands on what came last. `out` is symmetric."""
    rank = tl.rank()
    world = tl.num_ranks()
    right = (rank + 1) % world
    # One slot for each hop, behind those of the programs that meet.
    hops = (tl.num_programs(0) + tl.program_id(0)) * world
    copy(x, out + rank.to(tl.int64) * n, n, BLOCK)
    meet(pad)
    for hop in range(world - 1):
        if hop > 0:
            receive(pad, hops + hop - 1, 1)
        place = out + ((rank + world - hop) % world).to(tl.int64) * n
        copy(place, tl.symm_at(place, right), n, BLOCK)
        tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
        send(pad, hops + hop, right)
    if world > 1:
        receive(pad, hops + world - 2, 1)


@shoal.jit
def all_gather_2d(x, out, pad, n, columns, BLOCK: tl.constexpr):
    """Ranks form a mesh of rows and columns. Each sends its `x` along its column, then all that its column has along its
    row: where columns cross hosts, every element goes between two hosts once. `out` is symmetric."""
    rank = tl.rank()
    world = tl.num_ranks()
    rows = world // columns
    row = rank // columns
    column = rank % columns
    # One slot for each source, behind those of the programs that meet.
    arrived = (tl.num_programs(0) + tl.program_id(0)) * world
    mine = out + rank.to(tl.int64) * n
    meet(pad, FIRST=True)
    copy(x, mine, n, BLOCK)
    tl.debug_barrier()  # shoal: redundant because a program sees what it stored; threads of a GPU do not see each other's
    for step in range(1, rows):
        peer = (row + step) % rows * columns + column
        copy(x, tl.symm_at(mine, peer), n, BLOCK)
        tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
        send(pad, arrived + rank, peer)
    for step in range(1, rows):
        receive(pad, arrived + (row + step) % rows * columns + column, 1)
    for step in range(1, columns):
        peer = row * columns + (column + step) % columns
        for other in range(rows):
            place = out + (other * columns + column).to(tl.int64) * n
            copy(place, tl.symm_at(place, peer), n, BLOCK)
        tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
        send(pad, arrived + rank, peer)
    for step in range(1, columns):
        receive(pad, arrived + row * columns + (column + step) % columns, 1)
