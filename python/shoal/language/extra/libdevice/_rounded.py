"""Arithmetic of libdevice that rounds to nearest (`rn`), towards zero (`rz`), down (`rd`) or up (`ru`)."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Value, tensor


def fma_rn(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded to nearest."""


def fma_rz(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded towards zero."""


def fma_rd(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded down."""


def fma_ru(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """arg0 * arg1 + arg2, rounded up."""


def div_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded to nearest."""


def div_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded towards zero."""


def div_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded down."""


def div_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 / arg1, rounded up."""


def rcp_rn(arg0: Value) -> tensor:
    """1 / arg0, rounded to nearest."""


def rcp_rz(arg0: Value) -> tensor:
    """1 / arg0, rounded towards zero."""


def rcp_rd(arg0: Value) -> tensor:
    """1 / arg0, rounded down."""


def rcp_ru(arg0: Value) -> tensor:
    """1 / arg0, rounded up."""


def sqrt_rn(arg0: Value) -> tensor:
    """The square root, rounded to nearest."""


def sqrt_rz(arg0: Value) -> tensor:
    """The square root, rounded towards zero."""


def sqrt_rd(arg0: Value) -> tensor:
    """The square root, rounded down."""


def sqrt_ru(arg0: Value) -> tensor:
    """The square root, rounded up."""


def add_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded to nearest."""


def add_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded towards zero."""


def add_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded down."""


def add_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 + arg1, rounded up."""


def mul_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded to nearest."""


def mul_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded towards zero."""


def mul_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded down."""


def mul_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 * arg1, rounded up."""


def sub_rn(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded to nearest."""


def sub_rz(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded towards zero."""


def sub_rd(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded down."""


def sub_ru(arg0: Value, arg1: Value) -> tensor:
    """arg0 - arg1, rounded up."""


def rsqrt_rn(arg0: Value) -> tensor:
    """1 over the square root, rounded to nearest."""


operations(globals(), module="shoal.language.extra.libdevice")
