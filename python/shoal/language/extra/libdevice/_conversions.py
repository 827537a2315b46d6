"""Conversions of libdevice between types of numbers, and the same bits at another type."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Value, tensor

# Conversions.


def double2float_rn(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded to nearest."""


def double2float_rz(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded towards zero."""


def double2float_rd(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded down."""


def double2float_ru(arg0: Value) -> tensor:
    """A `float64` as a `float32`, rounded up."""


def double2int_rn(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded to nearest."""


def double2int_rz(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded towards zero."""


def double2int_rd(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded down."""


def double2int_ru(arg0: Value) -> tensor:
    """A `float64` as a 32-bit integer, rounded up."""


def double2uint_rn(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded to nearest."""


def double2uint_rz(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded towards zero."""


def double2uint_rd(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded down."""


def double2uint_ru(arg0: Value) -> tensor:
    """A `float64` as an unsigned 32-bit integer, rounded up."""


def int2double_rn(arg0: Value) -> tensor:
    """A 32-bit integer as a `float64`, rounded to nearest."""


def uint2double_rn(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float64`, rounded to nearest."""


def float2int_rn(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded to nearest."""


def float2int_rz(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded towards zero."""


def float2int_rd(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded down."""


def float2int_ru(arg0: Value) -> tensor:
    """A `float32` as a 32-bit integer, rounded up."""


def float2uint_rn(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded to nearest."""


def float2uint_rz(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded towards zero."""


def float2uint_rd(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded down."""


def float2uint_ru(arg0: Value) -> tensor:
    """A `float32` as an unsigned 32-bit integer, rounded up."""


def int2float_rn(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded to nearest."""


def int2float_rz(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded towards zero."""


def int2float_rd(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded down."""


def int2float_ru(arg0: Value) -> tensor:
    """A 32-bit integer as a `float32`, rounded up."""


def uint2float_rn(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded to nearest."""


def uint2float_rz(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded towards zero."""


def uint2float_rd(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded down."""


def uint2float_ru(arg0: Value) -> tensor:
    """An unsigned 32-bit integer as a `float32`, rounded up."""


def hiloint2double(arg0: Value, arg1: Value) -> tensor:
    """A `float64` from the upper and the lower half of its bits."""


def double2loint(arg0: Value) -> tensor:
    """The lower half of a float's bits."""


def double2hiint(arg0: Value) -> tensor:
    """The upper half of a float's bits."""


def float2ll_rn(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded to nearest."""


def float2ll_rz(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded towards zero."""


def float2ll_rd(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded down."""


def float2ll_ru(arg0: Value) -> tensor:
    """A `float32` as a 64-bit integer, rounded up."""


def float2ull_rn(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded to nearest."""


def float2ull_rz(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded towards zero."""


def float2ull_rd(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded down."""


def float2ull_ru(arg0: Value) -> tensor:
    """A `float32` as an unsigned 64-bit integer, rounded up."""


def double2ll_rn(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded to nearest."""


def double2ll_rz(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded towards zero."""


def double2ll_rd(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded down."""


def double2ll_ru(arg0: Value) -> tensor:
    """A `float64` as a 64-bit integer, rounded up."""


def double2ull_rn(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded to nearest."""


def double2ull_rz(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded towards zero."""


def double2ull_rd(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded down."""


def double2ull_ru(arg0: Value) -> tensor:
    """A `float64` as an unsigned 64-bit integer, rounded up."""


def ll2float_rn(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded to nearest."""


def ll2float_rz(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded towards zero."""


def ll2float_rd(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded down."""


def ll2float_ru(arg0: Value) -> tensor:
    """A 64-bit integer as a `float32`, rounded up."""


def ull2float_rn(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded to nearest."""


def ull2float_rz(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded towards zero."""


def ull2float_rd(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded down."""


def ull2float_ru(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float32`, rounded up."""


def ll2double_rn(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded to nearest."""


def ll2double_rz(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded towards zero."""


def ll2double_rd(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded down."""


def ll2double_ru(arg0: Value) -> tensor:
    """A 64-bit integer as a `float64`, rounded up."""


def ull2double_rn(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded to nearest."""


def ull2double_rz(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded towards zero."""


def ull2double_rd(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded down."""


def ull2double_ru(arg0: Value) -> tensor:
    """An unsigned 64-bit integer as a `float64`, rounded up."""


# The same bits at another type.


def int_as_float(arg0: Value) -> tensor:
    """The bits of a 32-bit integer as a `float32`."""


def float_as_int(arg0: Value) -> tensor:
    """The bits of a `float32` as a 32-bit integer."""


def uint_as_float(arg0: Value) -> tensor:
    """The bits of an unsigned 32-bit integer as a `float32`."""


def float_as_uint(arg0: Value) -> tensor:
    """The bits of a `float32` as an unsigned 32-bit integer."""


def longlong_as_double(arg0: Value) -> tensor:
    """The bits of a 64-bit integer as a `float64`."""


def double_as_longlong(arg0: Value) -> tensor:
    """The bits of a `float64` as a 64-bit integer."""


operations(globals(), module="shoal.language.extra.libdevice")
