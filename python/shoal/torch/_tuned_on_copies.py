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
            if len(configs) > 1:
                meta["mutated_arg_names"] = _written(function, triton_meta, configs[0])
            return theirs(configs, triton_meta, filename=filename, inductor_meta=meta, **named)(function)

        return decorate

    user_autotune.on_copies = True  # type: ignore[attr-defined]
    heuristics.user_autotune = user_autotune


def _written(function: Any, triton_meta: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    from shoal.runtime.jit import JITFunction

    if not isinstance(function, JITFunction):
        return []
    values = {**triton_meta["constants"], **config}
    constants = {name: values[name] for name in function.arg_names if name in values}
    return sorted(written_parameters(function, triton_meta["signature"], constants))
