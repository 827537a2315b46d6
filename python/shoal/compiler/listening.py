"""Telling those who asked about a kernel that was compiled, and writing down what it became."""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import TYPE_CHECKING

from shoal import knobs

if TYPE_CHECKING:
    from shoal.runtime.kernel import CompiledKernel


def compiled(kernel: CompiledKernel) -> None:
    """Called once for every kernel that is compiled, when its code is loaded."""
    facts: tuple[str, dict[str, str], str] = (kernel.name, {}, kernel.hash)
    if knobs.runtime.kernel_load_start_hook:
        knobs.runtime.kernel_load_start_hook(None, None, *facts)
    if knobs.runtime.kernel_load_end_hook:
        knobs.runtime.kernel_load_end_hook(kernel._native, kernel._native, *facts)
    weakref.finalize(kernel, _unloaded, *facts).atexit = False
    if knobs.compilation.listener is not None:
        _tell_listener(kernel)
    if knobs.compilation.dump_ir:
        _dump(kernel)
    for knob in ("override", "enable_asan", "instrumentation_mode", "use_ir_loc"):
        if getattr(knobs.compilation, knob):
            _warn_once(type(knobs.compilation).__dict__[knob].key)


def _unloaded(name: str, group: dict[str, str], hash: str) -> None:
    if knobs.runtime.kernel_unload_hook:
        knobs.runtime.kernel_unload_hook(None, None, name, group, hash)


def _tell_listener(kernel: CompiledKernel) -> None:
    microseconds = {step: int(seconds * 1e6) for step, seconds in kernel._native.times.items()}
    found = kernel._native.from_cache
    reading = ["parse", "lower", *(["lookup", "load"] if found else [])]
    times = knobs.CompileTimes(
        ir_initialization=sum(microseconds.pop(step, 0) for step in reading),
        store_results=microseconds.pop("lookup", 0),
        lowering_stages=list(microseconds.items()),
    )
    knobs.compilation.listener(  # type: ignore[misc]
        src=kernel.src,
        metadata=kernel.metadata._asdict(),
        metadata_group={},
        times=times,
        cache_hit=found,
    )


def _dump(kernel: CompiledKernel) -> None:
    """Writes the forms of a kernel into `knobs.cache.dump_dir`."""
    from shoal.runtime.cache import get_dump_manager

    files = get_dump_manager(kernel.hash)
    for form in ("source", "ttir", "ttgir", "llir", "asm"):
        files.put(kernel.asm[form], f"{kernel.name}.{form}")


@functools.cache
def _warn_once(variable: str) -> None:
    warnings.warn(f"{variable} is set, but it has no meaning for kernels that Shoal compiles", stacklevel=4)
