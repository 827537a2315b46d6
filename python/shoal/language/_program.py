"""Arithmetic with options, products of matrices, loops, hints, assertions, printing, and code from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shoal.language import _dtype
from shoal.language._host import operation
from shoal.language._values import Value, tensor


@operation
def add(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x + y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def sub(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x - y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def mul(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x * y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def where(condition: Value, x: Value, y: Value) -> tensor:
    """x where the condition holds, y elsewhere. Both are computed."""


@operation
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: _dtype.dtype | None = None,
) -> tensor:
    """The product of two matrices, added to `acc` if there is one.

    `input_precision` says how `float32` operands are read: "ieee", "tf32", "tf32x3", "bf16x3" or "bf16x6".
    """


@operation
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: _dtype.dtype | None = None,
) -> tensor:
    """The product of two matrices in a microscaling format: groups of elements share a scale."""


@operation
def range(
    arg1: Value,
    arg2: Value | None = None,
    step: Value | None = None,
    num_stages: int | None = None,
    loop_unroll_factor: int | None = None,
    disallow_acc_multi_buffer: bool = False,
    flatten: bool = False,
    warp_specialize: bool = False,
    disable_licm: bool = False,
) -> Iterator[tensor]:
    """Python's `range`, with hints to the compiler about the loop."""


@operation
def static_range(arg1: int, arg2: int | None = None, step: int | None = None) -> Iterator[Any]:
    """Python's `range`, for a loop that is unrolled at compile time: its variable is a `constexpr`."""


@operation
def condition(arg1: Value, disable_licm: bool = False) -> tensor:
    """The condition of a `while`, with hints to the compiler about the loop."""


@operation
def multiple_of(input: tensor, values: int | Sequence[int]) -> tensor:
    """The tile itself; promises that each row of values starts at a multiple of this."""


@operation
def max_contiguous(input: tensor, values: int | Sequence[int]) -> tensor:
    """The tile itself; promises that this many values in a row follow each other."""


@operation
def max_constancy(input: tensor, values: int | Sequence[int]) -> tensor:
    """The tile itself; promises that this many values in a row are the same."""


@operation
def assume(cond: Value) -> None:
    """Promises that a condition holds."""


@operation
def expect_zero(x: tensor, mask: Value) -> tensor:
    """The tile itself; promises that it is zero where the mask is false."""


@operation
def static_assert(cond: Any, msg: str = "") -> None:
    """Ends the compilation with a message unless a compile-time condition holds."""


@operation
def static_print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
    """Prints at compile time."""


@operation
def device_assert(cond: Value, msg: str = "", mask: Value | None = None) -> None:
    """Ends the launch with a message unless a condition holds everywhere. Only in debug mode."""


@operation
def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Prints the elements of tiles while the kernel runs, a line for each."""


@operation
def debug_barrier() -> None:
    """All threads of a program wait for each other."""


@operation
def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: Sequence[tensor],
    dtype: _dtype.dtype | Sequence[_dtype.dtype],
    is_pure: bool,
    pack: int,
) -> Any:
    """Assembly of the target, on `pack` elements at a time."""


@operation
def extern_elementwise(
    lib_name: str,
    lib_path: str,
    args: Sequence[tensor],
    arg_type_symbol_dict: dict[Any, Any],
    is_pure: bool,
) -> tensor:
    """A function of a library, on each element. The types of the arguments choose its symbol."""


@operation
def aggregate_replace(obj: Any, **changes: Any) -> Any:
    """The same aggregate with other values in some fields."""


def extern(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that calls code from elsewhere; the same as `builtin`."""
    from shoal.language._host import builtin

    return builtin(fn)
