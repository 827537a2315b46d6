"""Types that host code imports from here. What operations mean is written in the compiler, not in Python."""

from shoal.language import core as tl
from shoal.language.core import PropagateNan, constexpr, dtype, pointer_type, tensor

__all__ = ["PropagateNan", "constexpr", "dtype", "pointer_type", "tensor", "tl"]
