"""Collectives: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, ring put."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.kernels.communicator import (
    apart,
    called,
    checked,
    communicator,
    fresh,
    given,
    optional,
    pieces,
    result,
    type_name,
)
from shoal.world import arrays
from shoal.world.arrays import Layout


def one_shot_all_reduce(x: Any, out: Any = None) -> Any:
    """The sum of all ranks' `x`, with the same bits on all; every rank reads everything. For small arrays."""
    comm, like = called("one_shot_all_reduce", x)
    x, out = comm.shared(x, "x"), result(out, like.shape, like)
    apart(out, x)
    comm.native.one_shot_all_reduce(type_name(like.dtype), given(x), given(out))
    return out


def two_shot_all_reduce(x: Any, out: Any = None) -> Any:
    """The same; every rank sums a part and writes it to everybody. For large arrays."""
    return _all_reduce_bias("two_shot_all_reduce", x, None, out)


def one_shot_all_reduce_bias(x: Any, bias: Any = None, out: Any = None) -> Any:
    """The sum of all ranks' `x`, plus a bias: of the shape of `x`, or of its last dimension. The same on all ranks."""
    return _all_reduce_bias("one_shot_all_reduce_bias", x, bias, out)


def two_shot_all_reduce_bias(x: Any, bias: Any = None, out: Any = None) -> Any:
    """The same in two shots."""
    return _all_reduce_bias("two_shot_all_reduce_bias", x, bias, out)


def _all_reduce_bias(name: str, x: Any, bias: Any, out: Any) -> Any:
    comm, like = called(name, x)
    of_columns = False
    if bias is not None:
        shape = checked(bias, "bias", like).shape
        of_columns = shape != like.shape and len(shape) == 1
        if shape != like.shape and (not of_columns or not like.shape or shape[0] != like.shape[-1]):
            raise ValueError(f"`bias` has the shape {shape}; it must be that of `x`, {like.shape}, or of its columns")
    shared, out = comm.workspace("shared", like.shape, like.dtype), result(out, like.shape, like)
    apart(out, x, bias)
    dtype, shots = type_name(like.dtype), 1 if name.startswith("one_shot") else 2
    comm.native.all_reduce_bias(dtype, shots, given(x), optional(bias), of_columns, given(shared), given(out))
    return out


def two_shot_all_reduce_in_place(x: Any) -> Any:
    """Replaces everybody's `x`, which must be symmetric, by the sum."""
    comm, like = called("two_shot_all_reduce_in_place", x)
    if not comm.is_shared(x):
        raise ValueError("`x` must be symmetric memory of `rank.symm_empty`; use two_shot_all_reduce for others")
    comm.native.two_shot_all_reduce_in_place(type_name(like.dtype), given(x))
    return x


def all_gather_push(x: Any, out: Any = None) -> Any:
    """Everybody's `x`, in the order of ranks; each rank writes to all."""
    return _gathered("push", x, out)


def all_gather_ring(x: Any, out: Any = None) -> Any:
    """The same around a ring; each rank writes to its right neighbour alone."""
    return _gathered("ring", x, out)


def all_gather_2d(x: Any, out: Any = None) -> Any:
    """The same in a mesh of ranks, as square as can be: along columns, then along rows."""
    return _gathered("2d", x, out)


def all_gather_put(x: Any, out: Any = None) -> Any:
    """The same by puts and signals alone, also between hosts; each rank puts to all."""
    return _gathered("put", x, out)


def all_gather_put_ring(x: Any, out: Any = None) -> Any:
    """The same by puts around a ring."""
    return _gathered("put_ring", x, out)


def all_gather_pull(x: Any, out: Any = None) -> Any:
    """The same; each rank reads from all."""
    comm, like = called("all_gather_pull", x)
    x, out = comm.shared(x, "x"), result(out, (comm.rank.num_ranks, *like.shape), like)
    apart(out, x)
    comm.native.all_gather(type_name(like.dtype), "pull", given(x), given(out))
    return out


def all_gather_with_progress(x: Any, out: Any = None, splits: int = 1) -> Any:
    """The same by copies of a stream, in `splits` pieces of each rank."""
    comm, like = called("all_gather_with_progress", x)
    splits, shared = pieces(splits), comm.shared(x, "x")

    def gather(into: Any) -> None:
        comm.native.all_gather_with_progress(type_name(like.dtype), splits, given(shared), given(into))

    return _into_shared(comm, like, (comm.rank.num_ranks, *like.shape), out, gather)


def _gathered(form: str, x: Any, out: Any) -> Any:
    comm, like = called(f"all_gather_{form}", x)

    def gather(into: Any) -> None:
        comm.native.all_gather(type_name(like.dtype), form, given(x), given(into))

    return _into_shared(comm, like, (comm.rank.num_ranks, *like.shape), out, gather)


def _into_shared(comm: Any, like: Any, shape: tuple[int, ...], out: Any, run: Any) -> Any:
    """Runs something whose result must be symmetric memory, and gives the result where it is wanted."""
    if out is not None and comm.is_shared(result(out, shape, like)):
        run(out)
        return out
    into = comm.workspace("out", shape, like.dtype)
    run(into)
    out = result(out, shape, like)
    out[...] = into.reshape(arrays.layout(out).shape)
    return out


def reduce_scatter(x: Any, out: Any = None) -> Any:
    """This rank's part of the sum of all ranks' `x`, as one row; the last ranks have less, or nothing."""
    comm, like = called("reduce_scatter", x)
    x, out = comm.shared(x, "x"), result(out, (_part(comm, like)[1],), like)
    apart(out, x)
    comm.native.reduce_scatter(type_name(like.dtype), given(x), given(out))
    return out


def reduce_scatter_put(x: Any, out: Any = None) -> Any:
    """The same by puts and signals alone, also between hosts."""
    comm, like = called("reduce_scatter_put", x)
    part, mine = _part(comm, like)
    inbox = comm.workspace("inbox", (comm.rank.num_ranks, part), like.dtype)
    out = result(out, (mine,), like)
    apart(out, x)
    comm.native.reduce_scatter_put(type_name(like.dtype), given(x), given(inbox), given(out))
    return out


def all_reduce_put(x: Any, out: Any = None) -> Any:
    """The sum of all ranks' `x`, with the same bits on all, by puts and signals alone, also between hosts."""
    comm, like = called("all_reduce_put", x)
    inbox = comm.workspace("inbox", (comm.rank.num_ranks, _part(comm, like)[0]), like.dtype)

    def reduce(into: Any) -> None:
        apart(into, x)
        comm.native.all_reduce_put(type_name(like.dtype), given(x), given(inbox), given(into))

    return _into_shared(comm, like, like.shape, out, reduce)


def _part(comm: Any, like: Any) -> tuple[int, int]:
    """How many elements a rank's part has, and how many this rank's."""
    total = math.prod(like.shape)
    part = -(-total // comm.rank.num_ranks)
    return part, max(min(part, total - part * comm.rank.rank), 0)


def all_to_all(x: Any, splits: Sequence[int], out: Any = None) -> tuple[Any, list[int]]:
    """Sends rows to all ranks: the first `splits[0]` of `x` to rank 0, and so on. All ranks' `x` have the same shape.

    Gives the rows for this rank, those from rank 0 first, and how many came from each.
    """
    comm, like = communicator("all_to_all"), checked(x, "x")
    rows, dim = _rows_and_columns(like, "x")
    counts = _counts(splits, comm.rank.num_ranks, rows)
    comm.native.agree("all_to_all(rows, dim)", type_name(like.dtype), [rows, dim])
    x = comm.shared(x, "x")
    words = comm.workspace("splits", (comm.rank.num_ranks,), arrays.named_type("int64"))
    if out is None:
        everybody = comm.rank.all_gather(counts)
        out = fresh((sum(counts[comm.rank.rank] for counts in everybody), dim), like.dtype)
    elif _rows_and_columns(checked(out, "out", like), "out")[1] != dim:
        raise ValueError(f"`out` has the shape {tuple(out.shape)}, but rows of {dim} come")
    apart(out, x)
    dtype = type_name(like.dtype)
    received = comm.native.all_to_all(dtype, given(x), counts, given(words), dim, given(out))
    return out[: sum(received)], received


def all_to_all_put(x: Any, splits: Sequence[int], out: Any = None) -> tuple[Any, list[int]]:
    """The same by puts and signals alone, also between hosts; ranks' `x` may differ in their number of rows."""
    comm, like = communicator("all_to_all_put"), checked(x, "x")
    rows, dim = _rows_and_columns(like, "x")
    ranks = comm.rank.num_ranks
    counts = _counts(splits, ranks, rows)
    comm.native.agree("all_to_all_put(dim)", type_name(like.dtype), [dim])
    everybody = comm.rank.all_gather(counts)
    room = max(1, *(sum(counts[to] for counts in everybody) for to in range(ranks)))
    into = comm.workspace("out", (room, dim), like.dtype)
    received = comm.native.all_to_all_put(type_name(like.dtype), given(x), counts, dim, given(into))
    arrived = sum(received)
    if out is None:
        out = fresh((arrived, dim), like.dtype)
    if checked(out, "out", like).shape[1:] != (dim,) or len(out) < arrived:
        raise ValueError(f"`out` has the shape {tuple(out.shape)}, but {arrived} rows of {dim} have come")
    out[:arrived] = into[:arrived]
    return out[:arrived], received


def _rows_and_columns(array: Layout, name: str) -> tuple[int, int]:
    if len(array.shape) != 2 or array.shape[1] == 0:
        raise ValueError(f"`{name}` must have rows and columns; it has the shape {array.shape}")
    rows, columns = array.shape
    return rows, columns


def _counts(splits: Sequence[int], ranks: int, rows: int) -> list[int]:
    """How many rows go to each rank."""
    counts = [int(count.__index__()) if hasattr(count, "__index__") else -1 for count in splits]
    if len(counts) != ranks or min(counts) < 0:
        raise ValueError(f"`splits` says how many rows go to each of the {ranks} ranks; it is {splits!r}")
    if sum(counts) > rows:
        raise ValueError(f"`splits` sends {sum(counts)} rows, but `x` has {rows}")
    return counts


def broadcast(x: Any, root: int = 0) -> Any:
    """Replaces everybody's `x` by that of a rank."""
    return _broadcast(x, root, "broadcast")


def broadcast_put(x: Any, root: int = 0) -> Any:
    """The same by puts and signals alone, also between hosts."""
    return _broadcast(x, root, "broadcast_put")


def _broadcast(x: Any, root: int, form: str) -> Any:
    comm, like = called(form, x)
    root = arrays.number(root, "root", comm.rank.num_ranks)
    shared = comm.shared(x, "x")
    getattr(comm.native, form)(type_name(like.dtype), given(shared), root)
    if shared is not x:
        x[...] = shared
    return x


def ring_put(x: Any, out: Any = None) -> Any:
    """The `x` of the rank before this one."""
    comm, like = called("ring_put", x)

    def put(into: Any) -> None:
        comm.native.ring_put(type_name(like.dtype), given(x), given(into))

    return _into_shared(comm, like, like.shape, out, put)
