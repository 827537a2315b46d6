"""What a backend's compiler looks like to host code: targets, options, specialisation."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class GPUTarget:
    """What code is made for: `cpu`, `cuda` or `hip`, which model of it, and how many lanes a warp has."""

    backend: str
    arch: int | str
    warp_size: int


class Language(enum.Enum):
    """The language of a source."""

    TRITON = 0
    GLUON = 1


class BaseBackend(ABC):
    """A compiler for one kind of target."""

    binary_ext: str
    supports_native_tensor_specialization = True

    def __init__(self, target: GPUTarget) -> None:
        if not self.supports_target(target):
            raise ValueError(f"{type(self).__name__} does not make code for {target}")
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether this compiler makes code for a target."""

    @abstractmethod
    def hash(self) -> str:
        """What cache keys hold of the compiler and the target."""

    @abstractmethod
    def parse_options(self, options: dict[str, Any]) -> Any:
        """The options of a launch, checked."""

    def get_module_map(self) -> dict[str, ModuleType]:
        """Modules of the language that this target brings its own version of."""
        return {}

    @staticmethod
    def parse_attr(desc: str) -> list[list[Any]]:
        """What a specialisation says of an argument: "D" means that 16 divides it."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg: int, **kwargs: Any) -> str:
        """How an integer is specialised."""
        return "D" if kwargs.get("align", False) and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg: Any, **kwargs: Any) -> str:
        """How a pointer is specialised."""
        return "D" if kwargs.get("align", False) and arg.data_ptr() % 16 == 0 else ""


@dataclass(frozen=True)
class CPUOptions:
    """The options of a launch. Those that have no meaning on a CPU are accepted and ignored."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 1
    maxnreg: int | None = None
    debug: bool = False
    check_accesses: bool = True
    sanitize_overflow: bool = True
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    backend_name: str = "cpu"
    arch: str = ""
    num_cpu_threads: int = 0
    instrumentation_mode: str = ""
    ir_override: str | None = None

    def hash(self) -> str:
        """The options as one word."""
        import hashlib

        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()


class CPUBackend(BaseBackend):
    """The compiler for CPUs."""

    binary_ext = "obj"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cpu"

    def hash(self) -> str:
        from shoal._native import __version__

        return f"shoal-{__version__}-{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> CPUOptions:
        known = {option.name for option in fields(CPUOptions)}
        given = {"arch": str(self.target.arch), **options}
        return CPUOptions(**{name: value for name, value in given.items() if name in known})


@dataclass(frozen=True)
class CUDAOptions(CPUOptions):
    """The options of a launch on an NVIDIA GPU."""

    warp_size: int = 32
    default_dot_input_precision: str = "tf32"
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4nv", "fp8e5")
    backend_name: str = "cuda"


class CUDABackend(BaseBackend):
    """The compiler for NVIDIA GPUs."""

    binary_ext = "cubin"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    def hash(self) -> str:
        from shoal._native import __version__

        return f"shoal-{__version__}-sm_{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> CUDAOptions:
        known = {option.name for option in fields(CUDAOptions)}
        given = {"arch": f"sm_{self.target.arch}", **options}
        return CUDAOptions(**{name: value for name, value in given.items() if name in known})
