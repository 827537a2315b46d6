"""Kernels of users with several configurations are measured on copies of the tensors that they write.

Inductor measures them when a compiled program first gets to them, on the program's own tensors: what a kernel does in
place would be done once more for each measurement.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from shoal.torch._written_parameters import written_parameters


def tune_on_copies(heuristics: ModuleType) -> None:
    """Has Inductor's module `triton_heuristics` copy what Shoal's kernels write. Doing so again changes nothing."""
    theirs = heuristics.user_autotune
    if getattr(theirs, "on_copies", False):
        return

    @functools.wraps(theirs)
    def user_autotune(
        configs: Sequence[Mapping[str, Any]],
        triton_meta: Mapping[str, Any],
        filename: str | None = None,
        inductor_meta: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
        def decorate(function: Any) -> Any:
            meta = dict(inductor_meta or {})
            if len(configs) > 1 and isinstance(function, _own()):
                meta["mutated_arg_names"] = _written(function, triton_meta, configs)
            return theirs(configs, triton_meta, filename=filename, inductor_meta=meta, **named)(function)

        return decorate

    user_autotune.on_copies = True  # type: ignore[attr-defined]
    heuristics.user_autotune = user_autotune


def _own() -> type:
    from shoal.runtime.jit import JITFunction

    return JITFunction


def _written(function: Any, triton_meta: Mapping[str, Any], configs: Sequence[Mapping[str, Any]]) -> list[str]:
    def constants(config: Mapping[str, Any]) -> dict[str, Any]:
        values = {**triton_meta["constants"], **config}
        return {name: values[name] for name in function.arg_names if name in values}

    return sorted(written_parameters(function, triton_meta["signature"], [constants(config) for config in configs]))
