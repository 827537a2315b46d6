"""Where Triton keeps the meaning of its operations. Shoal's compiler keeps it in its front end; the names that host code
imports from here are the types."""

from shoal.language import core as tl
from shoal.language.core import PropagateNan, constexpr, dtype, pointer_type, tensor

__all__ = ["PropagateNan", "constexpr", "dtype", "pointer_type", "tensor", "tl"]
