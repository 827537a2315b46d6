"""Layer norm over the rows of a matrix, forward and backward.

Backward has two stages. Many rows add to the same dw and db; each program of the first stage takes one row and adds
its part to one of GROUPS partial sums, under that group's lock. The second stage adds up the partial sums."""

import shoal
import shoal.language as tl


@shoal.jit
def layer_norm_forward(x, y, w, b, mean, rstd, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
    middle = tl.sum(total, axis=0) / cols
    # The variance comes from the distances to the mean, not from the squares: small variances stay exact.
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        away = tl.where(at < cols, tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32) - middle, 0.0)
        squares += away * away
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean + row, middle)
    tl.store(rstd + row, scale)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        weight = tl.load(w + at, mask=inside).to(tl.float32)
        bias = tl.load(b + at, mask=inside).to(tl.float32)
        value = tl.load(x + at, mask=inside).to(tl.float32)
        tl.store(y + at, (value - middle) * scale * weight + bias, mask=inside)


@shoal.jit
def layer_norm_backward_rows(
    dx, dy, dw_part, db_part, x, w, mean, rstd, locks, filled, stride, cols,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(dy + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(w + at, mask=inside).to(tl.float32)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    scaled = tl.where(inside, grad * weight, 0.0)
    along = tl.sum(normal * scaled, axis=0) / cols
    shift = tl.sum(scaled, axis=0) / cols
    tl.store(dx + row * stride + at, (scaled - (normal * along + shift)) * scale, mask=inside)

    group = row % GROUPS
    dw_at = dw_part + group * cols + at
    db_at = db_part + group * cols + at
    dw = grad * normal
    db = grad
    while tl.atomic_cas(locks + group, 0, 1, sem="acquire") == 1:
        pass
    # The first of a group finds memory that nobody has written.
    if tl.load(filled + group) == 0:
        tl.store(filled + group, 1)
    else:
        dw += tl.load(dw_at, mask=inside)
        db += tl.load(db_at, mask=inside)
    tl.store(dw_at, dw, mask=inside)
    tl.store(db_at, db, mask=inside)
    # All threads of the program have stored before the lock opens.
    tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
    tl.atomic_xchg(locks + group, 0, sem="release")


@shoal.jit
def layer_norm_backward_sum(dw_part, db_part, dw, db, groups, cols, BLOCK_G: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    dw_sum = tl.zeros((BLOCK_G, BLOCK), dtype=tl.float32)
    db_sum = tl.zeros((BLOCK_G, BLOCK), dtype=tl.float32)
    for start in range(0, groups, BLOCK_G):
        part = start + tl.arange(0, BLOCK_G)
        inside = (part[:, None] < groups) & (at[None, :] < cols)
        place = part[:, None] * cols + at[None, :]
        dw_sum += tl.load(dw_part + place, mask=inside, other=0.0)
        db_sum += tl.load(db_part + place, mask=inside, other=0.0)
    tl.store(dw + at, tl.sum(dw_sum, axis=0), mask=at < cols)
    tl.store(db + at, tl.sum(db_sum, axis=0), mask=at < cols)
