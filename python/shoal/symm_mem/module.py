"""The functions of the module."""

from __future__ import annotations

import math
import os
import sys
import warnings
from typing import Any

from shoal.symm_mem import groups
from shoal.symm_mem.allocation import arena_of
from shoal.symm_mem.handle import Meeting, Misuse, SymmetricMemory
from shoal.world import arrays
from shoal.world.current import find_rank


def empty(*size: Any, dtype: Any = None, device: Any = None) -> Any:
    """An array that `rendezvous` can bring together with those of other ranks; what lies in it is not known.

    It is a tensor of torch if `dtype` is one of torch's, or if none is given and torch is there; else a NumPy array.
    """
    return empty_for(size[0] if len(size) == 1 else size, dtype, device)


def empty_for(size: Any, dtype: Any, device: Any = None, group: Any = None, number: int | None = None) -> Any:
    """An array for the ranks of a group; with a number, at the place that the last one with this number had."""
    rank = groups.acting_rank()
    where = "cpu" if rank.device is None else "cuda"
    if device is not None and _kind(device) != where:
        place = "the CPU" if where == "cpu" else f"the device `{rank.device}`"
        raise ValueError(f"symmetric memory is on {place} here, not on the device `{device}`")
    shape = arrays.shape_of(size)
    torch = sys.modules.get("torch")
    if dtype is None and torch is not None:
        dtype = torch.get_default_dtype()
    dtype = arrays.element_type(dtype) if rank.device is None else arrays.gpu_type(dtype)
    arena, nbytes = arena_of(rank), math.prod(shape) * dtype.itemsize
    keep: Any = arena.allocate(nbytes) if number is None else arena.allocate_lasting(number, nbytes)
    piece = keep if number is None else keep.piece
    piece.group = group
    return arrays.view(piece.address, shape, dtype, keep, device=rank.device)


def _kind(device: Any) -> str:
    """What a device is called here: CUDA's may be played by the CPU."""
    from shoal.torch.cuda_as_cpu import is_cuda_as_cpu

    kind = str(device).partition(":")[0]
    return "cpu" if kind == "cuda" and is_cuda_as_cpu() else kind


def rendezvous(tensor: Any, group: Any = None) -> SymmetricMemory | None:
    """Brings the arrays of a group's ranks together. Collective over the group; the handle is kept with the array.

    Warns and gives `None` if the array was not made by `empty`.
    """
    rank = groups.acting_rank()
    place = arrays.layout(tensor)
    piece = arena_of(rank).find(place.address)
    resolved = groups.resolve(piece.group if group is None and piece is not None else group, rank)
    if piece is None:
        warnings.warn("rendezvous: the tensor is not from symm_mem.empty(), so it has no handle", stacklevel=2)
        return None
    offset = place.address - piece.address
    key = (resolved.key, offset)
    # All ranks keep what they were told, so that all know whether they have met before.
    if key not in piece.meetings:
        piece.meetings[key] = Meeting(piece, resolved)
    return piece.meetings[key].handle(piece, offset)


def is_symm_mem_tensor(tensor: Any) -> bool:
    """Whether an array was made by `empty`, or is a part of such a one."""
    rank = find_rank()
    return rank is not None and arena_of(rank).find(arrays.layout(tensor).address) is not None


def get_symm_mem_workspace(group_name: Any, min_size: int) -> SymmetricMemory:
    """The workspace of a group, of at least so many bytes. Collective over the group; it grows as needed."""
    rank = groups.acting_rank()
    min_size = arrays.number(min_size, "min_size", 1 << 63)
    group = groups.resolve(group_name, rank)
    workspaces: dict[Any, Any] = rank.__dict__.setdefault("_workspaces", {})
    known = workspaces.get(group.key)
    if known is None or known[1].buffer_size < min_size:
        piece = arena_of(rank).allocate(min_size)
        known = workspaces[group.key] = (piece, Meeting(piece, group).handle(piece, 0))
    handle: SymmetricMemory = known[1]
    return handle


def get(dst: Any, hdl: SymmetricMemory, peer: int, offset: int = 0) -> None:
    """Copies a rank's counterpart of the handle's tensor, from an offset in elements of `dst` on, into an array."""
    into = arrays.dense(dst, "get: dst")
    if offset < 0:
        raise Misuse(f"get: offset must be non-negative (got {offset})")
    if not 0 <= peer < hdl.world_size:
        raise Misuse(f"get: invalid peer {peer} of {hdl.world_size}")
    start = hdl.offset + offset * into.itemsize
    if start + into.nbytes > hdl.buffer_size:
        raise Misuse(
            f"get: bytes {start} to {start + into.nbytes} exceeds symmetric allocation of {hdl.buffer_size} bytes"
        )
    byte = arrays.named_type("uint8")
    source = hdl.get_buffer(peer, [start + into.nbytes], byte)[start:]
    arrays.view(into.address, (into.nbytes,), byte, dst, device=into.device)[:] = source


def put_signal(src: Any, hdl: SymmetricMemory, peer: int) -> None:
    """Copies an array to the begin of a rank's buffer, then signals that rank."""
    source = arrays.dense(src, "what is copied")
    byte = arrays.named_type("uint8")
    into = hdl.get_buffer(peer, [source.nbytes], byte)
    into[:] = arrays.view(source.address, (source.nbytes,), byte, src, device=source.device)
    hdl.put_signal(peer)


def wait_signal(hdl: SymmetricMemory, peer: int) -> None:
    """Takes the signal of a rank, once it is there."""
    hdl.wait_signal(peer)


_backend: str | None = None
"""The name that was chosen for the way in which ranks reach each other."""


def set_backend(name: str) -> None:
    """Chooses how ranks reach each other. There is one way here, so every name of torch's is taken for it."""
    global _backend
    if name not in ("CUDA", "NVSHMEM", "NCCL", "SHOAL"):
        raise RuntimeError(f"SymmetricMemory does not find allocation backend {name}")
    _backend = name


def get_backend(device: Any = None) -> str:
    """How ranks reach each other, by the name that was chosen: with `set_backend`, or as `TORCH_SYMMMEM`.

    Nothing chosen, devices of CUDA have the name that they have in torch, which programs compare.
    """
    of_cuda = device is not None and str(device).partition(":")[0] == "cuda"
    return _backend or os.environ.get("TORCH_SYMMMEM") or ("CUDA" if of_cuda else "SHOAL")


def is_nvshmem_available() -> bool:
    """Whether NVSHMEM is there: it is for GPUs."""
    return False
