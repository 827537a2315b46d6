"""The language of kernels.

Everything here has a meaning inside functions decorated with `@shoal.jit`. On the host, types, `constexpr` and their
methods work as they look; operations are names to read about, and raise when they are called.
"""

from shoal.language import core, extra, math, random, standard, target_info
from shoal.language.core import *  # noqa: F403
from shoal.language.math import *  # noqa: F403
from shoal.language.random import *  # noqa: F403
from shoal.language.standard import *  # noqa: F403


def __getattr__(name: str) -> object:
    """`constexpr_function`, which programs also look for here."""
    if name == "constexpr_function":
        from shoal.runtime.callable import constexpr_function

        return constexpr_function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["core", "extra", "math", "random", "standard", "target_info"]
__all__ += core.__all__
__all__ += math.__all__
__all__ += random.__all__
__all__ += standard.__all__
