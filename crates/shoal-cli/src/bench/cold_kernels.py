"""Long kernels whose compilation is timed."""

import shoal
import shoal.language as tl


@shoal.jit
def attention_block(q, dout, lse, delta, k, v, rows, cols, scale, length, CAUSAL: tl.constexpr):
    """The weights of a block, and the derivatives of its scores."""
    scores = tl.dot(q, tl.trans(k)) * scale
    keep = (rows[:, None] < length) & (cols[None, :] < length)
    if CAUSAL:
        keep = keep & (rows[:, None] >= cols[None, :])
    weights = tl.where(keep, tl.exp(scores - lse[:, None]), 0.0)
    slopes = weights * (tl.dot(dout, tl.trans(v)) - delta[:, None])
    return weights, slopes


@shoal.jit
def attention_backward(
    q, k, v, out, dout, lse, dq, dk, dv, length, head_stride, row_stride, scale,
    CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The derivatives by k and v of a block of columns, then by q of a block of rows."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1) * head_stride
    dims = tl.arange(0, HEAD_DIM)
    inside = place[:, None] < length
    here = head + place[:, None] * row_stride + dims[None, :]
    own_k, own_v = tl.load(k + here, mask=inside, other=0.0), tl.load(v + here, mask=inside, other=0.0)
    sum_k = tl.zeros((BLOCK, HEAD_DIM), tl.float32)
    sum_v = tl.zeros((BLOCK, HEAD_DIM), tl.float32)
    first = tl.program_id(0) * BLOCK if CAUSAL else 0
    for start in range(first, length, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        there = head + rows[:, None] * row_stride + dims[None, :]
        known = rows[:, None] < length
        other_q, other_dout = tl.load(q + there, mask=known, other=0.0), tl.load(dout + there, mask=known, other=0.0)
        delta = tl.sum(tl.load(out + there, mask=known, other=0.0).to(tl.float32) * other_dout, axis=1)
        row_lse = tl.load(lse + tl.program_id(1) * length + rows, mask=rows < length, other=0.0)
        weights, slopes = attention_block(
            other_q, other_dout, row_lse, delta, own_k, own_v, rows, place, scale, length, CAUSAL
        )
        sum_v += tl.dot(tl.trans(weights.to(other_dout.dtype)), other_dout)
        sum_k += tl.dot(tl.trans(slopes.to(other_q.dtype)), other_q)
    tl.store(dv + here, sum_v.to(dv.dtype.element_ty), mask=inside)
    tl.store(dk + here, (sum_k * scale).to(dk.dtype.element_ty), mask=inside)
    own_q, own_dout = tl.load(q + here, mask=inside, other=0.0), tl.load(dout + here, mask=inside, other=0.0)
    delta = tl.sum(tl.load(out + here, mask=inside, other=0.0).to(tl.float32) * own_dout, axis=1)
    own_lse = tl.load(lse + tl.program_id(1) * length + place, mask=place < length, other=0.0)
    sum_q = tl.zeros((BLOCK, HEAD_DIM), tl.float32)
    last = tl.minimum((tl.program_id(0) + 1) * BLOCK, length) if CAUSAL else length
    for start in range(0, last, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        there = head + cols[:, None] * row_stride + dims[None, :]
        known = cols[:, None] < length
        other_k, other_v = tl.load(k + there, mask=known, other=0.0), tl.load(v + there, mask=known, other=0.0)
        weights, slopes = attention_block(
            own_q, own_dout, own_lse, delta, other_k, other_v, place, cols, scale, length, CAUSAL
        )
        sum_q += tl.dot(slopes.to(other_k.dtype), other_k)
    tl.store(dq + here, (sum_q * scale).to(dq.dtype.element_ty), mask=inside)


@shoal.jit
def chunked_delta_rule(
    q, k, v, beta, gate, out, length, HEAD_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, CHUNK: tl.constexpr
):  # fmt: skip
    """Gated linear attention by the delta rule: chunk by chunk, with the triangular system of each solved row by row."""
    head = tl.program_id(0)
    steps, dims, values = tl.arange(0, CHUNK), tl.arange(0, HEAD_DIM), tl.arange(0, VALUE_DIM)
    state = tl.zeros((HEAD_DIM, VALUE_DIM), tl.float32)
    for start in range(0, length, CHUNK):
        rows = start + steps
        inside = rows[:, None] < length
        at = (head * length + rows[:, None]) * HEAD_DIM + dims[None, :]
        value_at = (head * length + rows[:, None]) * VALUE_DIM + values[None, :]
        keys = tl.load(k + at, mask=inside, other=0.0)
        queries = tl.load(q + at, mask=inside, other=0.0)
        news = tl.load(v + value_at, mask=inside, other=0.0)
        rates = tl.load(beta + head * length + rows, mask=rows < length, other=0.0).to(tl.float32)
        decay = tl.cumsum(tl.load(gate + head * length + rows, mask=rows < length, other=0.0).to(tl.float32), axis=0)
        between = tl.exp(decay[:, None] - decay[None, :])
        below = steps[:, None] > steps[None, :]
        system = tl.where(below, tl.dot(keys, tl.trans(keys)) * rates[:, None] * between, 0.0)
        inverse = -system
        for step in range(1, CHUNK):
            row = tl.sum(tl.where(steps[:, None] == step, inverse, 0.0), axis=0)
            row += tl.sum(row[:, None] * inverse, axis=0) * (steps < step)
            inverse = tl.where(steps[:, None] == step, row[None, :], inverse)
        inverse += tl.where(steps[:, None] == steps[None, :], 1.0, 0.0)
        inverse = inverse.to(keys.dtype)
        writes = tl.dot(inverse, (news * rates[:, None]).to(keys.dtype))
        reads = tl.dot(inverse, (keys * (rates * tl.exp(decay))[:, None]).to(keys.dtype))
        fresh = writes - tl.dot(reads.to(keys.dtype), state.to(keys.dtype))
        scores = tl.where(below | (steps[:, None] == steps[None, :]), tl.dot(queries, tl.trans(keys)) * between, 0.0)
        result = tl.dot((queries * tl.exp(decay)[:, None]).to(keys.dtype), state.to(keys.dtype))
        result += tl.dot(scores.to(keys.dtype), fresh.to(keys.dtype))
        tl.store(out + value_at, result.to(out.dtype.element_ty), mask=inside)
        total = tl.sum(tl.where(steps == CHUNK - 1, decay, 0.0), axis=0)
        carried = (keys * tl.exp(total - decay)[:, None]).to(keys.dtype)
        state = state * tl.exp(total) + tl.dot(tl.trans(carried), fresh.to(keys.dtype))


@shoal.jit
def max_pool_3d(x, out, places, depth, height, width, BLOCK: tl.constexpr):
    """The greatest of each 3 × 3 × 3 neighbours, and which of them it is."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < depth * height * width
    z, y, column = at // (height * width), at // width % height, at % width
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    place = tl.zeros((BLOCK,), tl.int32)
    for dz in tl.static_range(-1, 2):
        for dy in tl.static_range(-1, 2):
            for dx in tl.static_range(-1, 2):
                there = (z + dz >= 0) & (z + dz < depth) & (y + dy >= 0) & (y + dy < height)
                there = there & (column + dx >= 0) & (column + dx < width) & inside
                other = at + (dz * height + dy) * width + dx
                value = tl.load(x + other, mask=there, other=float("-inf")).to(tl.float32)
                place = tl.where(value > best, other, place)
                best = tl.where(value > best, value, best)
    tl.store(out + at, best.to(out.dtype.element_ty), mask=inside)
    tl.store(places + at, place, mask=inside)
