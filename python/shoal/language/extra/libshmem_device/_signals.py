"""Signals, waits for them, and the order of copies."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Int, Value, tensor


def signal_op(sig_addr: tensor, signal: Value, sig_op: Int, pe: Value) -> None:
    """Sets a 64-bit word of rank `pe`, or adds to it. Only `fence` and `quiet` order puts before it."""


def signal_wait_until(sig_addr: tensor, cmp_: Int, cmp_val: Value) -> None:
    """Waits until a 64-bit word of this rank compares with a number, unsigned."""


def uint64_wait_until_equals(sig_addr: tensor, cmp_val: Value) -> None:
    """Waits until a 64-bit word of this rank equals a number."""


def fence() -> None:
    """Puts and signals to a rank arrive there before those that come after."""


def quiet() -> None:
    """Waits until all that this program put or asked for has arrived."""


def quiet_pe(pe: Value) -> None:
    """Waits until all that this program put to rank `pe` has arrived."""


operations(globals(), module="shoal.language.extra.libshmem_device")
