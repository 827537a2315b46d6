"""Sums over all ranks, on every rank. Sums are made in fp32 and in the order of the ranks, so all have the same bits.

Kernels that begin with `gdc_wait` are launched before the launch ahead of them has ended. They let the next one come when
their programs have heard of all ranks, so that no program that is waited for lacks a place to run, or when they end, where
all places are taken. Where the others' memory is, they ask while they wait.
"""

import shoal
import shoal.language as tl
from sharing import copy, copy_runs, places_of, sum_of_ranks
from shoal.language.extra.cuda import gdc_launch_dependents, gdc_wait
from sync import meet
from triton_dist.language.extra.language_extra import ld, num_threads, prefetch, st, tid


@shoal.jit
def bias_at(bias, at, inside, columns, BLOCK: tl.constexpr):
    """The bias of these places in fp32: nothing, one number for each place, or one for each column."""
    if bias is None:
        return tl.zeros((BLOCK,), dtype=tl.float32)
    if columns is None:
        return tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    return tl.load(bias + at % columns, mask=inside, other=0.0).to(tl.float32)


@shoal.jit
def ask_for(x, tile, n, BLOCK: tl.constexpr):
    """Asks for a tile of this rank's `x`, so that it is in the cache that all programs share when it is read. No other thread
    asks for a thread's elements: lines that several warps ask for cost more than this gains."""
    at = tile * BLOCK + tl.arange(0, num_threads()) * (BLOCK // num_threads())
    prefetch(x + tl.minimum(at, n - 1))


@shoal.jit(do_not_specialize=["turn"])
def one_shot_all_reduce(
    x, out, pad, n, WORLD: tl.constexpr, BLOCK: tl.constexpr, EARLY: tl.constexpr = True, AHEAD: tl.constexpr = False,
    turn=0, WHOLE: tl.constexpr = False,
):  # fmt: skip
    """Every rank reads the whole of everybody's `x`, which is symmetric. `x` may be overwritten afterwards.

    `EARLY`: the next launch may come as soon as all ranks are here. `WHOLE`: `n` is a multiple of `BLOCK`.
    `AHEAD`: each rank asks for its own elements a tile ahead, for the first before it has heard of the others. Every other
    `turn` goes from the end to the beginning: of more than the cache holds, it holds what was touched last, by the launch
    before or by whoever wrote `x`.
    """
    places = places_of(x, WORLD)
    tiles = tl.cdiv(n, BLOCK)
    first = tl.where(turn % 2 == 0, 0, tiles - 1)
    gdc_wait()
    if AHEAD:
        ask_for(x, tl.abs(first - tl.minimum(tl.program_id(0), tiles - 1)), n, BLOCK)
    meet(pad, FIRST=True)
    if EARLY:
        gdc_launch_dependents()
    for step in range(tl.program_id(0), tiles, tl.num_programs(0)):
        if AHEAD:
            ask_for(x, tl.abs(first - tl.minimum(step + tl.num_programs(0), tiles - 1)), n, BLOCK)
        at = tl.abs(first - step) * BLOCK + tl.arange(0, BLOCK)
        inside = None if WHOLE else at < n
        total = sum_of_ranks(x, places, at, inside, tl.zeros((BLOCK,), dtype=tl.float32), WORLD)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=inside)
    meet(pad, READ=True)


@shoal.jit
def numbers_of(word, TYPE: tl.constexpr):
    """The one or two numbers that 32 bits hold, in fp32."""
    if TYPE == tl.float32:
        return (word.to(tl.float32, bitcast=True),)
    low = (word & 0xFFFF).to(tl.uint16).to(TYPE, bitcast=True)
    high = (word >> 16).to(tl.uint16).to(TYPE, bitcast=True)
    return (low.to(tl.float32), high.to(tl.float32))


@shoal.jit
def word_of(numbers, TYPE: tl.constexpr):
    """One or two numbers in fp32, rounded, as the 32 bits that hold them."""
    if TYPE == tl.float32:
        return numbers[0].to(tl.uint32, bitcast=True)
    low = numbers[0].to(TYPE).to(tl.uint16, bitcast=True).to(tl.uint32)
    high = numbers[1].to(TYPE).to(tl.uint16, bitcast=True).to(tl.uint32)
    return low | (high << 16)


@shoal.jit
def sums_of(left, right):
    """The sums of pairs."""
    if len(left) == 1:
        return (left[0] + right[0],)
    return (left[0] + right[0], left[1] + right[1])


@shoal.jit
def found_words(places, at):
    """What is at these places now. All are under way before one is waited for."""
    found = ()
    for place in tl.static_range(len(places)):
        found += (ld(places[place] + at, scope="sys", semantic="relaxed"),)
    return found


@shoal.jit
def arrived(found, place, number):
    """The 32 bits beside the number of this launch, as soon as they are there."""
    while (found >> 32) != number:
        found = ld(place, scope="sys", semantic="relaxed")
    return found.to(tl.uint32)


@shoal.jit
def arrived_sums(places, at, number, TYPE: tl.constexpr):
    """The sums of the ranks' words at these places, in their order; waits until all are there."""
    found = found_words(places, at)
    numbers = numbers_of(tl.zeros_like(at).to(tl.uint32), TYPE)
    for peer in tl.static_range(len(places)):
        numbers = sums_of(numbers, numbers_of(arrived(found[peer], places[peer] + at, number), TYPE))
    return numbers


@shoal.jit
def one_shot_all_reduce_words(
    x, out, stage, launches, words, WORLD: tl.constexpr, ROUNDS: tl.constexpr, STAY: tl.constexpr = False
):  # fmt: skip
    """For little: nobody meets. Every rank sends its `words` of 32 bits to everybody's `stage`, each beside the number of
    the launch, as one word of 64 bits: who finds the number has the elements. `launches` counts for each program. With
    `STAY`, for ranks that share their memory, words stay in their rank's `stage`, where everybody looks for them.

    `stage` is symmetric: for each program two halves, each with `ROUNDS` words of every thread from every rank. Halves
    take turns: who sends the words of a launch has those of the launch before from everybody, so everybody has ended
    the launch before that, which read this half.
    """
    program = tl.program_id(0)
    room = ROUNDS * num_threads()
    mine = stage + program.to(tl.int64) * (2 * WORLD * room)
    targets = ()
    sources = ()
    if STAY:
        targets += (mine + tl.rank() * room,)
    for peer in tl.static_range(WORLD):
        theirs = tl.symm_at(mine, peer)
        if STAY:
            sources += (theirs + peer * room,)
        else:
            targets += (theirs + tl.rank() * room,)
            sources += (mine + peer * room,)
    gdc_wait()
    launch = tl.load(launches + program) + 1
    half = launch % 2 * (WORLD * room)
    number = (launch & 0xFFFFFFFF).to(tl.uint64)
    source = x.to(tl.pointer_type(tl.uint32))
    target = out.to(tl.pointer_type(tl.uint32))
    for step in tl.static_range(ROUNDS):
        at = step * num_threads() + tid(0)
        word = program * room + at
        if word < words:
            numbered = tl.load(source + word).to(tl.uint64) | (number << 32)
            for place in tl.static_range(len(targets)):
                st(targets[place] + half + at, numbered, scope="sys", semantic="relaxed")
    for step in tl.static_range(ROUNDS):
        at = step * num_threads() + tid(0)
        word = program * room + at
        if word < words:
            sums = arrived_sums(sources, half + at, number, x.dtype.element_ty)
            tl.store(target + word, word_of(sums, out.dtype.element_ty))
    gdc_launch_dependents()
    tl.store(launches + program, launch)


@shoal.jit
def two_shot_all_reduce_words(x, stage, launches, words, WORLD: tl.constexpr):
    """The same in two steps and in place: each rank gets a part of everybody's words, adds them up, and sends the sums to
    everybody. Of `stage`, each half has for each program a word of every thread from every rank, and a sum of every
    thread of every rank."""
    rank = tl.rank()
    program = tl.program_id(0)
    room = num_threads()
    mine = stage + program.to(tl.int64) * (4 * WORLD * room)
    targets = ()
    parts = ()
    sums = ()
    for peer in tl.static_range(WORLD):
        targets += (tl.symm_at(mine, peer) + rank * room,)
        parts += (mine + peer * room,)
        sums += (mine + (WORLD + peer) * room,)
    gdc_wait()
    launch = tl.load(launches + program) + 1
    number = (launch & 0xFFFFFFFF).to(tl.uint64)
    memory = x.to(tl.pointer_type(tl.uint32))
    lane = tid(0)
    at = launch % 2 * (2 * WORLD * room) + lane
    for owner in tl.static_range(WORLD):
        word = (program * WORLD + owner) * room + lane
        if word < words:
            numbered = tl.load(memory + word).to(tl.uint64) | (number << 32)
            st(targets[owner] + at, numbered, scope="sys", semantic="relaxed")
    if (program * WORLD + rank) * room + lane < words:
        total = arrived_sums(parts, at, number, x.dtype.element_ty)
        numbered = word_of(total, x.dtype.element_ty).to(tl.uint64) | (number << 32)
        for peer in tl.static_range(WORLD):
            st(targets[peer] + WORLD * room + at, numbered, scope="sys", semantic="relaxed")
    found = found_words(sums, at)
    for owner in tl.static_range(WORLD):
        word = (program * WORLD + owner) * room + lane
        if word < words:
            tl.store(memory + word, arrived(found[owner], sums[owner] + at, number))
    gdc_launch_dependents()
    tl.store(launches + program, launch)


@shoal.jit
def one_shot_all_reduce_bias(
    x, bias, shared, out, pad, n, columns, WORLD: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The same with a bias, added once; `x` is any memory and goes into `shared`, which is symmetric, first."""
    copy(x, shared, n, BLOCK)
    meet(pad)
    places = places_of(shared, WORLD)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(shared, places, at, at < n, bias_at(bias, at, at < n, columns, BLOCK), WORLD)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)
    meet(pad, READ=True)


@shoal.jit
def reduce_own_blocks(x, bias, n, columns, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Of every `WORLD` blocks in a row, each rank adds up its own and writes the sum to everybody's `x`."""
    rank = tl.rank()
    places = places_of(x, WORLD)
    for start in range((tl.program_id(0) * WORLD + rank) * BLOCK, n, tl.num_programs(0) * WORLD * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = sum_of_ranks(x, places, at, at < n, bias_at(bias, at, at < n, columns, BLOCK), WORLD)
        total = total.to(x.dtype.element_ty)
        for step in range(WORLD):
            tl.store(tl.symm_at(x, (rank + step) % WORLD) + at, total, mask=at < n)


@shoal.jit
def two_shot_all_reduce_in_place(x, pad, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """Each rank adds up a part of `x`, which is symmetric, and writes it to everybody: all memory is touched once."""
    gdc_wait()
    meet(pad, FIRST=True)
    gdc_launch_dependents()
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


@shoal.jit
def two_shot_all_reduce(x, shared, out, pad, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """The same without a bias."""
    two_shot_all_reduce_bias(x, None, shared, out, pad, n, None, WORLD, BLOCK)
