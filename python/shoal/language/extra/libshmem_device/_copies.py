"""Puts and gets between this rank's memory and the heaps of others."""

from __future__ import annotations

from shoal.language._host import operations
from shoal.language._values import Int, Value, tensor


def remote_ptr(local_ptr: tensor, pe: Value) -> tensor:
    """The same place in another rank's heap, for loads and stores."""


def getmem(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by one thread; complete on return."""


def getmem_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by the program; complete on return."""


def getmem_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by a warp; complete on return."""


def getmem_wave(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by a warp; complete on return."""


def getmem_wg(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by the program; complete on return."""


def getmem_nbi(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by one thread; complete after `quiet`."""


def getmem_nbi_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by the program; complete after `quiet`."""


def getmem_nbi_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by a warp; complete after `quiet`."""


def getmem_nbi_wave(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by a warp; complete after `quiet`."""


def getmem_nbi_wg(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` in the heap of rank `pe` to `dest`. Done by the program; complete after `quiet`."""


def putmem(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by one thread; returns when `source` is free."""


def putmem_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by the program; returns when `source` is free."""


def putmem_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by a warp; returns when `source` is free."""


def putmem_wave(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by a warp; returns when `source` is free."""


def putmem_wg(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by the program; returns when `source` is free."""


def putmem_nbi(dest: tensor, source: tensor, bytes: Value, pe: Value, qp_id: Int = 0) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by one thread; complete after `quiet`."""


def putmem_nbi_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by the program; complete after `quiet`."""


def putmem_nbi_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by a warp; complete after `quiet`."""


def putmem_nbi_wave(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by a warp; complete after `quiet`."""


def putmem_nbi_wg(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """Copies from `source` to `dest` in the heap of rank `pe`. Done by the program; complete after `quiet`."""


def putmem_rma(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem`, through the network where there is one."""


def putmem_rma_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem_block`, through the network where there is one."""


def putmem_rma_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem_warp`, through the network where there is one."""


def putmem_rma_nbi(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem_nbi`, through the network where there is one."""


def putmem_rma_nbi_block(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem_nbi_block`, through the network where there is one."""


def putmem_rma_nbi_warp(dest: tensor, source: tensor, bytes: Value, pe: Value) -> None:
    """As `putmem_nbi_warp`, through the network where there is one."""


def int_p(dest: tensor, value: Value, pe: Value) -> None:
    """Writes one 32-bit integer to the heap of rank `pe`."""


def putmem_signal(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by one thread, and a signal that changes only after the data is there."""


def putmem_signal_block(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by the program, and a signal that changes only after the data is there."""


def putmem_signal_warp(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by a warp, and a signal that changes only after the data is there."""


def putmem_signal_wave(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by a warp, and a signal that changes only after the data is there."""


def putmem_signal_wg(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by the program, and a signal that changes only after the data is there."""


def putmem_signal_nbi(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by one thread, and a signal that changes only after the data is there; complete after `quiet`."""


def putmem_signal_nbi_block(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by the program, and a signal that changes only after the data is there; complete after `quiet`."""


def putmem_signal_nbi_warp(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by a warp, and a signal that changes only after the data is there; complete after `quiet`."""


def putmem_signal_nbi_wave(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by a warp, and a signal that changes only after the data is there; complete after `quiet`."""


def putmem_signal_nbi_wg(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """A put by the program, and a signal that changes only after the data is there; complete after `quiet`."""


def putmem_signal_rma(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal`, through the network where there is one."""


def putmem_signal_rma_block(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal_block`, through the network where there is one."""


def putmem_signal_rma_warp(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal_warp`, through the network where there is one."""


def putmem_signal_rma_nbi(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal_nbi`, through the network where there is one."""


def putmem_signal_rma_nbi_block(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal_nbi_block`, through the network where there is one."""


def putmem_signal_rma_nbi_warp(
    dest: tensor, source: tensor, bytes: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal_nbi_warp`, through the network where there is one."""


def ulong_put_signal(
    dest: tensor, source: tensor, nelems: Value, sig_addr: tensor, signal: Value, sig_op: Int, pe: Value
) -> None:
    """As `putmem_signal`, for so many elements of 64 bits."""


operations(globals(), module="shoal.language.extra.libshmem_device")
