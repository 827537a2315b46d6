"""Collectives with the computation inside: products, and RMS norms of sums."""

from __future__ import annotations

from typing import Any

from shoal.kernels.communicator import (
    Communicator,
    apart,
    checked,
    communicator,
    given,
    optional,
    pieces,
    result,
    type_name,
)
from shoal.world import arrays
from shoal.world.arrays import Layout


def one_shot_all_reduce_bias_rms_norm(x: Any, bias: Any, w: Any, out: Any = None, eps: float = 1e-5) -> Any:
    """The RMS norm of the rows of the sum of all ranks' `x` plus a bias for each column, times a weight for each."""
    return _all_reduce_rms_norm(1, x, bias, w, out, eps)


def two_shot_all_reduce_bias_rms_norm(x: Any, bias: Any, w: Any, out: Any = None, eps: float = 1e-5) -> Any:
    """The same in two shots."""
    return _all_reduce_rms_norm(2, x, bias, w, out, eps)


def _all_reduce_rms_norm(shots: int, x: Any, bias: Any, w: Any, out: Any, eps: float) -> Any:
    name = f"{('one', 'two')[shots - 1]}_shot_all_reduce_bias_rms_norm"
    comm, like = communicator(name), checked(x, "x")
    if not like.shape or checked(w, "w", like).shape != like.shape[-1:]:
        raise ValueError(f"`w` has a weight for each column of `x`, whose shape is {like.shape}")
    if bias is not None and checked(bias, "bias", like).shape != like.shape[-1:]:
        raise ValueError(f"`bias` has a number for each column of `x`, whose shape is {like.shape}")
    shared, out = comm.workspace("shared", like.shape, like.dtype), result(out, like.shape, like)
    apart(out, x, bias, w)
    dtype = type_name(like.dtype)
    comm.native.all_reduce_bias_rms_norm(
        dtype, shots, given(x), optional(bias), given(w), given(shared), given(out), eps
    )
    return out


def gemm_one_shot_all_reduce(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b`, summed over all ranks: each has its part of the inner dimension."""
    comm, like, (m, n, k) = _factors("gemm_one_shot_all_reduce", a, b)
    out = result(out, (m, n), like)
    _gemm(comm, like, "all_reduce", (m, n, k), a, b, out)
    return out


def gemm_reduce_scatter(a: Any, b: Any, out: Any = None) -> Any:
    """This rank's rows of that; the last ranks have fewer, or none."""
    comm, like, (m, n, k) = _factors("gemm_reduce_scatter", a, b)
    out = result(out, (_rows_of(comm, m), n), like)
    _gemm(comm, like, "reduce_scatter", (m, n, k), a, b, out)
    return out


def gemm_reduce_scatter_ce_persistent(a: Any, b: Any, out: Any = None) -> Any:
    """The same; a stream carries rows away while others are computed."""
    comm, like, (m, n, k) = _factors("gemm_reduce_scatter_ce_persistent", a, b)
    out = result(out, (_rows_of(comm, m), n), like)
    apart(out, a, b)
    comm.native.gemm_reduce_scatter_copied(type_name(like.dtype), (m, n, k), given(a), given(b), given(out))
    return out


def all_gather_matmul(a: Any, b: Any, splits: int | None = None, out: Any = None) -> tuple[Any, Any]:
    """All ranks' rows, and those times `b`: multiplied while they still arrive, in `splits` pieces of each rank.

    Without `splits`, ranks on CPUs that reach each other's memory multiply rows where they are, and keep what they
    read; others gather them in one piece. The gathered rows lie in memory that the next call uses again.
    """
    comm, like, (m, n, k) = _factors("all_gather_matmul", a, b)
    ranks, splits = comm.rank.num_ranks, None if splits is None else pieces(splits)
    shared, gathered = comm.shared(a, "x"), comm.workspace("gathered", (ranks * m, k), like.dtype)
    out = result(out, (ranks * m, n), like)
    apart(out, shared, b, gathered)
    dtype = type_name(like.dtype)
    comm.native.all_gather_matmul(dtype, splits, (m, n, k), given(shared), given(gathered), given(b), given(out))
    return gathered, out


def all_gather_matmul_pull(a: Any, b: Any, out: Any = None) -> Any:
    """All ranks' rows times `b`; rows are read where they are, and not gathered."""
    comm, like, (m, n, k) = _factors("all_gather_matmul_pull", a, b)
    shared = comm.shared(a, "x")
    out = result(out, (comm.rank.num_ranks * m, n), like)
    apart(out, shared, b)
    comm.native.all_gather_matmul_pull(type_name(like.dtype), (m, n, k), given(shared), given(b), given(out))
    return out


def _factors(function: str, a: Any, b: Any) -> tuple[Communicator, Layout, tuple[int, int, int]]:
    comm, like = communicator(function), checked(a, "a")
    other = checked(b, "b", like)
    if len(like.shape) != 2 or len(other.shape) != 2 or like.shape[1] != other.shape[0]:
        raise ValueError(f"there is no product of the shapes {like.shape} and {other.shape}")
    return comm, like, (like.shape[0], other.shape[1], like.shape[1])


def _gemm(comm: Communicator, like: Layout, form: str, sizes: tuple[int, int, int], a: Any, b: Any, out: Any) -> None:
    partial = comm.workspace("partial", sizes[:2], arrays.named_type("float32"))
    apart(out, a, b)
    comm.native.gemm(type_name(like.dtype), form, sizes, given(a), given(b), given(partial), given(out))


def _rows_of(comm: Communicator, rows: int) -> int:
    part = -(-rows // comm.rank.num_ranks)
    return max(min(part, rows - part * comm.rank.rank), 0)
