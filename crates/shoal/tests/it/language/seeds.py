# Kernels to be damaged: each uses much of the language, and compiles as it is.
# lower: softmax_rows(*fp32:16, *fp32:16, i32, i32:16, 16)
# lower: matmul(*fp16:16, *fp16:16, *fp32:16, i32, i32, i32:16, 16, 16, 16)
# lower: matmul(*fp32, *fp32, *fp32, i32, i32, i32, 16, 8, 8)
# lower: scans(*fp32:16, *i32:16, i32, 32)
# lower: sorting(*i32:16, *i32:16, 16)
# lower: flow(*i32, i32, i32)
# lower: locks(*i32, *fp32, i32)
# lower: shapes(*fp32:16, *fp32:16, 16)
# lower: views(*fp32:16, *fp32:16, i32, i32, 8, 8)
# lower: blocks(*fp32:16, *fp32:16, i32, i32, 8, 8)
# lower: types(*fp32, *i8, *fp8e5, *bf16, i64, 16)
# lower: noise(*fp32, i32, fp32, 16)
# lower: records(*fp32, (i32, fp32), i32, 3)
# lower: elements(*i32, *fp32, i32, 16)
# lower: debug(*fp32, i32, 16)
from typing import NamedTuple

import shoal
import shoal.language as tl
from shoal.language.extra import libdevice

LIMIT = tl.constexpr(3)


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 1


@shoal.aggregate
class Complex:
    re: tl.tensor
    im: tl.tensor

    @shoal.jit
    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


@shoal.constexpr_function
def log2(n):
    bits = 0
    while n > 1:
        n //= 2
        bits += 1
    return bits


@shoal.jit
def step(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@shoal.jit
def later(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@shoal.jit
def clipped(x, low=0, high: tl.constexpr = 10):
    if x < low:
        return low
    if x > high:
        return high
    return x


@shoal.jit
def total(first, *rest):
    s = first
    for i in tl.static_range(len(rest)):
        s += rest[i]
    return s


@shoal.jit(noinline=True)
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@shoal.jit
def softmax_rows(out, x, rows, stride, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        at = tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, mask=at < stride, other=-float("inf"))
        v = v - tl.max(v, axis=0)
        e = tl.exp(v)
        tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < stride)


@shoal.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="tf32")
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@shoal.jit
def scans(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    _, h = tl.associative_scan((v * 0.5, v), 0, step)
    best, at = tl.reduce((v, i), 0, later)
    tl.store(out + i, tl.cumsum(h.to(tl.int32), 0, reverse=True) + at)
    tl.store(out + BLOCK, tl.argmax(v, 0) + best)
    tl.store(out + i, tl.histogram(i % 4, BLOCK))


@shoal.jit
def sorting(x, out, N: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :]
    m = tl.load(x + at)
    tl.store(out + at, tl.sort(m, descending=True))
    tl.store(out + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :], tl.topk(m, 4))
    tl.store(out + at, tl.gather(tl.flip(m, 1), at % N, 1))


@shoal.jit
def flow(out, n, m):
    s = 0
    for i in range(n):
        for j in range(i, 0, -1):
            if (i + j) % 3 == 0:
                s += clipped(i * j)
            elif 1 < j < m:
                s -= 1
            else:
                s = s * 2 if s < 100 else s // 2
    while s > 0 and n != 0:
        s -= total(n, m, LIMIT)
    if n > m:
        tl.store(out, s)
        return
    for k in tl.static_range(3):
        tl.store(out + k, collatz(k + n))
    if (q := m * 2) > 6:
        tl.store(out, q, mask=n < 7)


@shoal.jit
def locks(flags, out, n):
    p = tl.program_id(0)
    while tl.atomic_cas(flags, 0, 1, sem="acquire") == 1:
        pass
    tl.store(out, tl.load(out) + p)
    tl.atomic_xchg(flags, 0, sem="release")
    old = tl.atomic_add(flags + 1 + tl.arange(0, 4), 1, mask=tl.arange(0, 4) < n, scope="gpu")
    tl.atomic_max(flags + 5, tl.sum(old))
    if p == 0:
        tl.atomic_poll(flags + 6, 1)


@shoal.jit
def shapes(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    m = tl.reshape(v, [4, N // 4])
    t = tl.trans(m)
    a, b = tl.split(tl.join(t, t + 1))
    c = tl.cat(a.ravel(), b.ravel()).reshape(2, N).permute(1, 0)
    w = tl.broadcast_to(c[:, :, None], N, 2, 2)
    tl.store(out + tl.arange(0, N * 4), w.reshape(N * 4))
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(v, v))


@shoal.jit
def views(x, out, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BR, BC], padding_option="nan")
    o = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BR, BC])
    for r in range(0, rows, BR):
        o.store([r, 0], d.load([r, 4]) * 2)


@shoal.jit
def blocks(x, out, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    p = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (BR, BC), (1, 0))
    o = tl.make_block_ptr(out, (rows, columns), (columns, 1), (0, 0), (BR, BC), (1, 0))
    for r in range(0, rows, BR):
        tl.store(o, tl.load(p, boundary_check=(0, 1), padding_option="zero"), boundary_check=(0, 1))
        p = tl.advance(p, (BR, 0))
        o = tl.advance(o, (BR, 0))


@shoal.jit
def types(f, b, e, h, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(f + i)
    y = tl.load(b + i)
    z = tl.load(e + i).to(tl.float32)
    w = tl.load(h + i)
    tl.store(f + i, x + y * z / 3 - w % 2)
    tl.store(b + i, (y << 1) ^ (y >> 1) | ~y & 7)
    tl.store(e + i, x.to(tl.float8e5, fp_downcast_rounding="rtz"))
    tl.store(h + i, tl.where(x < 0, w, x.to(tl.bfloat16)))
    p = (f.to(tl.int64) + n).to(tl.pointer_type(tl.uint16))
    tl.store(p + i, i.to(tl.uint16, bitcast=False))
    tl.static_assert(x.dtype.is_fp32() and N >= 2 ** log2(N), f"N is {N}")


@shoal.jit
def noise(out, seed, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out + i, tl.where(keep, tl.randn(seed, i), 0.0) + (a ^ b ^ c ^ d).to(tl.float32))


@shoal.jit
def records(out, pair, n, N: tl.constexpr):
    count, scale = pair
    p = Point(count, y=scale)
    z = Complex(p.x * 1.0, p.y)
    for i in range(n):
        p = Point(p.x + 1, p.y * 2)
        z = z * Complex(0.0, 1.0)
    parts = [v * 2 for v in (p.x, n)] + [N]
    tl.store(out, parts[0] + parts[-1] + z.re)
    tl.store(out + 1, tl.aggregate_replace(z, im=2.0).im)


@shoal.jit
def elements(x, out, n, N: tl.constexpr):
    i = tl.multiple_of(tl.max_contiguous(tl.arange(0, N), N), N)
    tl.assume(n > 0)
    v = tl.load(x + i, mask=i < n, other=1, eviction_policy="evict_first")
    f = libdevice.pow(v.to(tl.float32), 1.5) + tl.math.sqrt(tl.abs(v * 1.0))
    tl.store(out + i, tl.map_elementwise(collatz, v) + libdevice.tanh(f), cache_modifier=".wb")


@shoal.jit
def debug(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.device_assert(i < n, "inside")
    tl.device_print("i", i, n, hex=True)
    tl.static_print("N", N)
    assert n > 0, "positive"
    tl.debug_barrier()
    tl.store(x + i, i.to(tl.float32))
