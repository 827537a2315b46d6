"""The library's kernels of several ranks, from Python: every one on worlds of one to four ranks, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import shoal
from shoal import kernels

SIZES = (1, 2, 3, 4)
TYPES = (np.float32, np.float16, ml_dtypes.bfloat16)


def world(n):
    return shoal.World.threads(n, heap_bytes=1 << 25, timeout=60)


def data(rank, shape, dtype, what=0):
    return np.random.default_rng((rank, what)).standard_normal(shape).astype(dtype)


def poisoned(shape, dtype):
    return np.full(shape, np.nan, dtype)


def close(result, expected, dtype):
    tolerance = {np.float32: 1e-4, np.float16: 1e-2, ml_dtypes.bfloat16: 6e-2}[dtype]
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=tolerance, atol=tolerance)


def wide(ranks, shape, dtype, what=0):
    return [data(rank, shape, dtype, what).astype(np.float64) for rank in range(ranks)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_all_reduce(n, dtype):
    shape = (7, 150)

    def reduce(rank):
        x, bias = data(rank.rank, shape, dtype), data(9, shape[1:], dtype)
        symmetric = rank.symm_empty(shape, dtype)
        symmetric[:] = x
        results = [
            kernels.one_shot_all_reduce(x, poisoned(shape, dtype)),
            kernels.one_shot_all_reduce(symmetric),
            kernels.two_shot_all_reduce(x),
            kernels.one_shot_all_reduce_bias(x, bias),
            kernels.two_shot_all_reduce_bias(x, bias, poisoned(shape, dtype)),
            kernels.two_shot_all_reduce_in_place(symmetric).copy(),
            kernels.all_reduce_put(x, poisoned(shape, dtype)),
        ]
        assert not rank.signal_pad().any()
        return results

    everything = world(n).run(reduce)
    total, bias = sum(wide(n, shape, dtype)), data(9, shape[1:], dtype).astype(np.float64)
    for results in everything:
        for at, result in enumerate(results):
            close(result, total + bias if at in (3, 4) else total, dtype)
            assert (result == everything[0][at]).all()


@pytest.mark.parametrize("n", SIZES)
def test_all_reduce_and_rms_norm(n):
    shape, dtype = (5, 100), np.float32

    def reduce(rank):
        x, bias, w = data(rank.rank, shape, dtype), data(8, 100, dtype), data(9, 100, dtype)
        return [
            function(x, bias, w, poisoned(shape, dtype), eps=1e-3)
            for function in (kernels.one_shot_all_reduce_bias_rms_norm, kernels.two_shot_all_reduce_bias_rms_norm)
        ]

    row = sum(wide(n, shape, dtype)) + data(8, 100, dtype)
    expected = row / np.sqrt((row**2).mean(1, keepdims=True) + 1e-3) * data(9, 100, dtype)
    for results in world(n).run(reduce):
        for result in results:
            close(result, expected, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_all_gather_broadcast_and_ring(n, dtype):
    def gather(rank):
        x = data(rank.rank, 333, dtype)
        symmetric = rank.symm_empty((n, 333), dtype)
        functions = (
            kernels.all_gather_push,
            kernels.all_gather_pull,
            kernels.all_gather_ring,
            kernels.all_gather_2d,
            kernels.all_gather_put,
            kernels.all_gather_put_ring,
            kernels.all_gather_with_progress,
        )
        gathered = [function(x, poisoned((n, 333), dtype)) for function in functions]
        gathered += [function(x) for function in functions]
        symmetric.fill(np.nan)
        gathered.append(kernels.all_gather_push(x, symmetric).copy())
        sent = [broadcast(x.copy(), root=n - 1) for broadcast in (kernels.broadcast, kernels.broadcast_put)]
        return gathered, kernels.ring_put(x), sent

    expected = np.stack([data(rank, 333, dtype) for rank in range(n)])
    for rank, (gathered, put, sent) in enumerate(world(n).run(gather)):
        assert all((result == expected).all() for result in gathered)
        assert (put == expected[rank - 1]).all() and all((copy == expected[n - 1]).all() for copy in sent)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("size", [1, 2, 1001])
@pytest.mark.parametrize("function", [kernels.reduce_scatter, kernels.reduce_scatter_put])
def test_reduce_scatter(n, size, function):
    def reduce(rank):
        return function(data(rank.rank, size, np.float32))

    total = sum(wide(n, size, np.float32))
    close(np.concatenate(world(n).run(reduce)), total, np.float32)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("function", [kernels.all_to_all, kernels.all_to_all_put])
def test_all_to_all(n, function):
    def counts(sender):
        return [(sender + 2 * to) % 4 for to in range(n)]

    def exchange(rank):
        return function(data(rank.rank, (12, 33), np.float32), counts(rank.rank))

    for rank, (rows, received) in enumerate(world(n).run(exchange)):
        assert received == [counts(sender)[rank] for sender in range(n)]
        starts = [sum(counts(sender)[:rank]) for sender in range(n)]
        parts = [
            data(sender, (12, 33), np.float32)[start : start + count]
            for sender, start, count in zip(range(n), starts, received)
        ]
        assert (rows == np.concatenate(parts)).all()


@pytest.mark.parametrize("function", [kernels.all_to_all, kernels.all_to_all_put])
def test_splits_that_cannot_be_are_told_before_anything_is_sent(function):
    x = np.ones((8, 3), np.float32)
    how_many = "`splits` says how many rows go to each of the 3 ranks; it is "
    for splits, told in (
        ([1, 1], how_many + r"\[1, 1\]"),
        ([1] * 4, how_many),
        ([], how_many),
        ([1, -1, 1], how_many),
        ([1, 1.5, 1], how_many),
        ([3, 3, 3], "`splits` sends 9 rows, but `x` has 8"),
        ([1 << 62, 0, 0], "`splits` sends 4611686018427387904 rows, but `x` has 8"),
    ):
        with pytest.raises(ValueError, match=told):
            world(3).run(lambda rank, splits: function(x, splits if rank.rank == 1 else [1] * 3), splits)
    with pytest.raises(ValueError, match=r"`x` must have rows and columns; it has the shape \(8, 0\)"):
        world(3).run(lambda rank: function(x[:, :0].copy(), [1] * 3))
    with pytest.raises(ValueError, match=r"`out` has the shape \(3, 4\), but .*rows of 3"):
        world(3).run(lambda rank: function(x, [1] * 3, np.zeros((3, 4), np.float32)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_products(n, dtype):
    (m, cols, k) = (33, 20, 17)

    def multiply(rank):
        a, b = data(rank.rank, (m, k), dtype), data(rank.rank, (k, cols), dtype, 1)
        scattered = [kernels.gemm_reduce_scatter(a, b)]
        scattered += [kernels.gemm_reduce_scatter_ce_persistent(a, b) for _ in range(2)]
        same = data(0, (k, cols), dtype, 1)
        gathered = []
        for splits in (None, 1, 2):
            rows, product = kernels.all_gather_matmul(a, same, splits)
            assert (rows == np.concatenate([data(other, (m, k), dtype) for other in range(n)])).all()
            gathered.append(product)
        gathered.append(kernels.all_gather_matmul_pull(a, same))
        return kernels.gemm_one_shot_all_reduce(a, b, poisoned((m, cols), dtype)), scattered, gathered

    everything = world(n).run(multiply)
    factors, others = wide(n, (m, k), dtype), wide(n, (k, cols), dtype, 1)
    total = sum(a @ b for a, b in zip(factors, others))
    for turn in range(3):
        close(np.concatenate([scattered[turn] for _, scattered, _ in everything]), total, dtype)
    for reduced, _, gathered in everything:
        close(reduced, total, dtype)
        for product in gathered:
            close(product, np.concatenate(factors) @ others[0], dtype)


@pytest.mark.parametrize("n", [1, 3])
def test_ranks_without_elements(n):
    def nothing(rank):
        x = np.zeros((0, 8), np.float32)
        for reduce in (kernels.one_shot_all_reduce, kernels.two_shot_all_reduce, kernels.all_reduce_put):
            assert reduce(x).shape == (0, 8)
        gathered, product = kernels.all_gather_matmul(x, np.ones((8, 3), np.float32))
        assert gathered.shape == (0, 8) and product.shape == (0, 3)
        for m, k, cols in ((0, 8, 3), (n + 1, 0, 3), (n + 1, 8, 0), (0, 0, 0)):
            a, b = np.ones((m, k), np.float32), np.ones((k, cols), np.float32)
            rows = max(min(-(-m // n), m - -(-m // n) * rank.rank), 0)
            assert (kernels.gemm_one_shot_all_reduce(a, b) == np.full((m, cols), k * n)).all()
            for scatter in (kernels.gemm_reduce_scatter, kernels.gemm_reduce_scatter_ce_persistent):
                assert scatter(a, b).shape == (rows, cols)
                assert (scatter(a, b) == k * n).all()
            for product in (
                kernels.all_gather_matmul(a, b)[1],
                kernels.all_gather_matmul(a, b, splits=2)[1],
                kernels.all_gather_matmul_pull(a, b),
            ):
                assert product.shape == (n * m, cols)
                assert (product == k).all()
        # What comes after meets no traces of it.
        return kernels.two_shot_all_reduce(np.full(5, rank.rank, np.float32)).tolist()

    assert world(n).run(nothing) == [[n * (n - 1) / 2] * 5] * n


def test_what_does_not_fit_is_refused():
    def refuse(rank):
        x = np.zeros((4, 4), np.float32)
        with pytest.raises(ValueError, match="float32, float16 and bfloat16, not int32"):
            kernels.two_shot_all_reduce(x.astype(np.int32))
        with pytest.raises(ValueError, match="must be contiguous"):
            kernels.two_shot_all_reduce(x[:, ::2])
        with pytest.raises(ValueError, match="`out` has the shape"):
            kernels.two_shot_all_reduce(x, np.zeros(3, np.float32))
        with pytest.raises(TypeError, match="`out` is of float64, but the first array of float32"):
            kernels.two_shot_all_reduce(x, np.zeros((4, 4)))
        with pytest.raises(ValueError, match="overlaps"):
            kernels.two_shot_all_reduce(x, x)
        with pytest.raises(ValueError, match="must be symmetric"):
            kernels.two_shot_all_reduce_in_place(x)
        with pytest.raises(TypeError, match="`b` is of float64, but the first array of float32"):
            kernels.all_gather_matmul(x, np.zeros((4, 4)))
        with pytest.raises(ValueError, match="no product"):
            kernels.gemm_reduce_scatter(x, np.zeros((3, 4), np.float32))
        with pytest.raises(ValueError, match="`root` is 7; it must be a number from 0 to 0"):
            kernels.broadcast(x, root=7)
        with pytest.raises(ValueError, match="how many rows go to each of the 1 ranks"):
            kernels.all_to_all_put(x, [1, 2])
        with pytest.raises(ValueError, match="but 3 rows of 4 have come"):
            kernels.all_to_all_put(x, [3], np.zeros((2, 4), np.float32))
        with pytest.raises(ValueError, match="read-only"):
            frozen = np.zeros((4, 4), np.float32)
            frozen.setflags(write=False)
            kernels.two_shot_all_reduce(x, frozen)
        return True

    assert world(1).run(refuse) == [True]
    with pytest.raises(RuntimeError, match="acts as no rank"):
        kernels.two_shot_all_reduce(np.zeros(4, np.float32))


@pytest.mark.parametrize("n", (2, 3, 7))
@pytest.mark.parametrize(
    "call, told",
    [
        (
            lambda one: kernels.two_shot_all_reduce(np.ones(200 if one else 100, np.float32)),
            "two_shot_all_reduce(bytes = 800)",
        ),
        (lambda one: kernels.one_shot_all_reduce(np.ones(9, np.float16 if one else np.float32)), "of float16"),
        (
            lambda one: kernels.broadcast(np.ones(5, np.float32), 1 if one else 0),
            "broadcast(n = 5, root = 1) of float32",
        ),
        (
            lambda one: (kernels.all_gather_push if one else kernels.all_gather_ring)(np.ones(5, np.float32)),
            "rank 1: all_gather_push(bytes = ",
        ),
        (
            lambda one: kernels.all_to_all_put(
                np.ones((0, 3 if one else 4), np.float32), [0] * shoal.current_rank().num_ranks
            ),
            "dim = 3",
        ),
        (
            lambda one: kernels.all_to_all(
                np.ones((3 if one else 4, 2), np.float32), [0] * shoal.current_rank().num_ranks
            ),
            "rank 1: all_to_all(rows = 3, dim = 2)",
        ),
        (
            lambda one: kernels.all_to_all(
                np.ones((3 if one else 4, 2), np.float32),
                [1] * shoal.current_rank().num_ranks if shoal.current_rank().num_ranks < 4 else [0] * 7,
                np.ones((9, 2), np.float32),
            ),
            "rank 1: all_to_all(rows = 3, dim = 2)",
        ),
    ],
    ids=["size", "type", "root", "function", "before an exchange", "rows", "rows, with a place for them"],
)
def test_ranks_that_call_different_things_are_told(n, call, told):
    def differ(rank):
        # Memory to work in is there, and the others go straight to their kernels.
        kernels.two_shot_all_reduce(np.ones(100, np.float32))
        call(rank.rank == 1)
        rank.barrier()

    with pytest.raises(shoal.WorldError) as raised:
        world(n).run(differ)
    assert "the ranks make different calls: " in str(raised.value), raised.value
    assert "rank 1: " in str(raised.value) and told in str(raised.value), raised.value


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("of", ["arrays of their own places", "an array of symmetric memory and another"])
def test_symmetric_arrays_must_lie_at_the_same_place_of_all_ranks(n, of):
    def reduce(rank):
        x = rank.symm_zeros((n, 4), np.float32)
        own = x[rank.rank] if of.startswith("arrays") or rank.rank else np.zeros(4, np.float32)
        kernels.one_shot_all_reduce(own)

    with pytest.raises(shoal.WorldError, match="the ranks make different calls|out of step|different"):
        shoal.World.threads(n, heap_bytes=1 << 22, timeout=20).run(reduce)
