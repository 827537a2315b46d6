"""Attention in one pass, with helper kernels, constants of the module and a causal mask in stages."""

import math

import numpy as np
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
MINUS_INFINITY: tl.constexpr = tl.constexpr(float("-inf"))


@triton.jit
def attend(acc, l_i, m_i, q, k_ptr, v_ptr, start_m, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
           HEAD: tl.constexpr, STAGE: tl.constexpr, N_CTX: tl.constexpr):  # fmt: skip
    if STAGE == 1:
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:
        lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
    else:
        lo, hi = 0, N_CTX
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(k_ptr + (start_n + offs_n)[None, :] * HEAD + offs_d[:, None])
        qk = tl.dot(q, k) * (scale * LOG2E)
        if STAGE == 2:
            qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, MINUS_INFINITY)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (start_n + offs_n)[:, None] * HEAD + offs_d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    return acc, l_i, m_i


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": m, "BLOCK_N": 32}) for m in (32, 64)],
    key=["N_CTX", "HEAD"],
    prune_configs_by={"early_config_prune": lambda configs, named, **kwargs: configs[:1]},
)
@triton.jit
def attention(Q, K, V, Out, scale, heads, N_CTX: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr,
              BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    tl.static_assert(BLOCK_N <= HEAD)
    start_m = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * N_CTX * HEAD
    rows = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD)
    q = tl.load(Q + base + rows[:, None] * HEAD + columns[None, :])
    m_i = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)
    if CAUSAL:
        acc, l_i, m_i = attend(
            acc, l_i, m_i, q, K + base, V + base, start_m, scale, BLOCK_M, BLOCK_N, HEAD, STAGE=1, N_CTX=N_CTX
        )
        acc, l_i, m_i = attend(
            acc, l_i, m_i, q, K + base, V + base, start_m, scale, BLOCK_M, BLOCK_N, HEAD, STAGE=2, N_CTX=N_CTX
        )
    else:
        acc, l_i, m_i = attend(
            acc, l_i, m_i, q, K + base, V + base, start_m, scale, BLOCK_M, BLOCK_N, HEAD, STAGE=3, N_CTX=N_CTX
        )
    acc = acc / l_i[:, None]
    tl.store(Out + base + rows[:, None] * HEAD + columns[None, :], acc.to(Out.dtype.element_ty))


def reference(q, k, v, scale, causal):
    scores = np.einsum("hmd,hnd->hmn", q, k) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hmn,hnd->hmd", weights / weights.sum(-1, keepdims=True), v)


rng = np.random.default_rng(0)
heads, n_ctx, head = 3, 128, 32
q, k, v = (rng.standard_normal((heads, n_ctx, head), dtype=np.float32) for _ in range(3))
scale = 1 / math.sqrt(head)
for causal in (False, True):
    out = np.empty_like(q)
    grid = lambda META: (triton.cdiv(n_ctx, META["BLOCK_M"]), heads, 1)  # noqa: E731
    attention[grid](q, k, v, out, scale, heads, N_CTX=n_ctx, HEAD=head, CAUSAL=causal)
    np.testing.assert_allclose(out, reference(q, k, v, scale, causal), rtol=1e-4, atol=1e-5)
print("ok")
