"""Tools around kernels: microscaling numbers, ragged descriptors."""

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged


@shoal.jit
def read_slice(desc, start, size, row, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    found = load_ragged(desc, start, size, [row, 0])
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, found)


@shoal.jit
def write_slice(desc, start, size, row, value, ADD: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    data = tl.full((ROWS, COLUMNS), value, tl.float32)
    if ADD:
        atomic_add_ragged(desc, start, size, [row, 0], data)
    else:
        store_ragged(desc, start, size, [row, 0], data)


@pytest.mark.parametrize(("start", "size", "row"), [(0, 5, 0), (5, 7, 4), (12, 3, 0), (3, 0, 0), (10, 6, 3)])
def test_a_block_ends_where_its_slice_ends(start, size, row):
    x = np.arange(20 * 16, dtype=np.float32).reshape(20, 16)
    out = np.full((8, 16), -1, np.float32)
    read_slice[(1,)](create_ragged_descriptor(x, [8, 16]), start, size, row, out, ROWS=8, COLUMNS=16)
    expected = np.zeros((8, 16), np.float32)
    there = max(0, min(8, size - row))
    expected[:there] = x[start + row : start + row + there]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("add", [False, True])
def test_what_is_beyond_a_slice_is_not_written(add):
    x = np.ones((20, 16), np.float32)
    write_slice[(1,)](create_ragged_descriptor(x, [8, 16]), 5, 6, 2, 3.0, ADD=add, ROWS=8, COLUMNS=16)
    expected = np.ones((20, 16), np.float32)
    expected[7:11] = 4 if add else 3
    np.testing.assert_array_equal(x, expected)


@pytest.mark.torch
def test_numbers_of_four_bits():
    torch = pytest.importorskip("torch")
    from shoal.tools.mxfp import MXFP4Tensor, MXScaleTensor

    codes = MXFP4Tensor(size=(16,))
    codes.data = torch.arange(16, dtype=torch.uint8)
    numbers = codes.to(torch.float32)
    assert numbers.tolist()[:8] == [0, 0.5, 1, 1.5, 2, 3, 4, 6] and (numbers[8:] == -numbers[:8]).all()
    # Every number comes back; ties go to even; what is too large is the largest.
    assert (MXFP4Tensor(data=numbers[1:8]).data == codes.data[1:8]).all()
    given = torch.tensor([0.25, 0.75, 1.25, 2.5, 3.5, 5.0, 7.0, float("inf"), float("nan"), -0.3])
    assert MXFP4Tensor(data=given).to(torch.float32).tolist() == [0, 1, 1, 2, 4, 4, 6, 6, 6, -0.5]
    for dim in (0, 1):
        some = MXFP4Tensor(size=(7, 5)).random()
        packed = some.to_packed_tensor(dim)
        assert (some.unpack_packed_tensor(packed, dim, (7, 5)) == some.data).all()
    scales = MXScaleTensor(data=torch.tensor([1.0, 2.0, 3.0, 0.25, 0.0, -1.0, float("nan")]))
    assert scales.data.tolist() == [127, 128, 128, 125, 255, 255, 255]
    assert scales.to(torch.float32)[:4].tolist() == [1.0, 2.0, 2.0, 0.25]
    assert MXScaleTensor(size=(100,)).random(0.5, 4.0).to(torch.float32).min() >= 0.5


@pytest.mark.torch
@pytest.mark.parametrize("formats", [("e2m1", "e2m1"), ("e4m3", "e2m1"), ("bf16", "e2m1"), ("fp16", "e5m2")])
def test_scaled_products_agree_with_torch(formats):
    torch = pytest.importorskip("torch")
    from shoal.tools.mxfp import MXFP4Tensor, MXScaleTensor

    M, N, K = 32, 32, 128
    torch.manual_seed(0)

    def operand(kind, shape, dim):
        if kind == "e2m1":
            numbers = MXFP4Tensor(size=shape).random()
            return numbers.to_packed_tensor(dim), numbers.to(torch.float32)
        types = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16, "fp16": torch.float16}
        numbers = torch.randn(shape).to(types[kind])
        return numbers, numbers.float()

    (a, a_numbers), (b, b_numbers) = operand(formats[0], (M, K), 1), operand(formats[1], (K, N), 0)
    sa, sb = MXScaleTensor(size=(M, K // 32)).random(0.25, 4.0), MXScaleTensor(size=(N, K // 32)).random(0.25, 4.0)
    wide_a = sa.to(torch.float32).repeat_interleave(32, 1)
    wide_b = sb.to(torch.float32).repeat_interleave(32, 1).T
    expected = (a_numbers * wide_a).double() @ (b_numbers * wide_b).double()

    @shoal.jit
    def kernel(a, b, sa, sb, out, A: tl.constexpr, B: tl.constexpr, AK: tl.constexpr, BK: tl.constexpr):
        m, n, g = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 4)
        x = tl.load(a + m[:, None] * AK + tl.arange(0, AK)[None, :])
        y = tl.load(b + tl.arange(0, BK)[:, None] * 32 + n[None, :])
        sx = tl.load(sa + m[:, None] * 4 + g[None, :])
        sy = tl.load(sb + n[:, None] * 4 + g[None, :])
        tl.store(out + m[:, None] * 32 + n[None, :], tl.dot_scaled(x, sx, A, y, sy, B))

    out = torch.full((M, N), float("nan"))
    kernel[(1,)](a, b, sa.data, sb.data, out, A=formats[0], B=formats[1], AK=a.shape[1], BK=b.shape[0])
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-3)


def test_linear_layouts_map_bits():
    from shoal.tools import LinearLayout

    identity = LinearLayout.identity_1d(8, "in", "out")
    assert identity.bases == [("in", [[1], [2], [4]])] and identity.out_dims == [("out", 8)]
    assert [identity.apply({"in": i})["out"] for i in range(8)] == list(range(8))
    assert LinearLayout.strided_1d(4, 2, "in", "out").apply({"in": 3}) == {"out": 6}
    assert LinearLayout.zeros_1d(4, "in", "out").apply({"in": 3}) == {"out": 0}
    assert LinearLayout.identity_1d(4, "in", "out") * LinearLayout.identity_1d(8, "in", "out") == (
        LinearLayout.identity_1d(32, "in", "out")
    )
    both = LinearLayout.identity_1d(4, "lane", "x") * LinearLayout.identity_1d(8, "warp", "y")
    assert both.apply({"lane": 3, "warp": 5}) == {"x": 3, "y": 5} and both.is_invertible()
    swizzled = LinearLayout.from_bases([("offset", [[0, 1], [0, 2], [1, 1], [2, 2]])], ["row", "column"])
    assert swizzled.apply({"offset": 6}) == {"row": 1, "column": 3}
    assert swizzled.compose(swizzled.invert()) == LinearLayout.identity_1d(16, "offset", "offset")
    assert swizzled.get_matrix_view() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    with pytest.raises(ValueError, match="does not reach"):
        LinearLayout.from_bases([("in", [[1], [1]])], ["out"], [4])
    with pytest.raises(ValueError, match="power of 2"):
        LinearLayout.identity_1d(6, "in", "out")


def test_inverting_and_composing_finds_the_same_place():
    from shoal.tools import LinearLayout

    random = np.random.default_rng(0)
    for _ in range(50):
        bits = int(random.integers(1, 7))

        def invertible(name, bits=bits):
            while True:
                rows = [(name, [[int(v)] for v in random.integers(0, 1 << bits, bits)])]
                layout = LinearLayout.from_bases(rows, ["out"], [1 << bits], require_surjective=False)
                if layout.is_invertible():
                    return layout

        a, b = invertible("a"), invertible("b")
        between = a.invert_and_compose(b)
        for i in range(1 << bits):
            assert b.apply(between.apply({"a": i})) == a.apply({"a": i})
