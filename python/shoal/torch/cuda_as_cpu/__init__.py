"""Programs that say "cuda" run on the CPU: asked for, for programs that cannot be changed.

`"cuda"` as a device means the CPU, `torch.cuda` answers for it, streams and events are there, and process groups that
want NCCL get gloo. Work is over when the call that asks for it returns, so a stream holds nothing back.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

NOTICE = (
    "shoal: CUDA is played by the CPU: tensors made for `cuda` are CPU tensors, `torch.cuda` answers for this machine, "
    "streams run at once, NCCL is gloo, and symmetric memory is Shoal's."
)

_SAID = "SHOAL_CUDA_AS_CPU_SAID"
"""Set in the environment of processes whose parent has said it."""

_HEAP_BYTES = 4 << 30
"""Symmetric memory of a rank: programs for GPUs take more than others. Only what is touched is taken."""

_installed = False


def is_cuda_as_cpu() -> bool:
    """Whether `cuda` means the CPU."""
    return _installed


def install_cuda_as_cpu() -> None:
    """Makes `cuda` mean the CPU for the rest of the process.

    Says so once for it and the processes that it starts, on rank 0.
    """
    global _installed
    if _installed:
        return
    try:
        import torch
    except ImportError:
        raise RuntimeError("CUDA cannot be played by the CPU without torch, whose CUDA it is") from None
    from shoal import _native
    from shoal.torch.cuda_as_cpu import (
        cuda_core,
        devices,
        driver,
        histograms,
        notes,
        nvshmem,
        process_groups,
        products,
        queries,
        registrations,
        results,
    )
    from shoal.torch.symmetric_memory import install_symmetric_memory

    _installed = True
    _native.play_cuda()
    notes.install()
    devices.install()
    results.install()
    queries.install()
    registrations.install()
    products.install()
    histograms.install()
    driver.install()
    cuda_core.install()
    nvshmem.install()
    _name_the_driver()
    if "OMPI_COMM_WORLD_RANK" not in os.environ:  # Open MPI takes all of it at once
        os.environ.setdefault("SHOAL_HEAP_BYTES", str(_HEAP_BYTES))
    if torch.distributed.is_available():
        process_groups.install()
        install_symmetric_memory()
    if os.environ.get("RANK", "0") == "0" and _SAID not in os.environ:
        print(NOTICE, file=sys.stderr)
    os.environ[_SAID] = "1"


def _name_the_driver() -> None:
    """Programs count the drivers that are active, except for the CPU's, and want one: the CPU's goes by CUDA's name.

    They look at its target, launch as many warps as their elements fill, and look at the PTX of their kernels.
    """
    import torch

    from shoal.backends import Backend, backends
    from shoal.backends.compiler import GPUTarget
    from shoal.runtime.driver import CPUDriver
    from shoal.runtime.kernel import Forms
    from shoal.torch.cuda_as_cpu.notes import played_device
    from shoal.torch.cuda_as_cpu.queries import CAPABILITY

    class Played(CPUDriver):
        """The CPU's driver, which says that it is CUDA's."""

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 10 * CAPABILITY[0] + CAPABILITY[1], 32)

        def compiled_target(self) -> GPUTarget:
            return replace(super().get_current_target(), warp_size=32)

        def get_active_torch_device(self) -> Any:
            return played_device()

        def get_current_device(self) -> int:
            return played_device().index

        def set_current_device(self, device: int) -> None:
            torch.cuda.set_device(device)

        def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
            return CAPABILITY

        def get_device_interface(self) -> Any:
            return torch.cuda

    class SelectedOnly(Played):
        """The same, used by those who name it."""

        @classmethod
        def is_active(cls) -> bool:
            return False

    Forms.played_gpu = "sm_{}{}a".format(*CAPABILITY)
    cpu = backends["cpu"]
    backends["nvidia"] = Backend(backends["nvidia"].compiler, Played)
    backends["cpu"] = Backend(cpu.compiler, SelectedOnly)
