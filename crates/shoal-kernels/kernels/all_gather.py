"""Everybody's data, on every rank."""

import shoal
import shoal.language as tl


@shoal.jit
def all_gather_push(x_ptr, out_ptr, flags_ptr, epoch, n, BLOCK: tl.constexpr):
    """Every rank writes its `x` to its place in everybody's `out`, beginning with its own.

    `out` and the flags are symmetric. Programs of the same number meet twice: before they write, so that nobody
    overwrites what an earlier launch still reads, and after, so that all of `out` is there when the launch is over.
    """
    rank = tl.rank()
    world = tl.num_ranks()
    entered = flags_ptr + tl.program_id(0) * world
    delivered = entered + tl.num_programs(0) * world
    for peer in range(world):
        tl.notify(entered + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(entered, world, "sys", "acquire", waitValue=epoch)
    for step in range(world):
        peer = (rank + step) % world
        there = tl.symm_at(out_ptr, peer) + rank.to(tl.int64) * n
        for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            mask = offsets < n
            tl.store(there + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
        tl.notify(delivered + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(delivered, world, "sys", "acquire", waitValue=epoch)
