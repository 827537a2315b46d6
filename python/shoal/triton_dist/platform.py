"""Questions to the machine: answered for a CPU, or as for a GPU that lacks the thing."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shoal
import shoal.testing
from shoal.runtime import cpu_facts
from shoal.world.current import find_rank


def is_cuda() -> bool:
    """Whether this is NVIDIA's platform: only where CUDA is played by the CPU."""
    from shoal.torch.cuda_as_cpu import is_cuda_as_cpu

    return is_cuda_as_cpu()


def _is_absent() -> bool:
    """Other platforms are never there."""
    return False


is_hip = is_maca = is_ascend = is_rocshmem = is_mori_shmem = _is_absent


def CUDA_CHECK(err: Any) -> None:
    """Raises if a call of CUDA's driver or runtime did not succeed."""
    if int(getattr(err, "value", err)) != 0:
        raise RuntimeError(f"CUDA Error: {err}")


HIP_CHECK = MACA_CHECK = CUDA_CHECK


def get_shmem_backend() -> str:
    """What stands for the SHMEM library: that of NVIDIA's platform, whose names are used."""
    return "nvshmem"


def get_shmem_version() -> str:
    """The version of what stands for the SHMEM library."""
    return shoal.__version__


def get_shmem_hash() -> str:
    """What tells it from others."""
    return triton_dist_key()


get_nvshmem_version = get_rocshmem_version = get_mori_version = get_shmem_version
get_nvshmem_hash = get_rocshmem_hash = get_mxshmem_hash = get_mori_shmem_hash = get_shmem_hash


def get_nvshmem_home() -> Path | None:
    """Where NVSHMEM is installed, if it is: as `NVSHMEM_HOME` says, or as a package."""
    said = os.environ.get("NVSHMEM_HOME")
    if said:
        return Path(said)
    try:
        package = importlib.util.find_spec("nvidia.nvshmem")
    except ModuleNotFoundError:
        return None
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    return Path(folders[0]) if folders else None


def get_rocshmem_home() -> Path | None:
    """Where ROCSHMEM is installed, as `ROCSHMEM_HOME` says."""
    said = os.environ.get("ROCSHMEM_HOME")
    return Path(said) if said else None


def get_mori_home() -> Path | None:
    """Where MoRI is installed, as `MORI_HOME` says."""
    said = os.environ.get("MORI_HOME")
    return Path(said) if said else None


def has_tma() -> bool:
    """Whether kernels may use tensor descriptors: they may."""
    return True


def is_nvshmem_multimem_supported() -> bool:
    """Whether kernels may reach all ranks at once: `multimem_*` go from rank to rank, where loads and stores do."""
    rank = find_rank()
    return rank is None or rank.node.size == rank.num_ranks


def has_nvshmemi_bc_built() -> bool:
    """Whether NVSHMEM's internal bitcode is there."""
    return False


def has_fullmesh_nvlink() -> bool:
    """Whether all ranks reach each other's memory directly: on one host they do."""
    return True


def supports_p2p_native_atomic() -> bool:
    """Whether ranks have atomics on each other's memory: on one host they do."""
    return True


def requires_p2p_native_atomic(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that needs atomics on other ranks' memory, which are always there."""
    return fn


def requires(condition_func: Callable[[], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that may be called only where a condition holds."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **named: Any) -> Any:
            if not condition_func():
                raise AssertionError(f"{condition_func.__name__} is needed for {function.__name__}")
            return function(*args, **named)

        return called

    return decorate


def get_numa_node(device_id: int = 0) -> int:
    """The memory node of a device: all ranks share the machine's first."""
    return 0


def get_numa_world_size() -> int:
    """The number of ranks that share a memory node: all of this host."""
    from shoal.torch.cuda_as_cpu.queries import _device_count

    return _device_count()


@functools.lru_cache
def get_intranode_max_speed(gpu_index: int = 0, with_scale: bool = False) -> float:
    """What copies between ranks of a host may reach, in GB/s: the bandwidth of its memory."""
    return shoal.testing.get_dram_gbps() * (0.8 if with_scale else 1.0)


get_nvlink_max_speed = get_intranode_max_speed
get_intranode_max_speed_gbps = get_nvlink_max_speed_gbps = get_pcie_link_max_speed_gbps = get_intranode_max_speed


def triton_packed_version() -> Any:
    """The version of Triton whose names these are."""
    from packaging.version import Version

    from shoal.triton._install import VERSION

    return Version(VERSION)


def get_numa_node_count_in_group(pg: Any) -> int:
    """The number of memory nodes that a group's ranks are spread over."""
    return 1


def get_group_numa_world_size(pg: Any) -> int:
    """The number of a group's ranks that share a memory node."""
    size: int = pg.size()
    return size


def get_cpu_info_linux() -> str:
    """What the CPU's maker calls it."""
    return cpu_facts.name()


def get_max_gpu_clock_rate_in_khz(device_id: int = 0) -> int:
    """The clock rate of the CPU."""
    return int(cpu_facts.properties()["sm_clock_rate"])


get_current_gpu_clock_rate_in_khz = get_max_gpu_clock_rate_in_khz


def wait_until_max_gpu_clock_or_warning(device_id: int | None = None, timeout_sec: int = 10) -> bool:
    """Whether the clock is as fast as it gets: nobody waits for a CPU's."""
    return True


def get_device_max_shared_memory_size(device_id: int = 0) -> int:
    """What stands for shared memory: the second-level cache."""
    return int(cpu_facts.properties()["max_shared_mem"])


def get_device_name(device_id: int = 0) -> str:
    """What the maker of the device calls it."""
    return cpu_facts.name()


def get_smi_device_index(device_id: int | None = None) -> int:
    """The number of a device for tools of its maker: the same."""
    return device_id or 0


def get_device_property(device_id: int = 0) -> Any:
    """Facts about the device, in the words of torch."""
    from shoal.torch.cuda_as_cpu.queries import _properties

    return _properties(device_id)


def torch_stream_max_priority() -> int:
    """The greatest priority of a stream."""
    return -1


def support_launch_cooperative_grid() -> bool:
    """Whether all programs of a grid may wait for each other: they always may."""
    return True


def launch_cooperative_grid_options() -> dict[str, Any]:
    """Launch options for programs that wait for each other."""
    return {"launch_cooperative_grid": True}


def cuda_occupancy_max_activate_blocks_per_multiprocessor(
    triton_func: Any, num_warps: int, *func_args: Any, **func_kwargs: Any
) -> int:
    """Programs that run on a core at a time. Programs that wait leave it to others, so one is enough."""
    return 1


def sleep_async(duration_ms: float) -> None:
    """Sleeps; work on a CPU is over when its call returns."""
    time.sleep(duration_ms / 1000)


@functools.lru_cache
def triton_dist_key() -> str:
    """What tells this version from others."""
    folder = Path(__file__).parent
    parts = (file.read_bytes() for file in sorted(folder.rglob("*.py")))
    return f"{shoal.__version__}-{hashlib.sha256(b''.join(parts)).hexdigest()}"
