"""y = rms_norm(x0 + x1 + … + bias) * w over the rows of a matrix, on every rank."""

import shoal
import shoal.language as tl
from sharing import places_of, sum_of_ranks
from sync import meet


@shoal.jit
def bias_of(bias, at, inside, BLOCK: tl.constexpr):
    if bias is None:
        return tl.zeros((BLOCK,), dtype=tl.float32)
    return tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)


@shoal.jit
def normalised(value, w, at, inside, cols, eps):
    """A row, scaled to a mean square of 1 and weighted."""
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
    return value * scale * tl.load(w + at, mask=inside, other=0.0).to(tl.float32)


@shoal.jit
def copy_rows(source, target, rows, cols, BLOCK: tl.constexpr):
    """Each program copies the rows that it works on later."""
    at = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        start = row.to(tl.int64) * cols
        tl.store(target + start + at, tl.load(source + start + at, mask=at < cols), mask=at < cols)


@shoal.jit
def one_shot_all_reduce_bias_rms_norm(
    x, bias, w, shared, y, pad, rows, cols, eps, WORLD: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Every rank adds up all rows of everybody's `x`, which go through `shared`, which is symmetric."""
    copy_rows(x, shared, rows, cols, BLOCK)
    meet(pad)
    at = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        start = row.to(tl.int64) * cols
        place = shared + start
        places = places_of(place, WORLD)
        value = sum_of_ranks(place, places, at, at < cols, bias_of(bias, at, at < cols, BLOCK), WORLD)
        value = normalised(value, w, at, at < cols, cols, eps)
        tl.store(y + start + at, value.to(y.dtype.element_ty), mask=at < cols)
    meet(pad, READ=True)


@shoal.jit
def two_shot_all_reduce_bias_rms_norm(
    x, bias, w, shared, y, pad, rows, cols, part, eps,
    WORLD: tl.constexpr, BLOCK: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """Of each row, every rank adds up `part` columns and writes the sum to everybody's `shared`; then rows are whole."""
    rank = tl.rank()
    copy_rows(x, shared, rows, cols, BLOCK)
    meet(pad)
    mine = rank * part + tl.arange(0, PART)
    inside = (tl.arange(0, PART) < part) & (mine < cols)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        place = shared + row.to(tl.int64) * cols
        places = places_of(place, WORLD)
        value = sum_of_ranks(place, places, mine, inside, bias_of(bias, mine, inside, PART), WORLD)
        value = value.to(shared.dtype.element_ty)
        for step in range(WORLD):
            tl.store(tl.symm_at(place, (rank + step) % WORLD) + mine, value, mask=inside)
    meet(pad)
    at = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        start = row.to(tl.int64) * cols
        value = tl.load(shared + start + at, mask=at < cols, other=0.0).to(tl.float32)
        value = normalised(value, w, at, at < cols, cols, eps)
        tl.store(y + start + at, value.to(y.dtype.element_ty), mask=at < cols)
