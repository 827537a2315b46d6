"""What of the package is Rust."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__version__: str

class Kernel:
    """A kernel: the base of `JITFunction`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Kernel: ...
    def __getitem__(self, grid: Any) -> Launcher: ...
    def run(self, *args: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
        """Launches: `kernel.run(*args, grid=grid, **named)` is `kernel[grid](*args, **named)`."""
    def warmup(self, *args: Any, grid: Any = None, **named: Any) -> Any:
        """Compiles for arguments of this kind without running. Dtypes stand for pointers to them."""
    def _declare(
        self,
        names: Sequence[str],
        defaults: Sequence[Sequence[Any]],
        variadic: int | None,
        pre_run_hooks: list[Callable[..., Any]],
        interpret: bool,
        debug: bool | None,
    ) -> None: ...
    def _reset(self) -> None: ...
    def _used_values(self) -> dict[tuple[str, int], tuple[Any, dict[str, Any]]]: ...
    def _compiled_kernels(self) -> list[Any]: ...
    def _compile_signature(self, signature: str, options: dict[str, Any]) -> Any: ...

class Launcher:
    """`kernel[grid]`: a kernel that waits for its arguments."""

    def __call__(self, *args: Any, **named: Any) -> Any: ...

class Compiled:
    """One compiled specialisation."""

    @property
    def name(self) -> str: ...
    @property
    def signature(self) -> list[tuple[str, str]]: ...
    @property
    def constants(self) -> list[str]: ...
    @property
    def from_cache(self) -> bool: ...
    @property
    def times(self) -> dict[str, float]: ...
    @property
    def object_bytes(self) -> int: ...
    @property
    def target(self) -> tuple[str, str]:
        """What it is compiled for: `("cuda", "sm_90a")`."""
    @property
    def gpu_resources(self) -> tuple[int, int, int] | None:
        """Registers and bytes of local memory of a thread, bytes of shared memory of a program; `None` for a CPU."""
    def emit(self, stage: str) -> bytes:
        """The kernel in one of its forms: `tile`, `tile-opt`, `llvm`, `asm`, `obj`."""

def launch_options() -> list[str]:
    """The names of all launch options."""

def default_device_name() -> str:
    """The device of launches whose arrays are the host's, or that have none."""

def set_default_device(name: str | None) -> str:
    """Makes another device the default one, and gives the name of the one before."""

def cuda_device_count() -> int:
    """How many NVIDIA GPUs there are; 0 without a driver."""

def cuda_driver_version() -> tuple[int, int] | None:
    """The version of CUDA that the driver is for; `None` without a driver."""

def cuda_properties(ordinal: int) -> dict[str, Any]:
    """Facts about an NVIDIA GPU."""

def cuda_synchronize(ordinal: int) -> None:
    """Waits until all work on a GPU is done."""

def cpu_name() -> str:
    """LLVM's name of this machine's CPU."""

def compile_ahead(
    path: str | Path, kernel: str, signatures: Sequence[str], name: str, folder: str | Path
) -> list[Path]:
    """Compiles a kernel of a file for these signatures, and writes it as C source and header."""

def run_command(words: Sequence[str], command: Sequence[str], runtime: Sequence[str | Path]) -> int:
    """Does what the words after the command's name say, and gives the exit status."""

def language_names() -> tuple[list[str], list[str]]:
    """The names of the language: methods of tensors, and dtypes."""

def language_functions() -> list[tuple[str, list[str]]]:
    """The functions of the language, with the names of their parameters."""
