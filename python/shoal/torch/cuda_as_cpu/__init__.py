"""Programs that say "cuda" run on the CPU: asked for, for programs that cannot be changed.

`"cuda"` as a device means the CPU, `torch.cuda` answers for it, streams and events are there, and process groups that
want NCCL get gloo. Work is over when the call that asks for it returns, so a stream holds nothing back.
"""

from __future__ import annotations

import os
import sys

NOTICE = (
    "shoal: CUDA is played by the CPU: tensors made for `cuda` are CPU tensors, `torch.cuda` answers for this machine, "
    "streams run at once, NCCL is gloo, and symmetric memory is Shoal's."
)

_installed = False


def is_cuda_as_cpu() -> bool:
    """Whether `cuda` means the CPU."""
    return _installed


def install_cuda_as_cpu() -> None:
    """Makes `cuda` mean the CPU for the rest of the process, and says so once, on rank 0."""
    global _installed
    if _installed:
        return
    try:
        import torch
    except ImportError:
        raise RuntimeError("CUDA cannot be played by the CPU without torch, whose CUDA it is") from None
    from shoal.torch.cuda_as_cpu import devices, driver, nvshmem, process_groups, queries
    from shoal.torch.symmetric_memory import install_symmetric_memory

    _installed = True
    devices.install()
    queries.install()
    driver.install()
    nvshmem.install()
    _name_the_driver()
    if torch.distributed.is_available():
        process_groups.install()
        install_symmetric_memory()
    if os.environ.get("RANK", "0") == "0":
        print(NOTICE, file=sys.stderr)


def _name_the_driver() -> None:
    """Programs count the drivers that are active, except for the CPU's, and want one: the CPU's goes by CUDA's name."""
    from shoal.backends import Backend, backends
    from shoal.runtime.driver import CPUDriver

    class SelectedOnly(CPUDriver):
        """The CPU's driver, used by those who name it."""

        @classmethod
        def is_active(cls) -> bool:
            return False

    cpu = backends["cpu"]
    backends["cuda"] = cpu
    backends["cpu"] = Backend(cpu.compiler, SelectedOnly)
