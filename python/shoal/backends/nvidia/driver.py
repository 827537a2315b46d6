"""The driver of NVIDIA GPUs: what Triton's `triton.backends.nvidia.driver` is asked for."""

from __future__ import annotations

import os
import subprocess

from shoal import knobs
from shoal.runtime.cuda_driver import CUDADriver as CudaDriver
from shoal.runtime.cuda_driver import CUDAUtils as CudaUtils

__all__ = ["CudaDriver", "CudaUtils", "libcuda_dirs", "library_dirs", "ty_to_cpp"]

_LIBRARY = "libcuda.so.1"


def ty_to_cpp(ty: str) -> str:
    """The type in C of a kernel's parameter: `int32_t` for `i32`."""
    return CudaDriver().map_python_to_cpp_type(ty)


def libcuda_dirs() -> list[str]:
    """The folders with CUDA's driver: what `TRITON_LIBCUDA_PATH` says, else those the linker knows."""
    said = knobs.nvidia.libcuda_path
    if said:
        return [said]
    try:
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        known = ""
    folders = [os.path.dirname(line.split()[-1]) for line in known.splitlines() if _LIBRARY in line]
    folders += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    found = [folder for folder in folders if os.path.exists(os.path.join(folder, _LIBRARY))]
    if not found:
        raise AssertionError(f"{_LIBRARY} is not found: install NVIDIA's driver, or set TRITON_LIBCUDA_PATH")
    return found


def library_dirs() -> list[str]:
    """The folders to link programs with that launch kernels."""
    return libcuda_dirs()
