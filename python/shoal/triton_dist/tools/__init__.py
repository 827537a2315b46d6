"""Tools of `triton_dist`: the profiler of kernels, and the mark for kernels that are compiled ahead of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def aot_compile_spaces(args: dict[str, dict[str, Any]]) -> Callable[[Any], Any]:
    """Marks a kernel with the variants that an ahead-of-time build would make; it is compiled at its launch here."""
    for name, variant in args.items():
        missing = {"signature", "grid", "triton_algo_infos"} - variant.keys()
        if missing:
            raise AssertionError(f"the variants of {name} have no {', '.join(sorted(missing))}")

    def mark(kernel: Any) -> Any:
        kernel.__aot_compile_spaces__ = args
        return kernel

    return mark


__all__ = ["aot_compile_spaces"]
