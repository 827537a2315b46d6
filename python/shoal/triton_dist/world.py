"""Starting and ending, symmetric tensors, barriers."""

from __future__ import annotations

import datetime
import math
import os
import socket
import warnings
from typing import Any

import torch
import torch.distributed as dist

from shoal.runtime.stream_work import in_stream
from shoal.symm_mem.groups import acting_rank
from shoal.triton_dist.test_data import init_seed
from shoal.world.arrays import layout, shape_of, view
from shoal.world.current import find_rank

NVSHMEM_SIGNAL_DTYPE = torch.int64
_GRANULE = 256

_group: Any = None
_local_world_size: int | None = None
_meetings = 0


def initialize_distributed(seed: int | None = None, initialize_shmem: bool = True) -> Any:
    """Joins the ranks that `torchrun`, `shoal launch` or `oshrun` started, and gives the process group of all."""
    global _local_world_size
    _meet_under_oshrun()
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    _local_world_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if not dist.is_initialized():
        patience = datetime.timedelta(seconds=1800)
        dist.init_process_group(
            backend="gloo", rank=rank, world_size=size, timeout=patience, store=_store(rank, size, patience)
        )
    group = dist.new_group(ranks=list(range(size)), backend="gloo")
    dist.barrier(group)
    init_seed(seed if seed is not None else rank)
    if initialize_shmem:
        init_nvshmem_by_torch_process_group(group)
    return group


def _store(rank: int, size: int, patience: datetime.timedelta) -> Any:
    """Where the ranks meet. What they left there when they met before, under the same names, does not count."""
    global _meetings
    if size == 1:
        return dist.HashStore()
    _meetings += 1
    store, _, _ = next(dist.rendezvous("env://", rank, size, timeout=patience))
    return dist.PrefixStore(f"meeting {_meetings}", store)


def _meet_under_oshrun() -> None:
    """Tells torch what `torchrun` would, where `oshrun` started this process: the ranks have met in Shoal's world."""
    if os.environ.get("RANK") or not os.environ.get("OMPI_COMM_WORLD_RANK"):
        return
    rank = acting_rank()
    with socket.socket() as listener:
        listener.bind(("", 0))
        host = "127.0.0.1" if rank.node.size == rank.num_ranks else _address_for_other_hosts()
        address, port = rank.broadcast((host, listener.getsockname()[1]))
    os.environ.update(
        RANK=str(rank.rank),
        WORLD_SIZE=str(rank.num_ranks),
        LOCAL_RANK=str(rank.node.rank),
        LOCAL_WORLD_SIZE=str(rank.node.size),
        MASTER_ADDR=address,
        MASTER_PORT=str(port),
        SHOAL_ENGINE="openshmem",
    )


def _address_for_other_hosts() -> str:
    """The address that packets to another network leave from; a host's own name often means the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        try:
            outward.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
            return str(outward.getsockname()[0])
        except OSError:
            return socket.gethostbyname(socket.gethostname())


def init_nvshmem_by_torch_process_group(pg: Any) -> None:
    """Brings the symmetric memory of all ranks together. The group must be that of all ranks."""
    global _group
    if _group is not None:
        raise AssertionError("TRITON_DIST_WORLD has already been initialized")
    if dist.get_process_group_ranks(pg) != list(range(dist.get_world_size())):
        raise ValueError("symmetric memory is that of all ranks; pass the group of all ranks, in their order")
    acting_rank()
    _group = pg


init_rocshmem_by_torch_process_group = init_nvshmem_by_torch_process_group
init_mori_by_torch_process_group = init_nvshmem_by_torch_process_group


def finalize_distributed() -> None:
    """Waits for all ranks and gives the process groups back. The memory stays until the process ends."""
    global _group
    rank = acting_rank() if is_shmem_initialized() else None
    if rank is not None:
        rank.barrier()
    _group = None
    if dist.is_initialized():
        dist.destroy_process_group()
        if rank is not None:
            # Who initializes again must not meet where a rank that has not got here is about to leave.
            rank.barrier()


def is_shmem_initialized() -> bool:
    """Whether symmetric memory is there."""
    return _group is not None or find_rank() is not None


def get_triton_dist_world() -> Any:
    """The process group of all ranks."""
    if _group is None:
        warnings.warn("triton_dist has not been initialized: call initialize_distributed() first", stacklevel=2)
    return _group


def get_triton_dist_local_world_size() -> int | None:
    """The number of ranks on this host."""
    if _local_world_size is None:
        warnings.warn("triton_dist has not been initialized: call initialize_distributed() first", stacklevel=2)
    return _local_world_size


def nvshmem_create_tensor(shape: Any, dtype: Any) -> Any:
    """A symmetric tensor, of zeros. Collective over all ranks."""
    return _zeros(shape, dtype)


def _zeros(shape: Any, dtype: Any) -> Any:
    # NVSHMEM gives out whole granules, and kernels rely on the zeros behind a flag.
    shape = shape_of(shape)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"the type of a tensor's elements is one of torch, such as torch.float32, not {dtype!r}")
    nbytes = math.prod(shape) * dtype.itemsize
    granules = acting_rank().symm_zeros(-(-nbytes // _GRANULE) * _GRANULE, torch.uint8)
    return granules[:nbytes].view(dtype).view(shape)


def nvshmem_create_tensors(shape: Any, dtype: Any, rank: int, local_world_size: int) -> list[Any]:
    """A symmetric tensor and its counterparts on all ranks of this node, in their order. Collective over all ranks."""
    acting = acting_rank()
    tensor = _zeros(shape, dtype)
    first = rank - rank % local_world_size
    peers = range(first, first + local_world_size)
    return [tensor if peer == acting.rank else acting.peer(tensor, peer) for peer in peers]


def nvshmem_free_tensor_sync(tensor: Any) -> None:
    """Gives a symmetric tensor back. Collective over all ranks."""
    acting, found = acting_rank(), layout(tensor)
    whole = -(-found.nbytes // _GRANULE) * _GRANULE
    acting.free(view(found.address, (whole,), torch.uint8, tensor, device=acting.device))


@in_stream
def nvshmem_barrier_all_on_stream(stream: Any = None) -> None:
    """Waits for all ranks. Work on a CPU is over when its call returns, so every stream has come here."""
    acting_rank().barrier()


rocshmem_barrier_all_on_stream = nvshmem_barrier_all_on_stream


class TorchStreamWrapper:
    """A stream of torch, as libraries of CUDA take it."""

    def __init__(self, pt_stream: Any) -> None:
        self.pt_stream = pt_stream
        self.handle = pt_stream.cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def nvshmem_signal_wait(signal: Any, pe: int, signal_val: int, signal_op: int, stream: Any) -> None:
    """Waits until a signal of a rank compares with a number, by NVSHMEM's numbers for comparisons."""
    from shoal.torch.cuda_as_cpu.nvshmem_streams import signal_wait_until_on_stream

    acting = acting_rank()
    there = signal if pe == acting.rank else acting.peer(signal, pe)
    signal_wait_until_on_stream(there.data_ptr(), signal_op, signal_val, stream)


def barrier_async(pg: Any) -> None:
    """Waits for all ranks of a group."""
    dist.barrier(pg)
