"""The functions of NVIDIA's libdevice, on every target.

Each takes the types its namesake takes: `float32` and `float64` unless its name says otherwise.
"""

from __future__ import annotations

from shoal.language._host import operation
from shoal.language._values import Value, tensor

_function = operation(module="shoal.language.extra.libdevice")

# Integers.


@_function
def clz(arg0: Value) -> tensor:
    """The number of zero bits before the first one bit."""


@_function
def popc(arg0: Value) -> tensor:
    """The number of one bits."""


@_function
def byte_perm(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """Four bytes of arg0 and arg1, chosen by the digits of arg2."""


@_function
def mulhi(arg0: Value, arg1: Value) -> tensor:
    """The upper half of the product of integers."""


@_function
def mul24(arg0: Value, arg1: Value) -> tensor:
    """The product of the lower 24 bits."""


@_function
def brev(arg0: Value) -> tensor:
    """The bits in reverse order."""


@_function
def sad(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """|arg0 - arg1| + arg2"""


@_function
def abs(arg0: Value) -> tensor:
    """The magnitude."""


@_function
def hadd(arg0: Value, arg1: Value) -> tensor:
    """The mean of integers, rounded down."""


@_function
def rhadd(arg0: Value, arg1: Value) -> tensor:
    """The mean of integers, rounded up."""


@_function
def ffs(arg0: Value) -> tensor:
    """The place of the first one bit, counted from 1; 0 if there is none."""


# Arithmetic that rounds in a stated direction.


@_function
def fma_rn(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded to nearest."""


@_function
def fma_rz(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded towards zero."""


@_function
def fma_rd(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded down."""


@_function
def fma_ru(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded up."""


@_function
def div_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded to nearest."""


@_function
def div_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded towards zero."""


@_function
def div_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded down."""


@_function
def div_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded up."""


@_function
def rcp_rn(arg0: Value) -> tensor:
    """1 / arg0, rounded to nearest."""


@_function
def rcp_rz(arg0: Value) -> tensor:
    """1 / arg0, rounded towards zero."""


@_function
def rcp_rd(arg0: Value) -> tensor:
    """1 / arg0, rounded down."""


@_function
def rcp_ru(arg0: Value) -> tensor:
    """1 / arg0, rounded up."""


@_function
def sqrt_rn(arg0: Value) -> tensor:
    """The square root, rounded to nearest."""


@_function
def sqrt_rz(arg0: Value) -> tensor:
    """The square root, rounded towards zero."""


@_function
def sqrt_rd(arg0: Value) -> tensor:
    """The square root, rounded down."""


@_function
def sqrt_ru(arg0: Value) -> tensor:
    """The square root, rounded up."""


@_function
def add_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded to nearest."""


@_function
def add_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded towards zero."""


@_function
def add_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded down."""


@_function
def add_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded up."""


@_function
def mul_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded to nearest."""


@_function
def mul_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded towards zero."""


@_function
def mul_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded down."""


@_function
def mul_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded up."""


@_function
def sub_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded to nearest."""


@_function
def sub_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded towards zero."""


@_function
def sub_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded down."""


@_function
def sub_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded up."""


@_function
def rsqrt_rn(arg0: Value) -> tensor:
    """1 over the square root, rounded to nearest."""


# Conversions.


@_function
def double2float_rn(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded to nearest."""


@_function
def double2float_rz(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded towards zero."""


@_function
def double2float_rd(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded down."""


@_function
def double2float_ru(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded up."""


@_function
def double2int_rn(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded to nearest."""


@_function
def double2int_rz(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded towards zero."""


@_function
def double2int_rd(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded down."""


@_function
def double2int_ru(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded up."""


@_function
def double2uint_rn(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded to nearest."""


@_function
def double2uint_rz(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded towards zero."""


@_function
def double2uint_rd(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded down."""


@_function
def double2uint_ru(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded up."""


@_function
def int2double_rn(arg0: Value) -> tensor:
    """A 32-bit integer as a `float64`, rounded to nearest."""


@_function
def uint2double_rn(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float64`, rounded to nearest."""


@_function
def float2int_rn(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded to nearest."""


@_function
def float2int_rz(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded towards zero."""


@_function
def float2int_rd(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded down."""


@_function
def float2int_ru(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded up."""


@_function
def float2uint_rn(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded to nearest."""


@_function
def float2uint_rz(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded towards zero."""


@_function
def float2uint_rd(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded down."""


@_function
def float2uint_ru(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded up."""


@_function
def int2float_rn(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded to nearest."""


@_function
def int2float_rz(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded towards zero."""


@_function
def int2float_rd(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded down."""


@_function
def int2float_ru(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded up."""


@_function
def uint2float_rn(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded to nearest."""


@_function
def uint2float_rz(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded towards zero."""


@_function
def uint2float_rd(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded down."""


@_function
def uint2float_ru(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded up."""


@_function
def hiloint2double(arg0: Value, arg1: Value) -> tensor:
    """A `float64` from the upper and the lower half of its bits."""


@_function
def double2loint(arg0: Value) -> tensor:
    """The lower half of a float's bits."""


@_function
def double2hiint(arg0: Value) -> tensor:
    """The upper half of a float's bits."""


@_function
def float2ll_rn(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded to nearest."""


@_function
def float2ll_rz(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded towards zero."""


@_function
def float2ll_rd(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded down."""


@_function
def float2ll_ru(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded up."""


@_function
def float2ull_rn(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded to nearest."""


@_function
def float2ull_rz(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded towards zero."""


@_function
def float2ull_rd(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded down."""


@_function
def float2ull_ru(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded up."""


@_function
def double2ll_rn(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded to nearest."""


@_function
def double2ll_rz(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded towards zero."""


@_function
def double2ll_rd(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded down."""


@_function
def double2ll_ru(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded up."""


@_function
def double2ull_rn(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded to nearest."""


@_function
def double2ull_rz(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded towards zero."""


@_function
def double2ull_rd(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded down."""


@_function
def double2ull_ru(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded up."""


@_function
def ll2float_rn(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded to nearest."""


@_function
def ll2float_rz(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded towards zero."""


@_function
def ll2float_rd(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded down."""


@_function
def ll2float_ru(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded up."""


@_function
def ull2float_rn(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded to nearest."""


@_function
def ull2float_rz(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded towards zero."""


@_function
def ull2float_rd(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded down."""


@_function
def ull2float_ru(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded up."""


@_function
def ll2double_rn(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded to nearest."""


@_function
def ll2double_rz(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded towards zero."""


@_function
def ll2double_rd(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded down."""


@_function
def ll2double_ru(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded up."""


@_function
def ull2double_rn(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded to nearest."""


@_function
def ull2double_rz(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded towards zero."""


@_function
def ull2double_rd(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded down."""


@_function
def ull2double_ru(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded up."""


# The same bits at another type.


@_function
def int_as_float(arg0: Value) -> tensor:
    """The bits of a 32-bit integer as a `float32`."""


@_function
def float_as_int(arg0: Value) -> tensor:
    """The bits of a `float32` as a 32-bit integer."""


@_function
def uint_as_float(arg0: Value) -> tensor:
    """The bits of an unsigned 32-bit integer as a `float32`."""


@_function
def float_as_uint(arg0: Value) -> tensor:
    """The bits of a `float32` as an unsigned 32-bit integer."""


@_function
def longlong_as_double(arg0: Value) -> tensor:
    """The bits of a 64-bit integer as a `float64`."""


@_function
def double_as_longlong(arg0: Value) -> tensor:
    """The bits of a `float64` as a 64-bit integer."""


# Fast versions, which are allowed to be exact.


@_function
def fast_dividef(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, fast."""


@_function
def fast_sinf(arg0: Value) -> tensor:
    """The sine, fast."""


@_function
def fast_cosf(arg0: Value) -> tensor:
    """The cosine, fast."""


@_function
def fast_log2f(arg0: Value) -> tensor:
    """The logarithm to base 2, fast."""


@_function
def fast_logf(arg0: Value) -> tensor:
    """The natural logarithm, fast."""


@_function
def fast_expf(arg0: Value) -> tensor:
    """e to the power of the argument, fast."""


@_function
def fast_tanf(arg0: Value) -> tensor:
    """The tangent, fast."""


@_function
def fast_exp10f(arg0: Value) -> tensor:
    """10 to the power of the argument, fast."""


@_function
def fast_log10f(arg0: Value) -> tensor:
    """The logarithm to base 10, fast."""


@_function
def fast_powf(arg0: Value, arg1: Value) -> tensor:
    """arg0 to the power of arg1, fast."""


@_function
def fast_tanhf(arg0: Value) -> tensor:
    """The hyperbolic tangent, fast."""


# Questions about a number.


@_function
def isnan(arg0: Value) -> tensor:
    """Whether it is NaN."""


@_function
def signbit(arg0: Value) -> tensor:
    """Whether the sign bit is set."""


@_function
def finitef(arg0: Value) -> tensor:
    """Whether it is neither infinite nor NaN."""


@_function
def isinf(arg0: Value) -> tensor:
    """Whether it is infinite."""


@_function
def isfinited(arg0: Value) -> tensor:
    """Whether it is neither infinite nor NaN."""


# Rounding to integers.


@_function
def floor(arg0: Value) -> tensor:
    """The greatest integer that is not above, as a float."""


@_function
def ceil(arg0: Value) -> tensor:
    """The least integer that is not below, as a float."""


@_function
def trunc(arg0: Value) -> tensor:
    """The integer part, as a float."""


@_function
def rint(arg0: Value) -> tensor:
    """The nearest integer, ties to even, as a float."""


@_function
def llrint(arg0: Value) -> tensor:
    """The nearest integer, ties to even."""


@_function
def nearbyint(arg0: Value) -> tensor:
    """The nearest integer, ties to even, as a float."""


@_function
def round(arg0: Value) -> tensor:
    """The nearest integer, ties away from zero, as a float."""


@_function
def llround(arg0: Value) -> tensor:
    """The nearest integer, ties away from zero."""


# Mathematics.


@_function
def rcp64h(arg0: Value) -> tensor:
    """A rough reciprocal of a `float64`."""


@_function
def rsqrt(arg0: Value) -> tensor:
    """1 over the square root."""


@_function
def exp2(arg0: Value) -> tensor:
    """2 to the power of the argument."""


@_function
def saturatef(arg0: Value) -> tensor:
    """The number, but not below 0 and not above 1."""


@_function
def sqrt(arg0: Value) -> tensor:
    """The square root."""


@_function
def copysign(arg0: Value, arg1: Value) -> tensor:
    """The magnitude of arg0 with the sign of arg1."""


@_function
def nextafter(arg0: Value, arg1: Value) -> tensor:
    """The next float after arg0 in the direction of arg1."""


@_function
def sin(arg0: Value) -> tensor:
    """The sine."""


@_function
def cos(arg0: Value) -> tensor:
    """The cosine."""


@_function
def sinpi(arg0: Value) -> tensor:
    """The sine of pi times the argument."""


@_function
def cospi(arg0: Value) -> tensor:
    """The cosine of pi times the argument."""


@_function
def tan(arg0: Value) -> tensor:
    """The tangent."""


@_function
def log2(arg0: Value) -> tensor:
    """The logarithm to base 2."""


@_function
def exp(arg0: Value) -> tensor:
    """e to the power of the argument."""


@_function
def exp10(arg0: Value) -> tensor:
    """10 to the power of the argument."""


@_function
def cosh(arg0: Value) -> tensor:
    """The hyperbolic cosine."""


@_function
def sinh(arg0: Value) -> tensor:
    """The hyperbolic sine."""


@_function
def tanh(arg0: Value) -> tensor:
    """The hyperbolic tangent."""


@_function
def atan2(arg0: Value, arg1: Value) -> tensor:
    """The angle of the point (arg1, arg0)."""


@_function
def atan(arg0: Value) -> tensor:
    """The inverse tangent."""


@_function
def asin(arg0: Value) -> tensor:
    """The inverse sine."""


@_function
def acos(arg0: Value) -> tensor:
    """The inverse cosine."""


@_function
def log(arg0: Value) -> tensor:
    """The natural logarithm."""


@_function
def log10(arg0: Value) -> tensor:
    """The logarithm to base 10."""


@_function
def log1p(arg0: Value) -> tensor:
    """The natural logarithm of 1 plus the argument."""


@_function
def acosh(arg0: Value) -> tensor:
    """The inverse hyperbolic cosine."""


@_function
def asinh(arg0: Value) -> tensor:
    """The inverse hyperbolic sine."""


@_function
def atanh(arg0: Value) -> tensor:
    """The inverse hyperbolic tangent."""


@_function
def expm1(arg0: Value) -> tensor:
    """e to the power of the argument, minus 1."""


@_function
def hypot(arg0: Value, arg1: Value) -> tensor:
    """The length of a vector of two."""


@_function
def rhypot(arg0: Value, arg1: Value) -> tensor:
    """1 over the length of a vector of two."""


@_function
def norm3d(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """The length of a vector of three."""


@_function
def rnorm3d(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """1 over the length of a vector of three."""


@_function
def norm4d(arg0: Value, arg1: Value, arg2: Value, arg3: Value) -> tensor:
    """The length of a vector of four."""


@_function
def rnorm4d(arg0: Value, arg1: Value, arg2: Value, arg3: Value) -> tensor:
    """1 over the length of a vector of four."""


@_function
def cbrt(arg0: Value) -> tensor:
    """The cube root."""


@_function
def rcbrt(arg0: Value) -> tensor:
    """1 over the cube root."""


@_function
def j0(arg0: Value) -> tensor:
    """The Bessel function of the first kind, order 0."""


@_function
def j1(arg0: Value) -> tensor:
    """The Bessel function of the first kind, order 1."""


@_function
def y0(arg0: Value) -> tensor:
    """The Bessel function of the second kind, order 0."""


@_function
def y1(arg0: Value) -> tensor:
    """The Bessel function of the second kind, order 1."""


@_function
def yn(arg0: Value, arg1: Value) -> tensor:
    """The Bessel function of the second kind, order arg0."""


@_function
def jn(arg0: Value, arg1: Value) -> tensor:
    """The Bessel function of the first kind, order arg0."""


@_function
def cyl_bessel_i0(arg0: Value) -> tensor:
    """The modified Bessel function of the first kind, order 0."""


@_function
def cyl_bessel_i1(arg0: Value) -> tensor:
    """The modified Bessel function of the first kind, order 1."""


@_function
def erf(arg0: Value) -> tensor:
    """The error function."""


@_function
def erfinv(arg0: Value) -> tensor:
    """The inverse error function."""


@_function
def erfc(arg0: Value) -> tensor:
    """1 minus the error function."""


@_function
def erfcx(arg0: Value) -> tensor:
    """The scaled complementary error function."""


@_function
def erfcinv(arg0: Value) -> tensor:
    """The inverse of `erfc`."""


@_function
def normcdfinv(arg0: Value) -> tensor:
    """The inverse of `normcdf`."""


@_function
def normcdf(arg0: Value) -> tensor:
    """The standard normal distribution function."""


@_function
def lgamma(arg0: Value) -> tensor:
    """The logarithm of the gamma function's magnitude."""


@_function
def ldexp(arg0: Value, arg1: Value) -> tensor:
    """arg0 times 2 to the power of arg1."""


@_function
def scalbn(arg0: Value, arg1: Value) -> tensor:
    """arg0 times 2 to the power of arg1."""


@_function
def fmod(arg0: Value, arg1: Value) -> tensor:
    """The remainder of a division that rounds towards zero."""


@_function
def remainder(arg0: Value, arg1: Value) -> tensor:
    """The remainder of a division that rounds to nearest."""


@_function
def fma(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded once."""


@_function
def pow(arg0: Value, arg1: Value) -> tensor:
    """arg0 to the power of arg1."""


@_function
def tgamma(arg0: Value) -> tensor:
    """The gamma function."""


@_function
def fdim(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, but not below 0."""


@_function
def ilogb(arg0: Value) -> tensor:
    """The exponent, as an integer."""


@_function
def logb(arg0: Value) -> tensor:
    """The exponent, as a float."""


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add_rd",
    "add_rn",
    "add_ru",
    "add_rz",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "brev",
    "byte_perm",
    "cbrt",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "div_rd",
    "div_rn",
    "div_ru",
    "div_rz",
    "double2float_rd",
    "double2float_rn",
    "double2float_ru",
    "double2float_rz",
    "double2hiint",
    "double2int_rd",
    "double2int_rn",
    "double2int_ru",
    "double2int_rz",
    "double2ll_rd",
    "double2ll_rn",
    "double2ll_ru",
    "double2ll_rz",
    "double2loint",
    "double2uint_rd",
    "double2uint_rn",
    "double2uint_ru",
    "double2uint_rz",
    "double2ull_rd",
    "double2ull_rn",
    "double2ull_ru",
    "double2ull_rz",
    "double_as_longlong",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fast_cosf",
    "fast_dividef",
    "fast_exp10f",
    "fast_expf",
    "fast_log10f",
    "fast_log2f",
    "fast_logf",
    "fast_powf",
    "fast_sinf",
    "fast_tanf",
    "fast_tanhf",
    "fdim",
    "ffs",
    "finitef",
    "float2int_rd",
    "float2int_rn",
    "float2int_ru",
    "float2int_rz",
    "float2ll_rd",
    "float2ll_rn",
    "float2ll_ru",
    "float2ll_rz",
    "float2uint_rd",
    "float2uint_rn",
    "float2uint_ru",
    "float2uint_rz",
    "float2ull_rd",
    "float2ull_rn",
    "float2ull_ru",
    "float2ull_rz",
    "float_as_int",
    "float_as_uint",
    "floor",
    "fma",
    "fma_rd",
    "fma_rn",
    "fma_ru",
    "fma_rz",
    "fmod",
    "hadd",
    "hiloint2double",
    "hypot",
    "ilogb",
    "int2double_rn",
    "int2float_rd",
    "int2float_rn",
    "int2float_ru",
    "int2float_rz",
    "int_as_float",
    "isfinited",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "ll2double_rd",
    "ll2double_rn",
    "ll2double_ru",
    "ll2double_rz",
    "ll2float_rd",
    "ll2float_rn",
    "ll2float_ru",
    "ll2float_rz",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "longlong_as_double",
    "mul24",
    "mul_rd",
    "mul_rn",
    "mul_ru",
    "mul_rz",
    "mulhi",
    "nearbyint",
    "nextafter",
    "norm3d",
    "norm4d",
    "normcdf",
    "normcdfinv",
    "popc",
    "pow",
    "rcbrt",
    "rcp64h",
    "rcp_rd",
    "rcp_rn",
    "rcp_ru",
    "rcp_rz",
    "remainder",
    "rhadd",
    "rhypot",
    "rint",
    "rnorm3d",
    "rnorm4d",
    "round",
    "rsqrt",
    "rsqrt_rn",
    "sad",
    "saturatef",
    "scalbn",
    "signbit",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "sqrt_rd",
    "sqrt_rn",
    "sqrt_ru",
    "sqrt_rz",
    "sub_rd",
    "sub_rn",
    "sub_ru",
    "sub_rz",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "uint2double_rn",
    "uint2float_rd",
    "uint2float_rn",
    "uint2float_ru",
    "uint2float_rz",
    "uint_as_float",
    "ull2double_rd",
    "ull2double_rn",
    "ull2double_ru",
    "ull2double_rz",
    "ull2float_rd",
    "ull2float_rn",
    "ull2float_ru",
    "ull2float_rz",
    "y0",
    "y1",
    "yn",
]
