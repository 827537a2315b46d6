"""`nvshmem.core` and `nvshmem.bindings.nvshmem`, by which host programs reach NVSHMEM, over the ranks of this world.

They are made where CUDA is played by the CPU. Tensors are symmetric tensors of the world, teams its teams, and streams
hold nothing back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from shoal.runtime.stream_work import in_stream
from shoal.symm_mem.groups import acting_rank
from shoal.torch.cuda_as_cpu import nvshmem_collectives, nvshmem_streams
from shoal.torch.cuda_as_cpu.modules import made_module
from shoal.torch.cuda_as_cpu.nvshmem_teams import (
    Teams,
    team_destroy,
    team_get_config,
    team_my_pe,
    team_n_pes,
    team_of,
    team_split_2d,
    team_split_strided,
    team_translate_pe,
)


class NvshmemError(Exception):
    """A call of NVSHMEM failed."""


class NvshmemInvalid(Exception):
    """A call of NVSHMEM makes no sense."""


class NvshmemStream:
    """A stream of torch's, which says its number by the protocol of `cuda.core`."""

    def __init__(self, pt_stream: Any) -> None:
        self.pt_stream = pt_stream
        self.handle = pt_stream.cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class NvshmemKernelObject:
    """A kernel that NVSHMEM would be told of: nothing has to be started for kernels here."""

    @staticmethod
    def from_triton(triton_kernel: Any) -> NvshmemKernelObject:
        """One that was compiled."""
        return NvshmemKernelObject()

    @staticmethod
    def from_handle(handle: Any = None) -> NvshmemKernelObject:
        """One that a driver has loaded."""
        return NvshmemKernelObject()


def install() -> None:
    """Makes the modules, whatever is installed: the library itself could not start without a GPU."""
    core = made_module("nvshmem.core")
    for function in (*_EVERYWHERE, init, get_unique_id, tensor, free_tensor, get_peer_tensor, get_multicast_tensor):
        setattr(core, function.__name__, function)
    for function in (finalize, barrier, sync, sync_all, put, get, team_get_config, team_split_strided, team_split_2d):
        setattr(core, function.__name__, function)
    for function in (team_destroy, bytetensor, signal_fetch, module_init, module_finalize):
        setattr(core, function.__name__, function)
    for name, function in (("put_nbi", put), ("get_nbi", get), ("flush", quiet), ("library_init", module_init)):
        setattr(core, name, function)
    core.library_finalize = module_finalize  # type: ignore[attr-defined]
    for function in (*nvshmem_streams.OF_CORE, *nvshmem_collectives.OF_CORE):
        setattr(core, function.__name__, function)
    for kind in (Teams, nvshmem_streams.SignalOp, nvshmem_streams.ComparisonType, NvshmemInvalid, NvshmemError):
        setattr(core, kind.__name__, kind)
    for kind in (NvshmemStream, NvshmemKernelObject):
        setattr(core, kind.__name__, kind)
    utils: Any = made_module("nvshmem.core.utils")
    utils._get_device, utils.get_size = lambda: (None, None), get_size
    interop: Any = made_module("nvshmem.core.interop.torch")
    for function in (tensor, bytetensor, free_tensor, get_peer_tensor, get_multicast_tensor):
        setattr(interop, function.__name__, function)
    bindings = made_module("nvshmem.bindings")
    functions = made_module("nvshmem.bindings.nvshmem")
    for owner in (bindings, functions):
        for function in (*_EVERYWHERE, *nvshmem_streams.OF_BINDINGS):
            setattr(owner, function.__name__, function)


def init(*_: Any, **__: Any) -> None:
    """Brings the ranks together; whoever started them has said who they are."""
    acting_rank()


def finalize() -> None:
    """Waits for all ranks. The memory stays until the process ends."""
    acting_rank().barrier()


def get_unique_id(empty: bool = False) -> SimpleNamespace:
    """What ranks would recognise each other by; they know each other already."""
    return SimpleNamespace(version=1)


def my_pe() -> int:
    """This rank."""
    return acting_rank().rank


def n_pes() -> int:
    """The number of ranks."""
    return acting_rank().num_ranks


@in_stream
def barrier_all(stream: Any = None) -> None:
    """Waits for all ranks."""
    acting_rank().barrier()


@in_stream
def barrier_all_on_stream(stream: Any = None) -> None:
    """Waits for all ranks."""
    acting_rank().barrier()


def quiet(stream: Any = None) -> None:
    """What was put is there: it always is when the call that put it returns."""


@in_stream
def barrier(team: Any = Teams.TEAM_WORLD, stream: Any = None) -> None:
    """Waits for a team's ranks."""
    team_of(team).barrier()


@in_stream
def sync(team: Any = Teams.TEAM_WORLD, stream: Any = None) -> None:
    """Waits for a team's ranks."""
    team_of(team).barrier()


@in_stream
def sync_all(stream: Any = None) -> None:
    """Waits for all ranks."""
    acting_rank().barrier()


def tensor(shape: Any, dtype: Any = None, release: bool = False, morder: str = "C", except_on_del: bool = True) -> Any:
    """A symmetric tensor. Collective over all ranks."""
    import torch

    if morder != "C":
        raise NotImplementedError(
            f"symmetric tensors lie in the order of C, not {morder!r}: ask for the transposed one"
        )
    return acting_rank().symm_zeros(tuple(shape), torch.float32 if dtype is None else dtype)


def bytetensor(shape: Any, dtype: Any = None, **_: Any) -> Any:
    """A symmetric tensor of bytes. Collective over all ranks."""
    import torch

    return tensor(shape, torch.uint8)


def get_size(shape: Any, dtype: Any) -> int:
    """The bytes of a tensor."""
    import math

    import numpy

    size = dtype.itemsize if hasattr(dtype, "itemsize") else 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize
    return math.prod(shape) * size


def signal_fetch(signal_var: Any) -> int:
    """What this rank's signal is now."""
    return ctypes.c_uint64.from_address(nvshmem_streams._address(signal_var)).value


def module_init(mod: Any = None) -> None:
    """Nothing has to be started for a kernel."""


def module_finalize(mod: Any = None) -> None:
    """Nothing has to be ended for a kernel."""


def free_tensor(tensor: Any) -> None:
    """Gives a symmetric tensor back. Collective over all ranks."""
    acting_rank().free(tensor)


def get_peer_tensor(tensor: Any, peer_pe: int) -> Any:
    """A symmetric tensor's counterpart at another rank."""
    return acting_rank().peer(tensor, peer_pe)


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """The tensor by whose addresses `multimem` reaches all ranks: itself. The team must be that of all ranks."""
    if team_of(team).size != acting_rank().num_ranks:
        raise RuntimeError("multicast reaches all ranks; reach those of a smaller team with get_peer_tensor")
    return tensor


def put(dst: Any, src: Any, remote_pe: int = -1, stream: Any = None) -> None:
    """Copies to another rank's counterpart of a symmetric tensor."""
    acting_rank().peer(dst, remote_pe).copy_(src)


def get(dst: Any, src: Any, remote_pe: int = -1, stream: Any = None) -> None:
    """Copies from another rank's counterpart of a symmetric tensor."""
    dst.copy_(acting_rank().peer(src, remote_pe))


_EVERYWHERE: tuple[Callable[..., Any], ...] = (
    my_pe,
    n_pes,
    team_my_pe,
    team_n_pes,
    team_translate_pe,
    barrier_all,
    barrier_all_on_stream,
    quiet,
)
