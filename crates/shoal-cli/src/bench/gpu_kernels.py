@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = at < n
    tl.store(out + at, tl.load(x + at, mask=m) + tl.load(y + at, mask=m), mask=m)


@triton.jit
def softmax_kernel(out, x, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < cols)


@triton.jit
def rms_norm_kernel(out, x, w, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    m = at < cols
    v = tl.load(x + row * stride + at, mask=m, other=0.0).to(tl.float32)
    r = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / cols + eps)
    tl.store(out + row * stride + at, (v * r * tl.load(w + at, mask=m).to(tl.float32)), mask=m)


@triton.jit
def layer_norm_kernel(out, x, w, b, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    m = at < cols
    v = tl.load(x + row * stride + at, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    d = tl.where(m, v - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / cols + eps)
    y = d * r * tl.load(w + at, mask=m).to(tl.float32) + tl.load(b + at, mask=m).to(tl.float32)
    tl.store(out + row * stride + at, y, mask=m)


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * cols
    first = (pid // per_group) * GROUP
    size = min(rows - first, GROUP)
    pm = first + ((pid % per_group) % size)
    pn = (pid % per_group) // size
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    pa = a + om[:, None] * sam + ok[None, :] * sak
    pb = b + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        va = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        vb = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(va, vb, acc)
        pa += BK * sak
        pb += BK * sbk
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * scm + cn[None, :] * scn, acc.to(c.dtype.element_ty), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def matmul_blocks_kernel(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, OUT: tl.constexpr, WS: tl.constexpr,
):
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * cols
    for pid in tl.range(tl.program_id(0), rows * cols, tl.num_programs(0), warp_specialize=WS):
        first = (pid // per_group) * GROUP
        size = min(rows - first, GROUP)
        pm = first + ((pid % per_group) % size)
        pn = (pid % per_group) // size
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(a.load([pm * BM, k * BK]), b.load([k * BK, pn * BN]), acc)
        c.store([pm * BM, pn * BN], acc.to(OUT))


@triton.jit
def attention_kernel(
    q, k, v, out, scale, N, stride,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):
    block, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * stride
    om, on, od = block * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    tq = tl.load(q + base + om[:, None] * D + od[None, :])
    acc = tl.zeros([BM, D], dtype=tl.float32)
    top = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    end = (block + 1) * BM if CAUSAL else N
    for start in range(0, end, BN):
        tk = tl.load(k + base + (start + on)[None, :] * D + od[:, None])
        s = tl.dot(tq, tk) * scale
        if CAUSAL:
            s = tl.where(om[:, None] >= (start + on)[None, :], s, -1.0e6)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        tv = tl.load(v + base + (start + on)[:, None] * D + od[None, :])
        acc = tl.dot(p.to(tv.dtype), tv, acc * alpha[:, None])
        top = new
    tl.store(out + base + om[:, None] * D + od[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def many_arguments(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s):
    tl.store(a, i + j + k + l + m + n + o + p + q + r + s)
