"""`torch.ops.symm_mem` on CPU tensors.

Sums are made in the order of ranks, in 32 bits for shorter floats, so that all ranks get the same bits. What NVSHMEM or
multicast memory is needed for elsewhere is in `shmem_operators`.
"""

from __future__ import annotations

from typing import Any

from shoal import symm_mem
from shoal.symm_mem.handle import SymmetricMemory

_library: Any = None


def install() -> None:
    """Registers the operators for CPU tensors."""
    global _library
    import torch

    _library = torch.library.Library("symm_mem", "IMPL")
    for function in (
        one_shot_all_reduce,
        one_shot_all_reduce_out,
        one_shot_all_reduce_copy,
        one_shot_all_reduce_copy_out,
        two_shot_all_reduce_,
        two_shot_all_reduce_out,
        reduce_scatter_out,
        stream_write_value32_,
        memset32_,
        get_remote_tensors,
        fused_all_gather_matmul,
        fused_matmul_reduce_scatter,
        _low_contention_all_gather,
        _low_contention_all_gather_ce_multicast,
        _low_contention_all_gather_ce_multicast_out,
        _low_contention_reduce_scatter,
    ):
        _register(function.__name__, function)


def uninstall() -> None:
    """Takes the operators for CPU tensors back."""
    global _library
    if _library is not None:
        _library._destroy()
        _library = None


def _register(name: str, function: Any) -> None:
    import torch

    # Which of them there are depends on the version of torch.
    if hasattr(torch.ops.symm_mem, name):
        _library.impl(name, function, "CPU")


def _handle(tensor: Any, group_name: str, who: str) -> SymmetricMemory:
    if not symm_mem.is_symm_mem_tensor(tensor):
        raise RuntimeError(f"{who}: input must be allocated with empty_strided_p2p() or symm_mem.empty().")
    if not tensor.is_contiguous():
        raise RuntimeError(f"{who}: input must be contiguous.")
    handle = symm_mem.rendezvous(tensor, group_name)
    assert handle is not None  # it is symmetric memory
    return handle


def _check_op(reduce_op: str, who: str, allowed: tuple[str, ...] = ("sum",)) -> None:
    if reduce_op not in allowed:
        raise RuntimeError(f"{who}: only {' and '.join(allowed)} is supported for now (got {reduce_op}).")


def _total(parts: list[Any]) -> Any:
    """The sum of tensors, in their order."""
    import torch

    dtype = parts[0].dtype
    wide = torch.float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype
    total = parts[0].to(wide, copy=True)
    for part in parts[1:]:
        total += part.to(wide)
    return total.to(dtype)


def _peers(handle: SymmetricMemory, like: Any) -> list[Any]:
    return [handle.get_remote_tensor(rank, like.shape, like.dtype) for rank in range(handle.world_size)]


def one_shot_all_reduce_out(input: Any, reduce_op: str, group_name: str, out: Any) -> Any:
    """Every rank reads all, and sums."""
    _check_op(reduce_op, "one_shot_all_reduce")
    if out.shape != input.shape and out.numel() != input.numel():
        raise RuntimeError("one_shot_all_reduce: input/output size mismatch")
    handle = _handle(input, group_name, "one_shot_all_reduce")
    handle.barrier(0)
    total = _total(_peers(handle, input))
    handle.barrier(0)
    return out.copy_(total.view(out.shape))


def one_shot_all_reduce(input: Any, reduce_op: str, group_name: str) -> Any:
    """Every rank reads all, and sums."""
    import torch

    return one_shot_all_reduce_out(input, reduce_op, group_name, torch.empty_like(input))


def one_shot_all_reduce_copy_out(symm_buffer: Any, local_input: Any, reduce_op: str, group_name: str, out: Any) -> Any:
    """The same of a tensor that is copied into symmetric memory first."""
    if local_input.numel() > symm_buffer.numel():
        raise RuntimeError("one_shot_all_reduce: local_input is larger than the symmetric buffer")
    part = symm_buffer.view(-1)[: local_input.numel()].view(local_input.shape)
    part.copy_(local_input)
    return one_shot_all_reduce_out(part, reduce_op, group_name, out)


def one_shot_all_reduce_copy(symm_buffer: Any, local_input: Any, reduce_op: str, group_name: str) -> Any:
    """The same of a tensor that is copied into symmetric memory first."""
    import torch

    return one_shot_all_reduce_copy_out(symm_buffer, local_input, reduce_op, group_name, torch.empty_like(local_input))


def two_shot_all_reduce_(input: Any, reduce_op: str, group_name: str) -> Any:
    """Every rank sums its part and writes the sum to all."""
    _check_op(reduce_op, "two_shot_all_reduce")
    handle = _handle(input, group_name, "two_shot_all_reduce")
    flat = [peer.view(-1) for peer in _peers(handle, input)]
    each = -(-input.numel() // handle.world_size)
    part = slice(min(handle.rank * each, input.numel()), min((handle.rank + 1) * each, input.numel()))
    handle.barrier(0)
    if part.start < part.stop:
        total = _total([peer[part] for peer in flat])
        for peer in flat:
            peer[part] = total
    handle.barrier(0)
    return input


def two_shot_all_reduce_out(input: Any, reduce_op: str, group_name: str, output: Any) -> Any:
    """The same, with the result in another tensor."""
    output.copy_(two_shot_all_reduce_(input, reduce_op, group_name).view(output.shape))
    # Nobody may change its input before all have read.
    _handle(input, group_name, "two_shot_all_reduce").barrier(0)
    return output


def reduce_scatter_out(input: Any, group_name: str, split_last_dim: bool, output: Any) -> Any:
    """Every rank sums its part of the first dimension, or of the last."""
    handle = _handle(input, group_name, "reduce_scatter")
    dim = -1 if split_last_dim else 0
    # As torch has it: each part consists of whole vectors.
    nbytes = input.numel() * input.element_size()
    vector = next((size for size in (16, 8, 4) if (input.data_ptr() | nbytes) % size == 0), 1)
    multiple = handle.world_size * max(vector // input.element_size(), 1)
    size = input.shape[-1] if split_last_dim else input.numel()
    if size % multiple or input.shape[dim] % handle.world_size:
        raise RuntimeError(f"reduce_scatter: {size} elements of the input must be divisible by {multiple}")
    handle.barrier(0)
    mine = _total([peer.chunk(handle.world_size, dim)[handle.rank] for peer in _peers(handle, input)])
    handle.barrier(0)
    return output.copy_(mine.view(output.shape))


def stream_write_value32_(input: Any, offset: int, val: int) -> Any:
    """Writes one word."""
    SymmetricMemory.stream_write_value32(input, offset, val)
    return input


def memset32_(input: Any, offset: int, val: int, count: int) -> Any:
    """Writes some words."""
    return SymmetricMemory.memset32(input, offset, val, count)


def get_remote_tensors(x: Any, group_name: str) -> list[Any]:
    """The counterparts of a tensor on all ranks."""
    return _peers(_handle(x, group_name, "get_remote_tensors"), x)


def _gathered(tensor: Any, group_name: str) -> tuple[SymmetricMemory, list[Any]]:
    """What all ranks pass, through the group's workspace; a barrier must end its use."""
    tensor = tensor.contiguous()
    handle = symm_mem.get_symm_mem_workspace(group_name, max(tensor.numel() * tensor.element_size(), 1))
    handle.get_buffer(handle.rank, tensor.shape, tensor.dtype).copy_(tensor)
    handle.barrier(0)
    return handle, [handle.get_buffer(rank, tensor.shape, tensor.dtype) for rank in range(handle.world_size)]


def _joined(parts: list[Any], dim: int) -> Any:
    """Tensors one after the other along a dimension. As torch lays gathered rows out, it is the outermost in memory."""
    import torch

    if dim == parts[0].dim() - 1:
        return torch.cat(parts, dim)
    return torch.cat([part.movedim(dim, 0).contiguous() for part in parts]).movedim(0, dim)


def fused_all_gather_matmul(A: Any, Bs: list[Any], gather_dim: int, group_name: str, *, return_A: bool = True) -> Any:
    """The products of the gathered tensor; each shard is multiplied where it is."""
    if A.dim() < 2 or any(B.dim() != 2 for B in Bs):
        raise ValueError("A_shard must be at least 2D, and all Bs must be 2D")
    if not 0 <= gather_dim < A.dim():
        raise ValueError("Invalid gather_dim")
    handle, shards = _gathered(A, group_name)
    if gather_dim == A.dim() - 1:
        gathered = _joined(shards, gather_dim)
        handle.barrier(0)
        return gathered if return_A else None, [gathered @ B for B in Bs]
    products = [_joined([shard @ B for shard in shards], gather_dim) for B in Bs]
    gathered = _joined(shards, gather_dim) if return_A else None
    handle.barrier(0)
    return gathered, products


def _reduced(parts: list[Any], reduce_op: str) -> Any:
    total = _total(parts)
    return total / len(parts) if reduce_op == "avg" else total


def fused_matmul_reduce_scatter(A: Any, B: Any, reduce_op: str, scatter_dim: int, group_name: str) -> Any:
    """This rank's part of the sum of all ranks' products."""
    _check_op(reduce_op, "fused_matmul_reduce_scatter", ("sum", "avg"))
    if A.dim() < 2 or B.dim() != 2 or not 0 <= scatter_dim < A.dim():
        raise ValueError("A must be at least 2D, B must be 2D, and scatter_dim a dimension of A")
    return _scattered(A @ B, reduce_op, scatter_dim, group_name)


def _scattered(tensor: Any, reduce_op: str, dim: int, group_name: str) -> Any:
    handle, all_parts = _gathered(tensor, group_name)
    if tensor.shape[dim] % handle.world_size:
        handle.barrier(0)
        raise ValueError(f"dimension {dim} of {tuple(tensor.shape)} is not divisible by {handle.world_size} ranks")
    mine = _reduced([part.chunk(handle.world_size, dim)[handle.rank] for part in all_parts], reduce_op)
    handle.barrier(0)
    return mine.contiguous()


def _low_contention_all_gather(tensor: Any, group_name: str) -> Any:
    """All ranks' tensors, one after the other."""
    import torch

    handle, shards = _gathered(tensor, group_name)
    gathered = torch.cat(shards) if tensor.dim() else torch.stack(shards)
    handle.barrier(0)
    return gathered


def _low_contention_all_gather_ce_multicast(tensor: Any, group_name: str) -> Any:
    """The same."""
    return _low_contention_all_gather(tensor, group_name)


def _low_contention_all_gather_ce_multicast_out(tensor: Any, group_name: str, out: Any) -> Any:
    """The same into symmetric memory."""
    gathered = _low_contention_all_gather(tensor, group_name)
    if out.shape != gathered.shape or out.dtype != gathered.dtype:
        expected = f"expected out shape {tuple(gathered.shape)} of {gathered.dtype}"
        raise RuntimeError(
            f"_low_contention_all_gather_ce_multicast: {expected}, got {tuple(out.shape)} of {out.dtype}"
        )
    return out.copy_(gathered)


def _low_contention_reduce_scatter(tensor: Any, reduce_op: str, group_name: str) -> Any:
    """This rank's part of the sum, or the mean, of all ranks' tensors."""
    _check_op(reduce_op, "_low_contention_reduce_scatter", ("sum", "avg"))
    return _scattered(tensor, reduce_op, 0, group_name)
