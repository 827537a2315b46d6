"""`torch.ops.symm_mem`'s operators that are NVSHMEM's or need multicast memory, on CPU tensors.

All ranks reach each other's memory, so each is what it says: copies between ranks, shuffles with sizes that only the
devices know, and sums that a switch would make. Sums are made in the order of ranks.
"""

from __future__ import annotations

from typing import Any

from shoal import symm_mem
from shoal.symm_mem.handle import SymmetricMemory
from shoal.torch import operators
from shoal.torch.cuda_as_cpu import nvshmem_streams

_library: Any = None


def install() -> None:
    """Registers the operators for CPU tensors."""
    global _library
    import torch

    _library = torch.library.Library("symm_mem", "IMPL")
    for function in _OPERATORS:
        # Which of them there are depends on the version of torch.
        if hasattr(torch.ops.symm_mem, function.__name__):
            _library.impl(function.__name__, function, "CPU")


def uninstall() -> None:
    """Takes the operators for CPU tensors back."""
    global _library
    if _library is not None:
        _library._destroy()
        _library = None


def _met(tensor: Any, group_name: Any, who: str) -> tuple[SymmetricMemory, list[Any]]:
    """A symmetric tensor's handle, and its counterparts at all ranks."""
    handle = operators._handle(tensor, group_name, who)
    return handle, operators._peers(handle, tensor)


def multimem_all_reduce_(input: Any, reduce_op: str, group_name: str) -> Any:
    """The sum, in the place of the input."""
    return operators.two_shot_all_reduce_(input, reduce_op, group_name)


def multimem_one_shot_all_reduce(input: Any, reduce_op: str, group_name: str) -> Any:
    """The sum."""
    return operators.one_shot_all_reduce(input, reduce_op, group_name)


def multimem_one_shot_all_reduce_out(input: Any, reduce_op: str, group_name: str, out: Any) -> Any:
    """The sum."""
    return operators.one_shot_all_reduce_out(input, reduce_op, group_name, out)


def multimem_one_shot_reduce_out(input: Any, reduce_op: str, root: int, group_name: str, out: Any) -> Any:
    """The sum, at one rank."""
    operators._check_op(reduce_op, "multimem_one_shot_reduce")
    handle, peers = _met(input, group_name, "multimem_one_shot_reduce")
    handle.barrier(0)
    if handle.rank == root:
        out.copy_(operators._total(peers).view(out.shape))
    handle.barrier(0)
    return out


def multimem_all_gather_out(input: Any, group_name: str, out: Any) -> Any:
    """Every rank writes its part to all; `out` is symmetric."""
    handle, peers = _met(out, group_name, "multimem_all_gather_out")
    if out.numel() != input.numel() * handle.world_size:
        raise RuntimeError("multimem_all_gather_out: the output must hold the inputs of all ranks")
    handle.barrier(0)
    for peer in peers:
        peer.view(-1).chunk(handle.world_size)[handle.rank].copy_(input.reshape(-1))
    handle.barrier(0)
    return out


def memcpy_to_multicast_(symm_mem_out: Any, src: Any, byte_offset: int, group_name: str) -> Any:
    """Copies to the same place at all ranks."""
    import torch

    _, peers = _met(symm_mem_out, group_name, "memcpy_to_multicast_")
    part = src.contiguous().view(-1).view(torch.uint8)
    for peer in peers:
        peer.view(-1).view(torch.uint8)[byte_offset : byte_offset + part.numel()] = part
    return symm_mem_out


def _low_contention_all_gather_ce_multicast(tensor: Any, group_name: str) -> Any:
    """All ranks' tensors, one after the other."""
    return operators._low_contention_all_gather(tensor, group_name)


def _low_contention_all_gather_ce_multicast_out(tensor: Any, group_name: str, out: Any) -> Any:
    """All ranks' tensors, one after the other."""
    return out.copy_(operators._low_contention_all_gather(tensor, group_name).view(out.shape))


def nvshmem_put(tensor: Any, peer: int) -> None:
    """Copies a symmetric tensor to its counterpart at a rank."""
    _, peers = _met(tensor, None, "nvshmem_put")
    peers[peer].copy_(tensor)


def nvshmem_get(tensor: Any, peer: int) -> None:
    """Copies the counterpart at a rank to a symmetric tensor."""
    _, peers = _met(tensor, None, "nvshmem_get")
    tensor.copy_(peers[peer].clone())


def nvshmem_put_with_signal(tensor: Any, sigpad: Any, signal: int, peer: int) -> None:
    """Copies a symmetric tensor to its counterpart at a rank, then sets a signal there."""
    handle = operators._handle(tensor, None, "nvshmem_put_with_signal")
    to, size = handle._members[peer], tensor.numel() * tensor.element_size()
    set_to = nvshmem_streams.SignalOp.SIGNAL_SET
    nvshmem_streams.putmem_signal_on_stream(
        tensor.data_ptr(), tensor.data_ptr(), size, sigpad.data_ptr(), signal, set_to, to
    )


def nvshmem_wait_for_signal(sigpad: Any, signal: int, peer: int) -> None:
    """Waits until a signal of this rank is a number."""
    nvshmem_streams.signal_wait_until_on_stream(sigpad.data_ptr(), nvshmem_streams.ComparisonType.CMP_EQ, signal)


def nccl_put(tensor: Any, peer: int) -> None:
    """Copies a symmetric tensor to its counterpart at a rank."""
    nvshmem_put(tensor, peer)


def nccl_get(tensor: Any, peer: int) -> None:
    """Copies the counterpart at a rank to a symmetric tensor."""
    nvshmem_get(tensor, peer)


def nccl_all_to_all_nd(input: Any, out: Any, scatter_dim: int, gather_dim: int, group_name: str) -> None:
    """Everybody's equal part along a dimension for this rank, one after the other along another."""
    import torch

    handle, peers = _met(input, group_name, "nccl_all_to_all_nd")
    if input.shape[scatter_dim] % handle.world_size:
        raise RuntimeError(
            f"nccl_all_to_all_nd: {input.shape[scatter_dim]} do not divide among {handle.world_size} ranks"
        )
    handle.barrier(0)
    out.copy_(torch.cat([peer.chunk(handle.world_size, scatter_dim)[handle.rank] for peer in peers], gather_dim))
    handle.barrier(0)


def _tiles(tile: Any, group_name: str, who: str) -> tuple[SymmetricMemory, list[Any]]:
    """A tile of a symmetric tensor at all ranks."""
    if not symm_mem.is_symm_mem_tensor(tile):
        raise RuntimeError(f"{who}: a tile must be one of a tensor that was allocated with symm_mem.empty().")
    handle = symm_mem.rendezvous(tile, group_name)
    assert handle is not None  # it is symmetric memory
    room = 1 + sum((size - 1) * stride for size, stride in zip(tile.shape, tile.stride()))
    everybody = (handle.get_remote_tensor(rank, (room,), tile.dtype) for rank in range(handle.world_size))
    return handle, [memory.as_strided(tile.shape, tile.stride()) for memory in everybody]


def tile_reduce(in_tile: Any, out_tile: Any, root: int, group_name: str, reduce_op: str = "sum") -> None:
    """The sum of all ranks' tiles, at one rank."""
    multi_root_tile_reduce([in_tile], out_tile, [root], group_name, reduce_op)


def multi_root_tile_reduce(
    in_tiles: list[Any], out_tile: Any, roots: list[int], group_name: str, reduce_op: str = "sum"
) -> None:
    """The sums of all ranks' tiles, each at its own rank."""
    operators._check_op(reduce_op, "tile_reduce")
    met = [_tiles(tile, group_name, "tile_reduce") for tile in in_tiles]
    handle = met[0][0]
    handle.barrier(0)
    if handle.rank in roots:
        out_tile.copy_(operators._total(met[roots.index(handle.rank)][1]))
    handle.barrier(0)


def nvshmem_broadcast(input: Any, root: int, group_name: str) -> Any:
    """What one rank has, for all."""
    handle, peers = _met(input, group_name, "nvshmem_broadcast")
    handle.barrier(0)
    if handle.rank != root:
        input.copy_(peers[root])
    handle.barrier(0)
    return input


def nvshmem_all_to_all(input: Any, out: Any, group_name: str) -> Any:
    """Everybody's equal part for this rank."""
    handle, peers = _met(input, group_name, "nvshmem_all_to_all")
    if input.numel() % handle.world_size or out.numel() != input.numel():
        raise RuntimeError(
            f"nvshmem_all_to_all: {input.numel()} elements do not divide among {handle.world_size} ranks"
        )
    handle.barrier(0)
    for peer, part in zip(peers, out.view(-1).chunk(handle.world_size)):
        part.copy_(peer.view(-1).chunk(handle.world_size)[handle.rank])
    handle.barrier(0)
    return out


def _starts(sizes: list[int]) -> list[int]:
    """Where pieces of these sizes begin, one after the other."""
    places, end = [], 0
    for size in sizes:
        places.append(end)
        end += size
    return places


def _shuffle(
    handle: SymmetricMemory, inputs: list[Any], out: Any, pieces: list[tuple[int, int, int]], places: list[int]
) -> None:
    """Gathers pieces `(rank, first row, rows)` to places of the output, once all ranks have come."""
    for (rank, start, rows), to in zip(pieces, places):
        if to + rows > out.shape[0]:
            raise RuntimeError(f"all_to_all_vdev: {to + rows} rows do not fit into an output of {out.shape[0]}")
        out[to : to + rows] = inputs[rank][start : start + rows]
    handle.barrier(0)


def all_to_all_vdev(input: Any, out: Any, in_splits: Any, out_splits_offsets: Any, group_name: str) -> None:
    """Rows for each rank, as many as `in_splits` says; what came, and where, goes to `out_splits_offsets`."""
    handle, inputs = _met(input, group_name, "all_to_all_vdev")
    _, splits = _met(in_splits, group_name, "all_to_all_vdev")
    handle.barrier(0)
    rows = [peer.tolist() for peer in splits]
    mine = handle.rank
    pieces = [(rank, _starts(sizes)[mine], sizes[mine]) for rank, sizes in enumerate(rows)]
    counts = [size for _, _, size in pieces]
    places = _starts(counts)
    _shuffle(handle, inputs, out, pieces, places)
    _tell(out_splits_offsets, counts, places)


def all_to_all_vdev_2d(
    input: Any, out: Any, in_splits: Any, out_splits_offsets: Any, group_name: str, major_align: int | None = None
) -> None:
    """Rows for each expert of each rank; they come in the order of the experts, then of the ranks.

    The rows of an expert begin at a multiple of `major_align`, and take at least so much room.
    """
    align = 1 if major_align is None else major_align
    if align < 1:
        raise RuntimeError(f"all_to_all_vdev_2d: major_align must be positive (got {align})")
    handle, inputs = _met(input, group_name, "all_to_all_vdev_2d")
    _, splits = _met(in_splits, group_name, "all_to_all_vdev_2d")
    experts = _experts(in_splits.numel(), handle)
    handle.barrier(0)
    rows = [peer.tolist() for peer in splits]
    starts = [_starts(sizes) for sizes in rows]
    pieces, room = [], []
    for expert in range(experts):
        chunk = handle.rank * experts + expert
        of_expert = [(rank, starts[rank][chunk], rows[rank][chunk]) for rank in range(handle.world_size)]
        total = sum(size for _, _, size in of_expert)
        padded = max(-(-total // align) * align, align)
        pieces += of_expert
        room += [size for _, _, size in of_expert[:-1]] + [of_expert[-1][2] + padded - total]
    places = _starts(room)
    _shuffle(handle, inputs, out, pieces, places)
    _tell(out_splits_offsets, [size for _, _, size in pieces], places)


def all_to_all_vdev_2d_offset(
    input: Any, out: Any, in_splits_offsets: Any, out_splits_offsets: Any, group_name: str
) -> None:
    """The way back: rows in the order of experts and ranks, at given places, come in the order of ranks and experts."""
    handle, inputs = _met(input, group_name, "all_to_all_vdev_2d_offset")
    _, tables = _met(in_splits_offsets, group_name, "all_to_all_vdev_2d_offset")
    experts = _experts(in_splits_offsets.shape[-1], handle)
    handle.barrier(0)
    known = [peer.tolist() for peer in tables]
    pieces = []
    for rank in range(handle.world_size):
        for expert in range(experts):
            chunk = expert * handle.world_size + handle.rank
            pieces.append((rank, known[rank][1][chunk], known[rank][0][chunk]))
    counts = [size for _, _, size in pieces]
    places = _starts(counts)
    _shuffle(handle, inputs, out, pieces, places)
    _tell(out_splits_offsets, counts, places)


def _experts(splits: int, handle: SymmetricMemory) -> int:
    if splits % handle.world_size:
        raise RuntimeError(f"all_to_all_vdev_2d: {splits} splits do not divide among {handle.world_size} ranks")
    return splits // handle.world_size


def _tell(table: Any, counts: list[int], places: list[int]) -> None:
    import torch

    table.copy_(torch.tensor([counts, places], dtype=table.dtype).view(table.shape))


def fused_all_gather_scaled_matmul(
    A: Any,
    Bs: list[Any],
    A_scale: Any,
    B_scales: list[Any],
    gather_dim: int,
    group_name: str,
    biases: list[Any],
    result_scales: list[Any],
    out_dtypes: list[Any],
    use_fast_accum: list[bool],
) -> Any:
    """The scaled products of the gathered tensor. A scale of rows is this rank's part of it, or the whole."""
    import torch.distributed._symmetric_memory as module

    # In lists, types come as numbers.
    out_dtypes = module._maybe_convert_scalar_types_to_dtypes(out_dtypes)
    if len({len(Bs), len(B_scales), len(biases), len(result_scales), len(out_dtypes), len(use_fast_accum)}) > 1:
        raise ValueError("biases, scales, types and use_fast_accum are as many as Bs")
    handle, shards = operators._gathered(A, group_name)
    gathered = operators._joined([shard.clone() for shard in shards], gather_dim)
    handle.barrier(0)
    if A_scale.numel() > 1 and A_scale.shape[gather_dim] == A.shape[gather_dim]:
        handle, shards = operators._gathered(A_scale, group_name)
        A_scale = operators._joined([shard.clone() for shard in shards], gather_dim)
        handle.barrier(0)
    # Rows of products lie as those of the gathered tensor do.
    front = 0 if gather_dim < A.dim() - 1 else gather_dim
    rows, scale = (t.movedim(gather_dim, front) if t.dim() == A.dim() else t for t in (gathered, A_scale))
    products = [
        _scaled_product(rows, B, scale, B_scale, bias, result_scale, dtype).movedim(front, gather_dim)
        for B, B_scale, bias, result_scale, dtype in zip(Bs, B_scales, biases, result_scales, out_dtypes)
    ]
    return gathered, products


def fused_scaled_matmul_reduce_scatter(
    A: Any,
    B: Any,
    A_scale: Any,
    B_scale: Any,
    reduce_op: str,
    orig_scatter_dim: int,
    scatter_dim_after_maybe_reshape: int,
    group_name: str,
    output_shape: list[int] | None = None,
    bias: Any = None,
    result_scale: Any = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Any:
    """This rank's part of the sum of all ranks' scaled products."""
    operators._check_op(reduce_op, "fused_scaled_matmul_reduce_scatter", ("sum", "avg"))
    product = _scaled_product(A, B, A_scale, B_scale, bias, result_scale, out_dtype)
    if output_shape is not None:
        product = product.view(*output_shape[:-1], B.shape[1])
    return operators._scattered(product, reduce_op, orig_scatter_dim, group_name)


def _scaled_product(A: Any, B: Any, A_scale: Any, B_scale: Any, bias: Any, result_scale: Any, dtype: Any) -> Any:
    """torch's scaled product of two; scales are one number, or one for each row of A and column of B."""
    import torch

    rows = A_scale if A_scale.numel() == 1 else A_scale.reshape(-1, 1)
    columns = B_scale if B_scale.numel() == 1 else B_scale.reshape(1, B.shape[1])
    flat = torch._scaled_mm(A.flatten(0, -2), B, rows, columns, bias, result_scale, dtype)
    return flat.unflatten(0, A.shape[:-1])


_OPERATORS = (
    multimem_all_reduce_,
    multimem_one_shot_all_reduce,
    multimem_one_shot_all_reduce_out,
    multimem_one_shot_reduce_out,
    multimem_all_gather_out,
    memcpy_to_multicast_,
    _low_contention_all_gather_ce_multicast,
    _low_contention_all_gather_ce_multicast_out,
    nvshmem_put,
    nvshmem_get,
    nvshmem_put_with_signal,
    nvshmem_wait_for_signal,
    nccl_put,
    nccl_get,
    nccl_all_to_all_nd,
    tile_reduce,
    multi_root_tile_reduce,
    nvshmem_broadcast,
    nvshmem_all_to_all,
    all_to_all_vdev,
    all_to_all_vdev_2d,
    all_to_all_vdev_2d_offset,
    fused_all_gather_scaled_matmul,
    fused_scaled_matmul_reduce_scatter,
)
