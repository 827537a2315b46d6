"""Elementwise mathematics. Transcendental functions take `float32` and `float64`."""

from __future__ import annotations

from shoal.language._host import operation
from shoal.language._values import Bool, PropagateNan, Value, member, tensor

__all__ = [
    "abs",
    "ceil",
    "clamp",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "maximum",
    "minimum",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]


@member
@operation
def exp(x: Value) -> tensor:
    """e to the power of x."""


@member
@operation
def exp2(x: Value) -> tensor:
    """2 to the power of x."""


@member
@operation
def log(x: Value) -> tensor:
    """The natural logarithm."""


@member
@operation
def log2(x: Value) -> tensor:
    """The logarithm to base 2."""


@member
@operation
def sin(x: Value) -> tensor:
    """The sine."""


@member
@operation
def cos(x: Value) -> tensor:
    """The cosine."""


@member
@operation
def sqrt(x: Value) -> tensor:
    """The square root; a device may compute it fast rather than exactly."""


@member
@operation
def sqrt_rn(x: Value) -> tensor:
    """The square root, correctly rounded."""


@member
@operation
def rsqrt(x: Value) -> tensor:
    """1 over the square root."""


@member
@operation
def erf(x: Value) -> tensor:
    """The error function."""


@member
@operation
def floor(x: Value) -> tensor:
    """The greatest integer that is not above x, as a float."""


@member
@operation
def ceil(x: Value) -> tensor:
    """The least integer that is not below x, as a float."""


@member
@operation
def abs(x: Value) -> tensor:
    """The magnitude, of any type of numbers."""


@operation
def minimum(x: Value, y: Value, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The lesser of two numbers; -0.0 is less than 0.0."""


@operation
def maximum(x: Value, y: Value, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The greater of two numbers; 0.0 is greater than -0.0."""


@operation
def clamp(x: Value, min: Value, max: Value, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The number, but not below `min` and not above `max`."""


@operation
def fma(x: Value, y: Value, z: Value) -> tensor:
    """x * y + z, rounded once."""


@operation
def fdiv(x: Value, y: Value, ieee_rounding: Bool = False, approx: Bool = False) -> tensor:
    """The quotient of floats; correctly rounded with `ieee_rounding`."""


@operation
def div_rn(x: Value, y: Value) -> tensor:
    """The quotient of floats, correctly rounded."""


@operation
def umulhi(x: Value, y: Value) -> tensor:
    """The upper half of the product of unsigned integers."""
