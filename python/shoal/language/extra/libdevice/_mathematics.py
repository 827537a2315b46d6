"""The mathematics of libdevice."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Value, tensor

# Fast versions, which are allowed to be exact.


def fast_dividef(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, fast."""


def fast_sinf(arg0: Value) -> tensor:
    """The sine, fast."""


def fast_cosf(arg0: Value) -> tensor:
    """The cosine, fast."""


def fast_log2f(arg0: Value) -> tensor:
    """The logarithm to base 2, fast."""


def fast_logf(arg0: Value) -> tensor:
    """The natural logarithm, fast."""


def fast_expf(arg0: Value) -> tensor:
    """e to the power of the argument, fast."""


def fast_tanf(arg0: Value) -> tensor:
    """The tangent, fast."""


def fast_exp10f(arg0: Value) -> tensor:
    """10 to the power of the argument, fast."""


def fast_log10f(arg0: Value) -> tensor:
    """The logarithm to base 10, fast."""


def fast_powf(arg0: Value, arg1: Value) -> tensor:
    """arg0 to the power of arg1, fast."""


def fast_tanhf(arg0: Value) -> tensor:
    """The hyperbolic tangent, fast."""


# Questions about a number.


def isnan(arg0: Value) -> tensor:
    """Whether it is NaN."""


def signbit(arg0: Value) -> tensor:
    """Whether the sign bit is set."""


def finitef(arg0: Value) -> tensor:
    """Whether it is neither infinite nor NaN."""


def isinf(arg0: Value) -> tensor:
    """Whether it is infinite."""


def isfinited(arg0: Value) -> tensor:
    """Whether it is neither infinite nor NaN."""


# Rounding to integers.


def floor(arg0: Value) -> tensor:
    """The greatest integer that is not above, as a float."""


def ceil(arg0: Value) -> tensor:
    """The least integer that is not below, as a float."""


def trunc(arg0: Value) -> tensor:
    """The integer part, as a float."""


def rint(arg0: Value) -> tensor:
    """The nearest integer, ties to even, as a float."""


def llrint(arg0: Value) -> tensor:
    """The nearest integer, ties to even."""


def nearbyint(arg0: Value) -> tensor:
    """The nearest integer, ties to even, as a float."""


def round(arg0: Value) -> tensor:
    """The nearest integer, ties away from zero, as a float."""


def llround(arg0: Value) -> tensor:
    """The nearest integer, ties away from zero."""


# Mathematics.


def rcp64h(arg0: Value) -> tensor:
    """A rough reciprocal of a `float64`."""


def rsqrt(arg0: Value) -> tensor:
    """1 over the square root."""


def exp2(arg0: Value) -> tensor:
    """2 to the power of the argument."""


def saturatef(arg0: Value) -> tensor:
    """The number, but not below 0 and not above 1."""


def sqrt(arg0: Value) -> tensor:
    """The square root."""


def copysign(arg0: Value, arg1: Value) -> tensor:
    """The magnitude of arg0 with the sign of arg1."""


def nextafter(arg0: Value, arg1: Value) -> tensor:
    """The next float after arg0 in the direction of arg1."""


def sin(arg0: Value) -> tensor:
    """The sine."""


def cos(arg0: Value) -> tensor:
    """The cosine."""


def sinpi(arg0: Value) -> tensor:
    """The sine of pi times the argument."""


def cospi(arg0: Value) -> tensor:
    """The cosine of pi times the argument."""


def tan(arg0: Value) -> tensor:
    """The tangent."""


def log2(arg0: Value) -> tensor:
    """The logarithm to base 2."""


def exp(arg0: Value) -> tensor:
    """e to the power of the argument."""


def exp10(arg0: Value) -> tensor:
    """10 to the power of the argument."""


def cosh(arg0: Value) -> tensor:
    """The hyperbolic cosine."""


def sinh(arg0: Value) -> tensor:
    """The hyperbolic sine."""


def tanh(arg0: Value) -> tensor:
    """The hyperbolic tangent."""


def atan2(arg0: Value, arg1: Value) -> tensor:
    """The angle of the point (arg1, arg0)."""


def atan(arg0: Value) -> tensor:
    """The inverse tangent."""


def asin(arg0: Value) -> tensor:
    """The inverse sine."""


def acos(arg0: Value) -> tensor:
    """The inverse cosine."""


def log(arg0: Value) -> tensor:
    """The natural logarithm."""


def log10(arg0: Value) -> tensor:
    """The logarithm to base 10."""


def log1p(arg0: Value) -> tensor:
    """The natural logarithm of 1 plus the argument."""


def acosh(arg0: Value) -> tensor:
    """The inverse hyperbolic cosine."""


def asinh(arg0: Value) -> tensor:
    """The inverse hyperbolic sine."""


def atanh(arg0: Value) -> tensor:
    """The inverse hyperbolic tangent."""


def expm1(arg0: Value) -> tensor:
    """e to the power of the argument, minus 1."""


def hypot(arg0: Value, arg1: Value) -> tensor:
    """The length of a vector of two."""


def rhypot(arg0: Value, arg1: Value) -> tensor:
    """1 over the length of a vector of two."""


def norm3d(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """The length of a vector of three."""


def rnorm3d(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """1 over the length of a vector of three."""


def norm4d(arg0: Value, arg1: Value, arg2: Value, arg3: Value) -> tensor:
    """The length of a vector of four."""


def rnorm4d(arg0: Value, arg1: Value, arg2: Value, arg3: Value) -> tensor:
    """1 over the length of a vector of four."""


def cbrt(arg0: Value) -> tensor:
    """The cube root."""


def rcbrt(arg0: Value) -> tensor:
    """1 over the cube root."""


def j0(arg0: Value) -> tensor:
    """The Bessel function of the first kind, order 0."""


def j1(arg0: Value) -> tensor:
    """The Bessel function of the first kind, order 1."""


def y0(arg0: Value) -> tensor:
    """The Bessel function of the second kind, order 0."""


def y1(arg0: Value) -> tensor:
    """The Bessel function of the second kind, order 1."""


def yn(arg0: Value, arg1: Value) -> tensor:
    """The Bessel function of the second kind, order arg0."""


def jn(arg0: Value, arg1: Value) -> tensor:
    """The Bessel function of the first kind, order arg0."""


def cyl_bessel_i0(arg0: Value) -> tensor:
    """The modified Bessel function of the first kind, order 0."""


def cyl_bessel_i1(arg0: Value) -> tensor:
    """The modified Bessel function of the first kind, order 1."""


def erf(arg0: Value) -> tensor:
    """The error function."""


def erfinv(arg0: Value) -> tensor:
    """The inverse error function."""


def erfc(arg0: Value) -> tensor:
    """1 minus the error function."""


def erfcx(arg0: Value) -> tensor:
    """The scaled complementary error function."""


def erfcinv(arg0: Value) -> tensor:
    """The inverse of `erfc`."""


def normcdfinv(arg0: Value) -> tensor:
    """The inverse of `normcdf`."""


def normcdf(arg0: Value) -> tensor:
    """The standard normal distribution function."""


def lgamma(arg0: Value) -> tensor:
    """The logarithm of the gamma function's magnitude."""


def ldexp(arg0: Value, arg1: Value) -> tensor:
    """arg0 times 2 to the power of arg1."""


def scalbn(arg0: Value, arg1: Value) -> tensor:
    """arg0 times 2 to the power of arg1."""


def fmod(arg0: Value, arg1: Value) -> tensor:
    """The remainder of a division that rounds towards zero."""


def remainder(arg0: Value, arg1: Value) -> tensor:
    """The remainder of a division that rounds to nearest."""


def fma(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded once."""


def pow(arg0: Value, arg1: Value) -> tensor:
    """arg0 to the power of arg1."""


def tgamma(arg0: Value) -> tensor:
    """The gamma function."""


def fdim(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, but not below 0."""


def ilogb(arg0: Value) -> tensor:
    """The exponent, as an integer."""


def logb(arg0: Value) -> tensor:
    """The exponent, as a float."""


operations(globals(), module="shoal.language.extra.libdevice")
