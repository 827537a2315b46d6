"""Flash attention, forward: softmax(q kᵀ · scale) v for each head without storing the scores.

A program owns BLOCK_M queries. It walks over the keys in blocks, keeps the largest score and the sum so far for each
query, and rescales what it has whenever a larger score turns up."""

import shoal
import shoal.language as tl


@shoal.jit
def attention(
    q, k, v, out, lse, length, head_stride, row_stride, scale,
    CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    EVEN: tl.constexpr = False,
):  # fmt: skip
    """EVEN promises that the length is a multiple of both blocks: no key is beyond the end."""
    head = tl.program_id(1) * head_stride
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    keys = tl.arange(0, BLOCK_N)
    q_at = head + rows[:, None] * row_stride + dims[None, :]
    query = tl.load(q + q_at, mask=rows[:, None] < length, other=0.0)
    # exp2 is the faster one: the change of base goes into the scale.
    scale *= 1.4426950408889634

    largest = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    end = length
    if CAUSAL:
        # No query of this program sees keys past its last row.
        end = min(length, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        at = start + keys
        block = head + at[:, None] * row_stride + dims[None, :]
        if EVEN:
            key = tl.load(k + block)
            value = tl.load(v + block)
        else:
            key = tl.load(k + block, mask=at[:, None] < length, other=0.0)
            value = tl.load(v + block, mask=at[:, None] < length, other=0.0)
        scores = tl.dot(query, key.T, input_precision="ieee")
        if CAUSAL:
            scores = tl.where(at[None, :] <= rows[:, None], scores, -float("inf"))
        if not EVEN:
            scores = tl.where(at[None, :] < length, scores, -float("inf"))
        # The scale is positive, so it may wait until after the maximum. Every query sees the first key, so `new` is finite from
        # the first block on.
        new = tl.maximum(largest, tl.max(scores, axis=1) * scale)
        weights = tl.exp2(tl.fma(scores, scale, -new[:, None]))
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = tl.dot(weights.to(value.dtype), value, acc * shrink[:, None], input_precision="ieee")
        largest = new

    tl.store(out + q_at, acc / total[:, None], mask=rows[:, None] < length)
    # The logarithm of the sum of exponentials, in base e: what a backward pass needs.
    tl.store(lse + tl.program_id(1) * length + rows, (largest + tl.log2(total)) * 0.6931471805599453, mask=rows < length)
