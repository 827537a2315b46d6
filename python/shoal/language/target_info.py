"""Questions about the target that kernels are compiled for. They work on the host and in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.backends.compiler import GPUTarget

__all__ = [
    "cuda_capability_geq",
    "current_target",
    "is_cuda",
    "is_hip",
    "is_hip_cdna3",
    "is_hip_cdna4",
    "is_hip_gfx1250",
]


def _question(fn: Callable[..., Any]) -> Any:
    # Kernels ask the compiler, which knows the path.
    fn.__shoal_path__ = f"{__name__}.{fn.__name__}"  # type: ignore[attr-defined]
    return fn


@_question
def current_target() -> GPUTarget | None:
    """The target of the active driver."""
    from shoal.runtime.driver import driver

    return driver.active.get_current_target()


def _arch(backend: str) -> Any:
    target = current_target()
    return target.arch if target is not None and target.backend == backend else None


@_question
def is_cuda() -> bool:
    """Whether kernels run on an NVIDIA GPU."""
    return _arch("cuda") is not None


@_question
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether kernels run on an NVIDIA GPU of at least this compute capability."""
    arch = _arch("cuda")
    return arch is not None and arch >= major * 10 + minor


@_question
def is_hip() -> bool:
    """Whether kernels run on an AMD GPU."""
    return _arch("hip") is not None


@_question
def is_hip_cdna3() -> bool:
    """Whether kernels run on an AMD CDNA 3 GPU."""
    return _arch("hip") == "gfx942"


@_question
def is_hip_cdna4() -> bool:
    """Whether kernels run on an AMD CDNA 4 GPU."""
    return _arch("hip") == "gfx950"


@_question
def is_hip_gfx1250() -> bool:
    """Whether kernels run on an AMD gfx1250 GPU."""
    return str(_arch("hip")).startswith("gfx1250")
