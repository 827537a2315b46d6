"""Stands in for `torch.distributed._symmetric_memory._nvshmem_triton`: SHMEM in kernels, by torch's names.

Sizes are in elements, pointers may also be plain addresses. Comparisons and signal operations are NVSHMEM's numbers;
for the latter those of its host library (0 and 5) are taken as well.
"""

from __future__ import annotations

from typing import Any

import shoal.language as tl
from shoal.language.extra import libshmem_device as shmem
from shoal.language.extra.language_extra import ld
from shoal.runtime.jit import JITFunction, jit

_REDUCED_AT_ONCE = tl.constexpr(1024)


def requires_nvshmem(jit_func: Any) -> Any:
    """Marks a kernel that calls the functions of this module. Nothing has to be linked or started for them."""
    if not isinstance(jit_func, JITFunction):
        raise TypeError(f"Expected a JITFunction, but got {type(jit_func)}")
    return jit_func


def enable_triton(lib_dir: str | None = None) -> dict[str, str]:
    """The libraries to link: none."""
    return {}


@jit
def _bytes_at(address):
    return address.to(tl.int64).to(tl.pointer_type(tl.int8), bitcast=True)


@jit
def _word_at(address):
    return address.to(tl.int64).to(tl.pointer_type(tl.uint64), bitcast=True)


@jit
def _size_of(pointer, nelems):
    return nelems * (pointer.type.element_ty.primitive_bitwidth // 8)


@jit
def put(dest, source, nelems, pe):
    """Copies elements to another rank; the source may be reused on return."""
    tl.static_assert(dest.type == source.type)
    shmem.putmem_block(dest, source, _size_of(dest, nelems), pe)
    return 0


@jit
def get(dest, source, nelems, pe):
    """Copies elements from another rank; they are there on return."""
    tl.static_assert(dest.type == source.type)
    shmem.getmem_block(dest, source, _size_of(dest, nelems), pe)
    return 0


@jit
def get_nbi(dest, source, nelems, pe):
    """Copies elements from another rank; they are there after `quiet`."""
    tl.static_assert(dest.type == source.type)
    shmem.getmem_nbi_block(dest, source, _size_of(dest, nelems), pe)
    return 0


@jit
def putmem_block(dest, source, size_bytes, pe):
    """Copies bytes to another rank."""
    shmem.putmem_block(_bytes_at(dest), _bytes_at(source), size_bytes, pe)
    return 0


@jit
def getmem_block(dest, source, size_bytes, pe):
    """Copies bytes from another rank."""
    shmem.getmem_block(_bytes_at(dest), _bytes_at(source), size_bytes, pe)
    return 0


@jit
def getmem_nbi_block(dest, source, size_bytes, pe):
    """Copies bytes from another rank; they are there after `quiet`."""
    shmem.getmem_nbi_block(_bytes_at(dest), _bytes_at(source), size_bytes, pe)
    return 0


@jit
def putmem_signal_block(dst, src, size_bytes, signal, sig_val, sig_op, pe):
    """Copies bytes to another rank, then changes a signal there."""
    to, source, word = _bytes_at(dst), _bytes_at(src), _word_at(signal)
    if sig_op == 5 or sig_op == 10:
        shmem.putmem_signal_block(to, source, size_bytes, word, sig_val, shmem.NVSHMEM_SIGNAL_ADD, pe)
    else:
        shmem.putmem_signal_block(to, source, size_bytes, word, sig_val, shmem.NVSHMEM_SIGNAL_SET, pe)
    return 0


@jit
def signal_op(sig_addr, signal, sig_op, pe):
    """Changes a signal at another rank."""
    word = _word_at(sig_addr)
    if sig_op == 5 or sig_op == 10:
        shmem.signal_op(word, signal, shmem.NVSHMEM_SIGNAL_ADD, pe)
    else:
        shmem.signal_op(word, signal, shmem.NVSHMEM_SIGNAL_SET, pe)
    return 0


@jit
def signal_wait_until(signal, cmp, cmp_val):
    """Waits until this rank's signal compares with a number."""
    word = _word_at(signal)
    if cmp == 0:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_EQ, cmp_val)
    elif cmp == 1:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_NE, cmp_val)
    elif cmp == 2:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_GT, cmp_val)
    elif cmp == 3:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_GE, cmp_val)
    elif cmp == 4:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_LT, cmp_val)
    else:
        shmem.signal_wait_until(word, shmem.NVSHMEM_CMP_LE, cmp_val)
    return 0


@jit
def _compares(now, cmp, value):
    if cmp == 0:
        holds = now == value
    elif cmp == 1:
        holds = now != value
    elif cmp == 2:
        holds = now > value
    elif cmp == 3:
        holds = now >= value
    elif cmp == 4:
        holds = now < value
    else:
        holds = now <= value
    return holds


@jit
def wait_until(ivar, cmp_op, cmp_val):
    """Waits until this rank's 32-bit integer compares with a number."""
    word = ivar.to(tl.int64).to(tl.pointer_type(tl.int32), bitcast=True)
    now = ld(word, "sys", "acquire")
    while not _compares(now, cmp_op, cmp_val):
        now = ld(word, "sys", "acquire")
    return 0


@jit
def fence():
    """What was put before arrives before what is put after, at each rank."""
    shmem.fence()
    return 0


@jit
def quiet():
    """What was put and asked for has arrived."""
    shmem.quiet()
    return 0


@jit
def my_pe():
    """This rank."""
    return shmem.my_pe()


@jit
def n_pes():
    """The number of ranks."""
    return shmem.n_pes()


@jit
def barrier_all():
    """All ranks come here before any goes on; what they put has arrived."""
    shmem.barrier_all_block()
    return 0


@jit
def sync_all():
    """All ranks come here before any goes on."""
    shmem.sync_all_block()
    return 0


@jit
def alltoall(team, dest, source, nelems_per_pe):
    """Everybody's part for this rank, in the order of the team."""
    tl.static_assert(dest.type == source.type)
    me = shmem.team_my_pe(team)
    shmem.team_sync_block(team)
    for member in range(shmem.team_n_pes(team)):
        pe = shmem.team_translate_pe(team, member, shmem.NVSHMEM_TEAM_WORLD)
        into, part = dest + member * nelems_per_pe, source + me * nelems_per_pe
        shmem.getmem_block(into, part, _size_of(dest, nelems_per_pe), pe)
    shmem.team_sync_block(team)
    return 0


@jit
def broadcast(team, dest, source, nelems, pe_root):
    """What one member has, for all."""
    tl.static_assert(dest.type == source.type)
    shmem.broadcastmem_block(team, dest, source, _size_of(dest, nelems), pe_root)
    return 0


@jit
def _combined(total, other, operation: tl.constexpr):
    tl.static_assert(
        operation == "sum" or operation == "max" or operation == "min" or operation == "prod",
        "the operation is `sum`, `max`, `min` or `prod`",
    )
    if operation == "sum":
        result = total + other
    elif operation == "max":
        result = tl.maximum(total, other)
    elif operation == "min":
        result = tl.minimum(total, other)
    else:
        result = total * other
    return result


@jit
def reduce(team, dest, source, nreduce, operation: tl.constexpr):
    """Combines everybody's elements, in the order of the team; the result may take the source's place."""
    tl.static_assert(dest.type == source.type)
    first = shmem.remote_ptr(source, shmem.team_translate_pe(team, 0, shmem.NVSHMEM_TEAM_WORLD))
    shmem.team_sync_block(team)
    for start in range(0, nreduce, _REDUCED_AT_ONCE):
        at = start + tl.arange(0, _REDUCED_AT_ONCE)
        there = at < nreduce
        total = tl.load(first + at, mask=there)
        for member in range(1, shmem.team_n_pes(team)):
            pe = shmem.team_translate_pe(team, member, shmem.NVSHMEM_TEAM_WORLD)
            total = _combined(total, tl.load(shmem.remote_ptr(source, pe) + at, mask=there), operation)
        # All have read before any writes.
        shmem.team_sync_block(team)
        tl.store(dest + at, total, mask=there)
    shmem.team_sync_block(team)
    return 0


@jit
def _integers_at(address):
    return address.to(tl.int64).to(tl.pointer_type(tl.int64), bitcast=True)


@jit
def alltoallmem_block(team, dest, source, size_bytes_per_pe):
    """Everybody's bytes for this rank, in the order of the team."""
    return alltoall(team, _bytes_at(dest), _bytes_at(source), size_bytes_per_pe)


@jit
def broadcastmem_block(team, dest, source, size_bytes, pe_root):
    """The bytes that one member has, for all."""
    return broadcast(team, _bytes_at(dest), _bytes_at(source), size_bytes, pe_root)


@jit
def sum_reduce(team, dest, source, nreduce):
    """Adds up everybody's 64-bit integers."""
    return reduce(team, _integers_at(dest), _integers_at(source), nreduce, "sum")


@jit
def max_reduce(team, dest, source, nreduce):
    """The greatest of everybody's 64-bit integers."""
    return reduce(team, _integers_at(dest), _integers_at(source), nreduce, "max")


@jit
def min_reduce(team, dest, source, nreduce):
    """The least of everybody's 64-bit integers."""
    return reduce(team, _integers_at(dest), _integers_at(source), nreduce, "min")


@jit
def _reduce_bytes(team, dest, source, nreduce, operation: tl.constexpr, dtype: tl.constexpr):
    into = dest.to(tl.int64).to(tl.pointer_type(dtype), bitcast=True)
    return reduce(team, into, source.to(tl.int64).to(tl.pointer_type(dtype), bitcast=True), nreduce, operation)


# What torch's own functions call, which take addresses: kernels call these, too.
putmem_block_extern_wrapper = putmem_block
getmem_block_extern_wrapper = getmem_block
getmem_nbi_block_extern_wrapper = getmem_nbi_block
putmem_signal_block_extern_wrapper = putmem_signal_block
wait_until_extern_wrapper = wait_until
signal_wait_until_extern_wrapper = signal_wait_until
alltoallmem_block_extern_wrapper = alltoallmem_block
broadcastmem_block_extern_wrapper = broadcastmem_block
reduce_extern_wrapper = _reduce_bytes
