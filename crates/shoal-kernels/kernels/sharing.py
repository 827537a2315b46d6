"""What the programs of a rank share out among themselves: blocks of a row of elements."""

import shoal
import shoal.language as tl


@shoal.jit
def copy(source, target, n, BLOCK: tl.constexpr):
    """Copies `n` elements; each program of the grid takes every so many-th block."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


@shoal.jit
def copy_runs(source, target, n, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    """The same, where each program takes `LENGTH` blocks in a row."""
    run = LENGTH * BLOCK
    for first in range(tl.program_id(0) * run, n, tl.num_programs(0) * run):
        for start in range(first, tl.minimum(first + run, n), BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)


@shoal.jit
def places_of(x, WORLD: tl.constexpr):
    """Everybody's `x`, for `sum_of_ranks`: found once, not in each trip of a loop. Nothing where there are many ranks."""
    places = ()
    if WORLD <= 8:
        for peer in tl.static_range(WORLD):
            places += (tl.symm_at(x, peer),)
    return places


@shoal.jit
def elements_at(place, at, inside):
    """The elements there, 0 where nothing is; with `None`, something is everywhere."""
    if inside is None:
        return tl.load(place + at)
    return tl.load(place + at, mask=inside, other=0.0)


@shoal.jit
def sum_of_places(places, at, inside, total):
    """`total` plus the elements behind each of a few places, in fp32 and in their order."""
    # Unrolled, the sum is one loop over the tile, and all loads are under way at once.
    tiles = ()
    for place in tl.static_range(len(places)):
        tiles += (elements_at(places[place], at, inside),)
    for place in tl.static_range(len(places)):
        total += tiles[place].to(tl.float32)
    return total


@shoal.jit
def sum_of_ranks(x, places, at, inside, total, WORLD: tl.constexpr):
    """`total` plus everybody's elements at these places, in fp32 and in the order of the ranks."""
    if WORLD <= 8:
        return sum_of_places(places, at, inside, total)
    for peer in range(WORLD):
        total += elements_at(tl.symm_at(x, peer), at, inside).to(tl.float32)
    return total
