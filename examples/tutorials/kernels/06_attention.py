"""Attention in one pass
=====================

Attention is softmax(q kᵀ) v. Written down as it stands, the scores of all pairs go through memory. Here a program
keeps a block of queries and walks over the keys: it holds the greatest score so far, the sum of exponentials, and the
weighted sum of values, and corrects the last two whenever a greater score appears.

What to see here: two products in a loop, a softmax that is computed as it goes, and a causal mask that skips work.
"""

import sys

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def attention_kernel(
    q, k, v, out, length, scale,
    CAUSAL: tl.constexpr, HEAD: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    start, head = tl.program_id(0) * BLOCK_Q, tl.program_id(1)
    base = head * length * HEAD
    queries = start + tl.arange(0, BLOCK_Q)
    features = tl.arange(0, HEAD)
    asked = tl.load(q + base + queries[:, None] * HEAD + features[None, :], mask=queries[:, None] < length, other=0.0)
    greatest = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    weight = tl.zeros([BLOCK_Q], tl.float32)
    total = tl.zeros([BLOCK_Q, HEAD], tl.float32)
    # Queries see no keys after themselves: blocks beyond the last query are not looked at.
    end = tl.minimum(start + BLOCK_Q, length) if CAUSAL else length
    for first in range(0, end, BLOCK_K):
        keys = first + tl.arange(0, BLOCK_K)
        there = keys < length
        key = tl.load(k + base + keys[None, :] * HEAD + features[:, None], mask=there[None, :], other=0.0)
        scores = tl.dot(asked, key) * scale
        seen = there[None, :] & (queries[:, None] >= keys[None, :]) if CAUSAL else there[None, :]
        scores = tl.where(seen, scores, -float("inf"))
        now = tl.maximum(greatest, tl.max(scores, 1))
        # What was summed so far was relative to the old maximum.
        correction = tl.exp(greatest - now)
        powers = tl.exp(scores - now[:, None])
        value = tl.load(v + base + keys[:, None] * HEAD + features[None, :], mask=there[:, None], other=0.0)
        weight = weight * correction + tl.sum(powers, 1)
        total = tl.dot(powers, value, total * correction[:, None])
        greatest = now
    result = total / weight[:, None]
    tl.store(out + base + queries[:, None] * HEAD + features[None, :], result, mask=queries[:, None] < length)


def attention(q, k, v, causal):
    heads, length, width = q.shape
    out = np.empty_like(q)
    grid = (shoal.cdiv(length, 64), heads)
    attention_kernel[grid](q, k, v, out, length, width**-0.5, CAUSAL=causal, HEAD=width, BLOCK_Q=64, BLOCK_K=64)
    return out


def reference(q, k, v, causal):
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores = q @ k.swapaxes(1, 2) * q.shape[2] ** -0.5
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return powers / powers.sum(axis=2, keepdims=True) @ v


random = np.random.default_rng(0)
q, k, v = random.standard_normal((3, 2, 200, 64), dtype=np.float32)
for causal in (False, True):
    np.testing.assert_allclose(attention(q, k, v, causal), reference(q, k, v, causal), rtol=1e-3, atol=1e-4)
    print("attention_kernel and NumPy agree", "with a causal mask" if causal else "without a mask")


@shoal.testing.perf_report(
    shoal.testing.Benchmark(
        x_names=["length"],
        x_vals=[128, 256] if "--quick" in sys.argv else [256, 512, 1024, 2048],
        line_arg="causal",
        line_vals=[False, True],
        line_names=["all keys", "causal"],
        ylabel="GFLOP/s",
        plot_name="attention",
        args={"heads": 2 if "--quick" in sys.argv else 8},
    )
)
def benchmark(heads, length, causal):
    q, k, v = random.standard_normal((3, heads, length, 64), dtype=np.float32)
    how = {"warmup": 2, "rep": 5} if "--quick" in sys.argv else {}
    operations = 4 * heads * length * length * 64 * (0.5 if causal else 1)
    return operations * 1e-6 / shoal.testing.do_bench(lambda: attention(q, k, v, causal), **how)


folder = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
benchmark.run(print_data=True, show_plots=False, save_path=folder)
