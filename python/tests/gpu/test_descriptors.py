"""Blocks of tensors by the copy engine: loads and stores at all edges, types and shapes, products that run ahead of
their loops, persistent kernels, and loops that warps of their own feed. Outputs are poisoned first.
"""

import pytest

import shoal
import shoal.language as tl
from shoal.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@shoal.jit
def copy_blocks(x, y, dy, dx, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([i, j], x.load([i + dy, j + dx]))


@shoal.jit
def copy_made(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr, PAD: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padding_option=PAD)
    b = tl.make_tensor_descriptor(y, [M * 1, N], [N, 1], [BM, BN])
    b.store([i, j], a.load([i + 1, j]) + a.load([i, j]))


@shoal.jit
def copy_deep(x, y, A, B, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [A, B, C], [B * C, C, 1], [BA, BB, BC])
    b = tl.make_tensor_descriptor(y, [A, B, C], [B * C, C, 1], [BA, BB, BC])
    at = [tl.program_id(0) * BA, tl.program_id(1) * BB, tl.program_id(2) * BC]
    b.store(at, a.load(at) * 2)


@shoal.jit
def copy_row(x, y, N, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [N], [1], [BLOCK])
    b = tl.make_tensor_descriptor(y, [N], [1], [BLOCK])
    b.store([tl.program_id(0) * BLOCK], a.load([tl.program_id(0) * BLOCK]))


@shoal.jit
def running(x, n, STEPS: tl.constexpr, B: tl.constexpr):
    """Each step reads what the step before has stored: by blocks, and by pointers."""
    d = tl.make_tensor_descriptor(x, [n, B], [B, 1], [B, B])
    for step in range(STEPS):
        at = step * B
        d.store([at + B, 0], d.load([at, 0]) + 1)
        i, j = tl.arange(0, B), tl.arange(0, B)
        p = x + (at + B + i)[:, None] * B + j[None, :]
        tl.store(p, tl.load(p) * 2)


@shoal.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, TURN: tl.constexpr):
    pm, pn = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        x = a.load([pm, k])
        y = b.load([pn, k]).T if TURN else b.load([k, pn])
        acc = tl.dot(x, y, acc)
    c.store([pm, pn], acc)


@shoal.jit
def persistent(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr, FLAT: tl.constexpr
):
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=WS, flatten=FLAT):
        pm, pn = (tile // columns) * BM, (tile % columns) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([pm, k]), b.load([k, pn]), acc)
        c.store([pm, pn], acc.to(tl.float16))


@shoal.jit
def attention(q, k, v, out, scale, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, WS: tl.constexpr):
    first = tl.program_id(0) * BM
    tq = q.load([first, 0])
    acc = tl.zeros([BM, D], dtype=tl.float32)
    top = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    for start in tl.range(0, N, BN, warp_specialize=WS):
        s = tl.dot(tq, k.load([start, 0]).T) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v.load([start, 0]), acc * alpha[:, None])
        top = new
    out.store([first, 0], (acc / total[:, None]).to(tl.float16))


def agree(found, expected, tolerance):
    error = ((found.double() - expected).norm() / expected.norm()).item()
    assert error <= tolerance, error


def by_engine(kernel):
    assert "cp.async.bulk.tensor" in kernel.asm["ptx"]
    return kernel.asm["ptx"]


def numbers(dtype, *shape):
    if dtype.is_floating_point:
        return (torch.randn(*shape, device="cuda") * 0.5).to(torch.float16).to(dtype)
    return torch.randint(-8, 8, shape, device="cuda").to(dtype)


BLOCKS = [(32, 32), (128, 64), (16, 256), (8, 8), (64, 16), (4, 512), (256, 64)]
TYPES = [torch.float16, torch.float32, torch.int8, torch.float64, torch.int32, torch.bfloat16]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks_at_all_edges(block, dtype):
    (bm, bn), m, n = block, 300, 304
    if bn * dtype.itemsize < 16 or bm * bn * dtype.itemsize > 64 << 10:
        pytest.skip("no such block")
    x = numbers(dtype, m, n)
    for dy, dx in ((0, 0), (-3, 5), (7, -16)):
        y = torch.full_like(x, 77)
        blocks = [TensorDescriptor.from_tensor(t, [bm, bn]) for t in (x, y)]
        done = copy_blocks[(shoal.cdiv(m, bm), shoal.cdiv(n, bn))](*blocks, dy, dx, bm, bn)
        # Blocks that begin at an odd column are loaded through pointers.
        assert ("cp.async.bulk.tensor.2d.shared" in done.asm["ptx"]) == (dx % 16 == 0)
        padded = torch.zeros(m + 32, n + 32, device="cuda", dtype=dtype)
        padded[16 : 16 + m, 16 : 16 + n] = x
        assert torch.equal(y, padded[16 + dy : 16 + dy + m, 16 + dx : 16 + dx + n])


@pytest.mark.parametrize("pad", ["zero", "nan"])
def test_descriptors_made_in_the_kernel(pad):
    m, n = 100, 160
    x = torch.randn(m, n, device="cuda")
    y = torch.full_like(x, 77)
    by_engine(copy_made[(4, 3)](x, y, m, n, 32, 64, pad))
    below = torch.full_like(x, 0 if pad == "zero" else float("nan"))
    below[:-1] = x[1:]
    assert torch.equal(torch.nan_to_num(y, 5), torch.nan_to_num(x + below, 5))


def test_three_dimensions_and_one():
    x = torch.randn(5, 70, 96, device="cuda", dtype=torch.float16)
    y = torch.full_like(x, 77)
    by_engine(copy_deep[(3, 3, 2)](x, y, 5, 70, 96, 2, 32, 64))
    assert torch.equal(y, x * 2)
    x = torch.randn(1000, device="cuda")
    y = torch.full_like(x, 77)
    by_engine(copy_row[(2,)](x, y, 1000, 512))
    assert torch.equal(y, x)


def test_stores_are_seen_by_what_follows():
    block, steps = 32, 20
    x = torch.zeros(block * (steps + 1), block, device="cuda")
    by_engine(running[(1,)](x, block * (steps + 1), steps, block))
    expected = 0
    for step in range(1, steps + 1):
        expected = (expected + 1) * 2
        assert (x[step * block : (step + 1) * block] == expected).all(), step


def test_tensors_that_the_engine_cannot_reach_are_refused():
    x = torch.randn(64, 65, device="cuda")
    blocks = [TensorDescriptor.from_tensor(t, [32, 32]) for t in (x, torch.empty_like(x))]
    with pytest.raises(Exception, match="multiples of 16 bytes"):
        copy_blocks[(2, 3)](*blocks, 0, 0, 32, 32)


SHAPES = [(64, 64, 64, 4, 3), (128, 128, 64, 4, 3), (128, 256, 64, 8, 4), (128, 64, 32, 8, 1), (64, 16, 32, 4, 2)]
SHAPES += [(16, 16, 32, 1, 2), (128, 128, 128, 4, 2)]
PRODUCTS = [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.float32, torch.float64]


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("dtype", PRODUCTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(shape, dtype, turn):
    bm, bn, bk, warps, stages = shape
    if bm * bk * dtype.itemsize > 32 << 10 or bn * bk * dtype.itemsize > 32 << 10:
        pytest.skip("no such block")
    m, n, k = 200, 272, 336
    a, b = numbers(dtype, m, k), numbers(dtype, n, k)
    b = b if turn else b.T.contiguous()
    whole, double = dtype == torch.int8, dtype == torch.float64
    c = torch.full((m, n), 77, device="cuda", dtype=torch.int32 if whole else dtype if double else torch.float32)
    acc = tl.int32 if whole else tl.float64 if double else tl.float32
    blocks = [[bm, bk], [bn, bk] if turn else [bk, bn], [bm, bn]]
    tensors = [TensorDescriptor.from_tensor(*pair) for pair in zip((a, b, c), blocks, strict=True)]
    grid = (shoal.cdiv(m, bm), shoal.cdiv(n, bn))
    by_engine(product[grid](*tensors, k, bm, bn, bk, acc, turn, num_warps=warps, num_stages=stages))
    expected = a.double() @ (b.double().T if turn else b.double())
    agree(c, expected, 0 if whole else 1e-14 if double else 2e-3 if dtype.itemsize == 1 else 1e-5)


@pytest.mark.parametrize("how", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(
    "shape", [(128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 2), (128, 128, 64, 8, 4)]
)
def test_many_tiles_in_one_program(shape, how):
    bm, bn, bk, warps, stages = shape
    for m, n, k in ((1000, 776, 520), (384, 256, 64), (130, 136, 2048)):
        a, b = numbers(torch.float16, m, k), numbers(torch.float16, k, n)
        c = torch.full((m, n), 77, device="cuda", dtype=torch.float16)
        blocks = ([bm, bk], [bk, bn], [bm, bn])
        tensors = [TensorDescriptor.from_tensor(*pair) for pair in zip((a, b, c), blocks, strict=True)]
        done = persistent[(3,)](*tensors, m, n, k, bm, bn, bk, *how, num_warps=warps, num_stages=stages)
        assert ("mbarrier.arrive.shared::cta.b64" in by_engine(done)) == any(how)
        agree(c, a.double() @ b.double(), 1e-3)


@pytest.mark.parametrize("specialised", [False, True])
@pytest.mark.parametrize("blocks", [(64, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2)])
@pytest.mark.parametrize("d", [64, 128])
def test_attention(d, blocks, specialised):
    (bm, bn, warps, stages), n = blocks, 512
    q, k, v = (torch.randn(n, d, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.full((n, d), 77, device="cuda", dtype=torch.float16)
    sides = (bm, bn, bn, bm)
    tensors = [TensorDescriptor.from_tensor(t, [b, d]) for t, b in zip((q, k, v, out), sides, strict=True)]
    grid, scale = (n // bm,), d**-0.5
    by_engine(attention[grid](*tensors, scale, n, bm, bn, d, specialised, num_warps=warps, num_stages=stages))
    expected = torch.softmax(q.double() @ k.double().T * scale, 1) @ v.double()
    agree(out, expected, 3e-3)
