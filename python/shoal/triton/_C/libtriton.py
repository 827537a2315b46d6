"""What host code imports from Triton's compiler. The IR of Triton's own compiler is not here: Shoal has another one."""

from shoal.knobs import getenv, getenv_bool
from shoal.triton._C import nvidia
from shoal.triton._specialize import native_specialize_impl

__all__ = ["get_cache_invalidating_env_vars", "getenv", "getenv_bool", "native_specialize_impl", "nvidia"]

_CHANGE_CODE = ("TRITON_DEBUG", "TRITON_F32_DEFAULT", "TRITON_DEFAULT_FP_FUSION", "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")


def get_cache_invalidating_env_vars() -> dict[str, str]:
    """The environment variables that change compiled code, and are set."""
    return {name: value for name in _CHANGE_CODE if (value := getenv(name)) is not None}


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"triton._C.libtriton has no {name!r} here: this is Shoal's drop-in for Triton, and its compiler has another "
        "IR. Look at `kernel.asm` for what a kernel was compiled to."
    )
