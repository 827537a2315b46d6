"""Sums over all ranks."""

import shoal
import shoal.language as tl


@shoal.jit
def one_shot_all_reduce(x_ptr, out_ptr, flags_ptr, epoch, n, BLOCK: tl.constexpr):
    """Every rank reads the whole of everybody's `x` and adds it up, in the order of the ranks, in fp32.

    `x` and the flags are symmetric. Programs of the same number meet twice: before they read, and after, so that `x`
    may be overwritten when the launch is over.
    """
    rank = tl.rank()
    world = tl.num_ranks()
    ready = flags_ptr + tl.program_id(0) * world
    done = ready + tl.num_programs(0) * world
    for peer in range(world):
        tl.notify(ready + rank, peer, signal=epoch, comm_scope="intra_node")
    token = tl.wait(ready, world, "sys", "acquire", waitValue=epoch)
    x_ptr = tl.consume_token(x_ptr, token)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for peer in range(world):
            total += tl.load(tl.symm_at(x_ptr, peer) + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)
    for peer in range(world):
        tl.notify(done + rank, peer, signal=epoch, comm_scope="intra_node")
    tl.wait(done, world, "sys", "acquire", waitValue=epoch)
