"""Telling a listener about compilations."""

from __future__ import annotations

from typing import Any

from shoal import knobs


def tell(kernel: Any) -> None:
    """Calls `shoal.knobs.compilation.listener`, if there is one, with what a kernel's compilation was."""
    listener = knobs.compilation.listener
    if listener is None:
        return
    microseconds = {step: int(seconds * 1e6) for step, seconds in kernel._native.times.items()}
    listener(
        src=kernel.src,
        metadata=kernel.metadata._asdict(),
        metadata_group={},
        times=knobs.CompileTimes(
            ir_initialization=microseconds.pop("parse", 0) + microseconds.pop("lower", 0),
            store_results=microseconds.pop("lookup", 0),
            lowering_stages=list(microseconds.items()),
        ),
        cache_hit=kernel._native.from_cache,
    )
