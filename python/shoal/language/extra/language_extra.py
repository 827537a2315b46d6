"""Code for single threads: what a thread of a GPU sees, on every target.

A value that differs between threads is a tile with one element for each; branches and loops on it run under masks. An
operation that changes memory is done by every thread that runs it.
"""

from __future__ import annotations

from typing import Any

from shoal.language._dtype import dtype as Dtype
from shoal.language._host import operation
from shoal.language._values import Int, Text, Value, tensor

_function = operation(module="shoal.language.extra.language_extra")


@_function
def tid(axis: Int) -> tensor:
    """The thread's number along an axis of its block."""


@_function
def ntid(axis: Int) -> tensor:
    """The number of threads along an axis of the block."""


@_function
def laneid() -> tensor:
    """The thread's place in its warp."""


@_function
def warp_idx() -> tensor:
    """The number of the thread's warp."""


@_function
def threads_per_warp() -> int:
    """The number of threads of a warp, known at compile time."""


@_function
def num_warps() -> int:
    """The number of warps of a program, known at compile time."""


@_function
def num_threads() -> int:
    """The number of threads of a program, known at compile time."""


@_function
def smid() -> tensor:
    """The number of the multiprocessor; where there are none, the program's number in its grid."""


@_function
def globaltimer() -> tensor:
    """The time in nanoseconds."""


@_function
def globaltimer_lo() -> tensor:
    """The lower 32 bits of the time in nanoseconds."""


@_function
def globaltimer_hi() -> tensor:
    """The upper 32 bits of the time in nanoseconds."""


@_function
def __syncthreads() -> None:
    """Orders all threads, and all earlier operations of the program."""


@_function
def __syncwarp(mask: Value | None = None) -> None:
    """Orders the threads of a warp."""


@_function
def __fence(semantic: Text = "sc", scope: Text = "gpu") -> None:
    """Orders a thread's accesses before it with those after it, as seen by the programs of a scope."""


@_function
def fence(semantic: Text = "sc", scope: Text = "gpu") -> None:
    """Orders a thread's accesses before it with those after it, as seen by the programs of a scope."""


@_function
def membar(scope: Text = "cta") -> None:
    """A fence in the words of older GPUs: "cta", "gl" or "sys"."""


@_function
def tma_sync(N: Int = 0) -> None:
    """Waits for bulk copies."""


@_function
def ld(ptr: tensor, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Reads with scope and order; a plain read if both are empty."""


@_function
def ld_b32(ptr: tensor, scope: Text = "", semantic: Text = "") -> tensor:
    """Reads a word."""


@_function
def ld_acquire(ptr: tensor, scope: Text = "gpu") -> tensor:
    """Reads; later accesses stay later."""


@_function
def st(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> None:
    """Writes with scope and order; a plain write if both are empty."""


@_function
def st_b32(ptr: tensor, val: Value, scope: Text = "", semantic: Text = "") -> None:
    """Writes a word."""


@_function
def st_release(ptr: tensor, val: Value, scope: Text = "sys") -> None:
    """Writes; earlier accesses stay earlier."""


@_function
def atomic_add(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Adds; gives what was there before."""


@_function
def atomic_max(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Keeps the greater; gives what was there before."""


@_function
def atomic_min(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Keeps the lesser; gives what was there before."""


@_function
def atomic_and(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Bitwise and; gives what was there before."""


@_function
def atomic_or(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Bitwise or; gives what was there before."""


@_function
def atomic_xor(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Bitwise exclusive or; gives what was there before."""


@_function
def atomic_xchg(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Writes; gives what was there before."""


@_function
def atomic_cas(
    ptr: tensor, cmp_val: Value, target_val: Value, scope: Text = "gpu", semantic: Text = "relaxed"
) -> tensor:
    """Writes where memory equals `cmp_val`; gives what was there before."""


@_function
def red_release(ptr: tensor, val: Value, scope: Text = "gpu") -> None:
    """Adds; earlier accesses stay earlier."""


@_function
def atomic_add_per_warp(ptr: tensor, val: Value, scope: Text = "gpu", semantic: Text = "relaxed") -> tensor:
    """Adds once for each warp; all its threads get what was there before."""


@_function
def wait_eq(ptr: tensor, thread_idx: Value, val: Value, scope: Text = "gpu") -> None:
    """All threads wait until memory has the value, and see what was written before it."""


@_function
def arrive_inc(ptr: tensor, thread_idx: Value, val: Value, scope: Text = "gpu") -> None:
    """What all threads did happens before the thread with `thread_idx` 0 adds."""


@_function
def arrive_inc_asm(ptr: tensor, thread_idx: Value, val: Value, scope: Text = "gpu") -> None:
    """What all threads did happens before the thread with `thread_idx` 0 adds."""


@_function
def prefetch(ptr: tensor) -> None:
    """Asks for memory that will be read: on an NVIDIA GPU, to be in its L2 cache."""


@_function
def nanosleep(ns: Value) -> None:
    """A hint to wait a little."""


@_function
def ld_vector(ptr: tensor, vec_size: Int, scope: Text = "", semantic: Text = "") -> Any:
    """Reads a vector."""


@_function
def st_vector(ptr: tensor, vec: Any, scope: Text = "", semantic: Text = "") -> None:
    """Writes a vector."""


@_function
def load_v4_u32(ptr: tensor) -> Any:
    """Reads four words; those of each pair are read together."""


@_function
def load_v4_b32(ptr: tensor) -> Any:
    """Reads four words; those of each pair are read together."""


@_function
def load_v4_s32(ptr: tensor) -> Any:
    """Reads four words; those of each pair are read together."""


@_function
def load_v2_b64(ptr: tensor) -> Any:
    """Reads two words of 64 bits."""


@_function
def st_v4_u32(ptr: tensor, v0: Value, v1: Value, v2: Value, v3: Value) -> None:
    """Writes four words; those of each pair are written together."""


@_function
def st_v4_b32(ptr: tensor, v0: Value, v1: Value, v2: Value, v3: Value) -> None:
    """Writes four words; those of each pair are written together."""


@_function
def st_v2_u32(ptr: tensor, v0: Value, v1: Value) -> None:
    """Writes two words together."""


@_function
def pack(src: Any, dst_type: Dtype) -> tensor:
    """The elements of a vector as one number, the first in the low bits."""


@_function
def unpack(src: tensor, dst_type: Dtype) -> Any:
    """The parts of a number as a vector, the low bits first."""


@_function
def pack_b32_v2(v0: Value, v1: Value) -> tensor:
    """Two numbers of 32 bits as one of 64, the first in its lower half."""


@_function
def __shfl_sync(mask: Value, value: Value, index: Value, width: Int = 32) -> tensor:
    """What another thread of the warp holds, by its place."""


@_function
def __shfl_sync_i32(mask: Value, value: Value, index: Value, width: Int = 32) -> tensor:
    """What another thread of the warp holds, by its place."""


@_function
def __shfl_up_sync_i32(mask: Value, value: Value, delta: Value, width: Int = 32) -> tensor:
    """What the thread `delta` places before holds; its own value where there is none."""


@_function
def __shfl_down_sync_i32(mask: Value, value: Value, delta: Value, width: Int = 32) -> tensor:
    """What the thread `delta` places after holds; its own value where there is none."""


@_function
def __shfl_xor_sync_i32(mask: Value, value: Value, delta: Value, width: Int = 32) -> tensor:
    """What the thread holds whose place differs in the bits of `delta`."""


@_function
def __ballot_sync(mask: Value, predicate: Value) -> tensor:
    """The threads of the warp for which a predicate holds, as bits."""


@_function
def __any_sync(mask: Value, predicate: Value) -> tensor:
    """Whether a predicate holds for any thread of the warp."""


@_function
def __all_sync(mask: Value, predicate: Value) -> tensor:
    """Whether a predicate holds for all threads of the warp that take part."""


@_function
def __activemask() -> tensor:
    """The threads of the warp that run this, as bits."""


@_function
def multimem_st_b32(ptr: tensor, val0: Value) -> None:
    """Writes the bits to that place of every rank's heap."""


@_function
def multimem_st_b64(ptr: tensor, val0: Value) -> None:
    """Writes the bits to that place of every rank's heap."""


@_function
def multimem_st_v2(ptr: tensor, val0: Value, val1: Value) -> None:
    """Writes the bits to that place of every rank's heap."""


@_function
def multimem_st_v4(ptr: tensor, val0: Value, val1: Value, val2: Value, val3: Value) -> None:
    """Writes the bits to that place of every rank's heap."""


@_function
def multimem_st_p_b32(ptr: tensor, val: Value, mask: Value) -> None:
    """Writes the bits to that place of every rank's heap."""


@_function
def multimem_ld_reduce_v4(ptr: tensor, acc_dtype: Dtype | None = None) -> Any:
    """The sums over all ranks of the elements in 128 bits, in float32: four words, or pairs of narrower elements."""


@_function
def multimem_ld_reduce_p_v4(ptr: tensor, mask: Value) -> Any:
    """The sums over all ranks of the elements in 128 bits, in float32: four words, or pairs of narrower elements."""


@_function
def send_signal(addrs: tensor, sem: Text) -> None:
    """Changes each word from 0 to 1, waiting until it is 0; at `sys` scope."""


@_function
def wait_signal(addrs: tensor, sem: Text) -> None:
    """Changes each word from 1 to 0, waiting until it is 1; at `sys` scope."""


@_function
def get_flat_tid() -> tensor:
    """The thread's number in its block."""


@_function
def get_flat_bid() -> tensor:
    """The program's number in its grid."""


@_function
def symm_mem_sync(
    signal_pad_ptrs: tensor,
    block_id: Value | None,
    rank: Int,
    world_size: Int,
    hasPreviousMemAccess: bool = False,
    hasSubsequentMemAccess: bool = False,
) -> None:
    """Blocks with one number on all ranks meet, through the ranks' signal pads.

    `hasPreviousMemAccess`: what the block did before is seen by the others afterwards. `hasSubsequentMemAccess`: it
    sees what the others did before. `block_id=None` stands for the program's number.
    """


@_function
def arrive_gmem_barrier(
    addr: tensor,
    update: Value = 1,
    sem: Text = "release",
    scope: Text = "gpu",
    op: Text = "atomic_xchg",
    skip_sync: bool = False,
) -> tensor:
    """Sets a flag after all that the program did; gives what was there before."""


@_function
def wait_gmem_barrier(
    addr: tensor,
    expect: Value = 1,
    update: Int = 0,
    sem: Text = "acquire",
    scope: Text = "gpu",
    op: Text = "ld",
    skip_sync: bool = False,
) -> None:
    """Waits until a flag has the expected value; all threads see what was written before it."""


__all__ = [name for name, value in globals().items() if hasattr(value, "__shoal_path__")]
