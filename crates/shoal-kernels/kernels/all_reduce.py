"""Sums over all ranks, on every rank. Sums are made in fp32 and in the order of the ranks, so all have the same bits."""

import shoal
import shoal.language as tl
from sharing import copy, copy_runs, sum_of_ranks
from sync import meet


@shoal.jit
def bias_at(bias, at, inside, columns, BLOCK: tl.constexpr):
    """The bias of these places in fp32: nothing, one number for each place, or one for each column."""
    if bias is None:
        return tl.zeros((BLOCK,), dtype=tl.float32)
    if columns is None:
        return tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    return tl.load(bias + at % columns, mask=inside, other=0.0).to(tl.float32)


@shoal.jit
def one_shot_all_reduce(x, out, pad, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Every rank reads the whole of everybody's `x`, which is symmetric. `x` may be overwritten afterwards."""
    meet(pad)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(x, at, at < n, tl.zeros((BLOCK,), dtype=tl.float32), WORLD)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)
    meet(pad)


@shoal.jit
def one_shot_all_reduce_bias(
    x, bias, shared, out, pad, n, columns, WORLD: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The same with a bias, added once; `x` is any memory and goes into `shared`, which is symmetric, first."""
    copy(x, shared, n, BLOCK)
    meet(pad)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(shared, at, at < n, bias_at(bias, at, at < n, columns, BLOCK), WORLD)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)
    meet(pad)


@shoal.jit
def reduce_own_blocks(x, bias, n, columns, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Of every `WORLD` blocks in a row, each rank adds up its own and writes the sum to everybody's `x`."""
    rank = tl.rank()
    for start in range((tl.program_id(0) * WORLD + rank) * BLOCK, n, tl.num_programs(0) * WORLD * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(x, at, at < n, bias_at(bias, at, at < n, columns, BLOCK), WORLD)
        total = total.to(x.dtype.element_ty)
        for step in range(WORLD):
            tl.store(tl.symm_at(x, (rank + step) % WORLD) + at, total, mask=at < n)


@shoal.jit
def two_shot_all_reduce_in_place(x, pad, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Each rank adds up a part of `x`, which is symmetric, and writes it to everybody: all memory is touched once."""
    meet(pad)
    reduce_own_blocks(x, None, n, None, WORLD, BLOCK)
    meet(pad)


@shoal.jit
def two_shot_all_reduce_bias(
    x, bias, shared, out, pad, n, columns, WORLD: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The same from and to any memory, through `shared`, which is symmetric. Programs of one number copy the blocks that
    their likes add up, so that it is enough that they meet."""
    copy_runs(x, shared, n, WORLD, BLOCK)
    meet(pad)
    reduce_own_blocks(shared, bias, n, columns, WORLD, BLOCK)
    meet(pad)
    copy_runs(shared, out, n, WORLD, BLOCK)
