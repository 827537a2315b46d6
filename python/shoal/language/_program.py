"""Arithmetic with options, products of matrices, loops, hints, assertions, printing, and code from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shoal.language._host import everywhere, operation
from shoal.language._values import Bool, Int, Text, Type, Value, tensor


@operation
def add(x: Value, y: Value, sanitize_overflow: Bool = True) -> tensor:
    """x + y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def sub(x: Value, y: Value, sanitize_overflow: Bool = True) -> tensor:
    """x - y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def mul(x: Value, y: Value, sanitize_overflow: Bool = True) -> tensor:
    """x * y; integer overflow is reported where the launch asks for it, unless `sanitize_overflow` is false."""


@operation
def where(condition: Value, x: Value, y: Value) -> tensor:
    """x where the condition holds, y elsewhere. Both are computed."""


@operation
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: Text | None = None,
    allow_tf32: Bool | None = None,
    max_num_imprecise_acc: Int | None = None,
    out_dtype: Type | None = None,
) -> tensor:
    """The product of two matrices, added to `acc` if there is one.

    `input_precision` says how `float32` operands are read: "ieee", "tf32", "tf32x3", "bf16x3" or "bf16x6".
    """


@operation
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: Text,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: Text,
    acc: tensor | None = None,
    fast_math: Bool = False,
    lhs_k_pack: Bool = True,
    rhs_k_pack: Bool = True,
    out_dtype: Type | None = None,
) -> tensor:
    """The product of two matrices in microscaling formats: groups of elements share a scale.

    Formats are "e2m1" (two elements in a byte, the first in its lower half), "e4m3", "e5m2", "bf16" and "fp16".
    Elements are passed as such numbers or as their bits. `lhs_scale` is `[M, K / 32]` and `rhs_scale` `[N, K / 32]`,
    both not transposed: exponents of powers of two as `uint8` (255 is NaN), or `float8e4nv` for groups of 16. `None`
    is no scale.
    Elements of "e2m1" are packed along K, or along the other dimension with `lhs_k_pack=False`, `rhs_k_pack=False`.
    `fast_math` says that no scale is NaN.
    """


@operation
def range(
    arg1: Value,
    arg2: Value | None = None,
    step: Value | None = None,
    num_stages: Int | None = None,
    loop_unroll_factor: Int | None = None,
    disallow_acc_multi_buffer: Bool = False,
    flatten: Bool = False,
    warp_specialize: Bool = False,
    disable_licm: Bool = False,
) -> Iterator[tensor]:
    """Python's `range`, with hints to the compiler about the loop."""


@operation
def static_range(arg1: Int, arg2: Int | None = None, step: Int | None = None) -> Iterator[Any]:
    """Python's `range`, for a loop that is unrolled at compile time: its variable is a `constexpr`."""


@operation
def condition(arg1: Value, disable_licm: Bool = False) -> tensor:
    """The condition of a `while`, with hints to the compiler about the loop."""


@operation
def multiple_of(input: tensor, values: Int | Sequence[Int]) -> tensor:
    """The tile itself; promises that each row of values starts at a multiple of this."""


@operation
def max_contiguous(input: tensor, values: Int | Sequence[Int]) -> tensor:
    """The tile itself; promises that this many values in a row follow each other."""


@operation
def max_constancy(input: tensor, values: Int | Sequence[Int]) -> tensor:
    """The tile itself; promises that this many values in a row are the same."""


@operation
def assume(cond: Value) -> None:
    """Promises that a condition holds."""


@operation
def expect_zero(x: tensor, mask: Value) -> tensor:
    """The tile itself; promises that it is zero where the mask is false."""


@operation
def static_assert(cond: Any, msg: Text = "") -> None:
    """Ends the compilation with a message unless a compile-time condition holds."""


@operation
def static_print(*values: Any, sep: Text = " ", end: Text = "\n", file: Any = None, flush: Bool = False) -> None:
    """Prints at compile time."""


@operation
def device_assert(cond: Value, msg: Text = "", mask: Value | None = None) -> None:
    """Ends the launch with a message unless a condition holds everywhere. Only in debug mode."""


@operation
def device_print(prefix: Text, *args: Any, hex: Bool = False) -> None:
    """Prints the elements of tiles while the kernel runs, a line for each."""


@operation
def debug_barrier() -> None:
    """All threads of a program wait for each other."""


@operation
def inline_asm_elementwise(
    asm: Text,
    constraints: Text,
    args: Sequence[tensor],
    dtype: Type | Sequence[Type],
    is_pure: Bool,
    pack: Int,
) -> Any:
    """Assembly of the target, on `pack` elements at a time."""


@operation
def extern_elementwise(
    lib_name: Text,
    lib_path: Text,
    args: Sequence[tensor],
    arg_type_symbol_dict: dict[Any, Any],
    is_pure: Bool,
) -> tensor:
    """A function of a library, on each element. The types of the arguments choose its symbol."""


@everywhere
def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """The same aggregate with other values in some fields."""
    from shoal.runtime.aggregate import replaced

    return replaced(instance, changes)


def extern(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that calls code from elsewhere; the same as `builtin`."""
    from shoal.language._host import builtin

    return builtin(fn)
