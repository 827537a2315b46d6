"""Functions of libdevice on the bits of integers."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Value, tensor


def clz(arg0: Value) -> tensor:
    """The number of zero bits before the first one bit."""


def popc(arg0: Value) -> tensor:
    """The number of one bits."""


def byte_perm(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """Four bytes of arg0 and arg1, chosen by the digits of arg2."""


def mulhi(arg0: Value, arg1: Value) -> tensor:
    """The upper half of the product of integers."""


def mul24(arg0: Value, arg1: Value) -> tensor:
    """The product of the lower 24 bits."""


def brev(arg0: Value) -> tensor:
    """The bits in reverse order."""


def sad(arg0: Value, arg1: Value, arg2: Value) -> tensor:
    """|arg0 - arg1| + arg2"""


def abs(arg0: Value) -> tensor:
    """The magnitude."""


def hadd(arg0: Value, arg1: Value) -> tensor:
    """The mean of integers, rounded down."""


def rhadd(arg0: Value, arg1: Value) -> tensor:
    """The mean of integers, rounded up."""


def ffs(arg0: Value) -> tensor:
    """The place of the first one bit, counted from 1; 0 if there is none."""


operations(globals(), module="shoal.language.extra.libdevice")
