"""Matrix products on the GPU against double precision: types, orders in memory, shapes, warps, stages, and loops around
them. Outputs are poisoned first.
"""

import pytest

import shoal
import shoal.language as tl

torch = pytest.importorskip("torch")


@shoal.jit
def product(a, b, c, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, K, BK):
        at = start + k
        x = tl.load(a + i[:, None] * sam + at[None, :] * sak, mask=at[None, :] < K, other=0)
        y = tl.load(b + at[:, None] * sbk + j[None, :] * sbn, mask=at[:, None] < K, other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * BN + j[None, :], acc)


@shoal.jit
def precise(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * BN + j[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + i[:, None] * BN + j[None, :], acc)


@shoal.jit
def two_products(a, b, d, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    left = tl.zeros((BM, BN), dtype=tl.float32)
    right = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        left = tl.dot(x, tl.load(b + (start + k)[:, None] * BN + j[None, :]), left)
        right = tl.dot(x, tl.load(d + (start + k)[:, None] * BN + j[None, :]), right * 0.5)
    tl.store(c + i[:, None] * BN + j[None, :], left + right)


@shoal.jit
def many_tiles(a, b, c, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    for tile in range(tl.program_id(0), M // BM, tl.num_programs(0)):
        rows = tile * BM + i
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, K, BK):
            x = tl.load(a + rows[:, None] * K + (start + k)[None, :])
            acc = tl.dot(x, tl.load(b + (start + k)[:, None] * BN + j[None, :]), acc)
        tl.store(c + rows[:, None] * BN + j[None, :], acc)


@shoal.jit
def attention(q, k, v, out, scale, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, SCALED: tl.constexpr):
    om, on, od = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    tq = tl.load(q + om[:, None] * D + od[None, :])
    if SCALED:
        tq = (tq * scale).to(tl.float16)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    top = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    for start in range(0, N, BN):
        tk = tl.load(k + (start + on)[:, None] * D + od[None, :])
        s = tl.dot(tq, tl.trans(tk))
        if not SCALED:
            s = s * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, 1)
        tv = tl.load(v + (start + on)[:, None] * D + od[None, :])
        acc = tl.dot(p.to(tl.float16), tv, acc * alpha[:, None])
        top = new
    tl.store(out + om[:, None] * D + od[None, :], acc / total[:, None])


def numbers(dtype, *shape):
    if dtype == torch.int8:
        return torch.randint(-8, 8, shape, device="cuda").to(dtype)
    return (torch.randn(*shape, device="cuda") * 0.5).to(torch.float16).to(dtype)


def agree(found, expected, tolerance):
    error = ((found.double() - expected).norm() / expected.norm()).item()
    assert error <= tolerance, error


SMALL = [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8]
SHAPES = [(64, 64, 32, 4, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 2), (128, 256, 64, 8, 4), (64, 16, 32, 4, 2)]
SHAPES += [(128, 64, 128, 8, 3), (64, 256, 32, 4, 1), (16, 16, 32, 1, 2), (256, 64, 64, 8, 3), (64, 8, 64, 4, 2)]


DTYPES = [torch.float16, torch.bfloat16, *SMALL, torch.float32, torch.float64]
ORDERS = ["rr", "rc", "cr", "cc"]
# Every type with every shape, and each of them with every order of the operands in memory.
CASES = [(dtype, ORDERS[(i + j) % 4], shape) for i, dtype in enumerate(DTYPES) for j, shape in enumerate(SHAPES)]


def case_name(case):
    return f"{str(case[0]).split('.')[1]}-{case[1]}-{'x'.join(map(str, case[2]))}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_orders_and_types(case):
    dtype, orders, (m, n, bk, warps, stages) = case
    size = 272
    a, b = numbers(dtype, m, size), numbers(dtype, size, n)
    a = a if orders[0] == "r" else a.T.contiguous().T
    b = b if orders[1] == "r" else b.T.contiguous().T
    whole = dtype == torch.int8
    double = dtype == torch.float64
    sums = torch.int32 if whole else torch.float64 if double else torch.float32
    c = torch.full((m, n), -77, device="cuda", dtype=sums)
    acc = tl.int32 if whole else tl.float64 if double else tl.float32
    strides = (*a.stride(), *b.stride())
    done = product[(1,)](a, b, c, size, *strides, m, n, bk, acc, num_warps=warps, num_stages=stages)
    if torch.cuda.get_device_capability() == (9, 0):
        assert ("wgmma.mma_async" in done.asm["ptx"]) == (m >= 64 and not double)
    expected = a.double() @ b.double()
    agree(c, expected, 0 if whole else 1e-14 if double else 2e-3 if dtype in SMALL else 1e-5)


# What each form of `float32` products may be off by, and what multiplies.
PRECISIONS = {
    "ieee": (1e-6, "fma.rn.f32"),
    "tf32": (1e-3, "tf32.tf32"),
    "tf32x3": (1e-5, "tf32.tf32"),
    "bf16x3": (1e-4, "tf32.tf32"),
    "bf16x6": (1e-6, "fma.rn.f32"),
}


@pytest.mark.parametrize("shape", [(64, 64, 32, 4, 3), (128, 64, 32, 8, 2), (16, 16, 16, 1, 1)], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_forms_of_float32(precision, shape):
    (m, n, bk, warps, stages), k = shape, 512
    a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
    c = torch.full((m, n), float("nan"), device="cuda")
    done = precise[(1,)](a, b, c, k, m, n, bk, precision, num_warps=warps, num_stages=stages)
    tolerance, instruction = PRECISIONS[precision]
    assert instruction in done.asm["ptx"]
    agree(c, a.double() @ b.double(), tolerance)
    # The rounded form is seen to round.
    if precision == "tf32":
        with pytest.raises(AssertionError):
            agree(c, a.double() @ b.double(), 1e-5)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_two_products_in_a_loop(warps, stages):
    k = 256
    a, b, d = numbers(torch.float16, 128, k), numbers(torch.float16, k, 64), numbers(torch.float16, k, 64)
    c = torch.full((128, 64), float("nan"), device="cuda")
    two_products[(1,)](a, b, d, c, k, 128, 64, 32, num_warps=warps, num_stages=stages)
    right = torch.zeros(128, 64, device="cuda", dtype=torch.float64)
    for start in range(0, k, 32):
        right = right * 0.5 + a[:, start : start + 32].double() @ d[start : start + 32].double()
    agree(c, a.double() @ b.double() + right, 1e-5)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_many_tiles_in_one_program(warps, stages):
    m, k = 1024, 192
    a, b = numbers(torch.bfloat16, m, k), numbers(torch.bfloat16, k, 128)
    c = torch.full((m, 128), float("nan"), device="cuda")
    many_tiles[(3,)](a, b, c, m, k, 128, 128, 64, num_warps=warps, num_stages=stages)
    agree(c, a.double() @ b.double(), 1e-5)


@pytest.mark.parametrize("d", [32, 64, 128])
@pytest.mark.parametrize("blocks", [(64, 64, 4, 3), (128, 64, 4, 3), (128, 128, 8, 2), (128, 64, 8, 1), (64, 32, 4, 4)])
def test_attention(blocks, d):
    (bm, bn, warps, stages), n, scaled = blocks, 512, d == 64
    q, k, v = (torch.randn(n, d, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.full((n, d), float("nan"), device="cuda")
    attention[(n // bm,)](q, k, v, out, d**-0.5, n, bm, bn, d, scaled, num_warps=warps, num_stages=stages)
    expected = torch.softmax(q.double() @ k.double().T * d**-0.5, 1) @ v.double()
    agree(out, expected, 3e-3)
