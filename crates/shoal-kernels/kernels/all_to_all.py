"""Rows for everybody, as many as each sender likes, possibly none."""

import shoal
import shoal.language as tl
from sharing import copy
from sync import meet


@shoal.jit
def all_to_all(x, splits, out, received, pad, dim, room, BLOCK: tl.constexpr):
    """`splits` says how many rows of `x` are for each rank, which lie in the order of the ranks; both are symmetric.
    Rows for this rank go to `out` in the order of the senders, their numbers to `received`. Rows beyond the `room` of
    `out` are left out: whoever launches sees from `received` that there are such."""
    rank = tl.rank()
    world = tl.num_ranks()
    meet(pad, FIRST=True)
    arrived = tl.full((), 0, tl.int64)
    for sender in range(world):
        theirs = tl.symm_at(splits, sender)
        before = tl.full((), 0, tl.int64)
        for other in range(rank):
            before += tl.load(theirs + other)
        rows = tl.load(theirs + rank)
        if tl.program_id(0) == 0:
            tl.store(received + sender, rows)
        fitting = tl.maximum(tl.minimum(rows, room - arrived), 0)
        copy(tl.symm_at(x, sender) + before * dim, out + arrived * dim, fitting * dim, BLOCK)
        arrived += rows
    meet(pad, READ=True)
