"""How Inductor's kernels are compiled for a CPU: the sizes of their blocks, and the options of their launches.

Inductor tries a few sizes that suit GPUs. On a CPU one choice is right each time, so nothing is tried:

- pointwise kernels take some thousand elements, so that a program costs nothing beside its elements;
- sums along memory take one row at a time, all of it if its length is known, so that no loop carries a tile;
- sums across memory take as many columns as registers hold and walk down their rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from shoal import knobs

# Elements of a program that computes each by itself.
POINTWISE = 4096
# The sides of a block that is read along one side and written along the other.
TILED = 64
# The longest row that is summed in one piece.
ROW = 1 << 14
# Columns that are summed side by side.
COLUMNS = 256
# Elements of a block of several short rows.
SHORT_ROWS = 4096


def choose_for_cpu(heuristics: ModuleType) -> None:
    """Makes a copy of Inductor's module `triton_heuristics` use these sizes and options."""
    original = heuristics.cached_autotune
    if getattr(original, "for_cpu", False):
        return
    kinds = heuristics.HeuristicType
    choose = {
        kinds.POINTWISE: pointwise,
        kinds.REDUCTION: looped_reduction,
        kinds.PERSISTENT_REDUCTION: whole_reduction,
    }

    def cached_autotune(size_hints: Any, configs: list[Any], *args: Any, **kwargs: Any) -> Any:
        kind = kwargs.get("heuristic_type", args[1] if len(args) > 1 else None)
        meta = kwargs.get("inductor_meta") or {}
        if size_hints is not None and kind in choose:
            configs = chosen(configs, choose[kind], size_hints, meta)
        return original(size_hints, configs, *args, **kwargs)

    heuristics.cached_autotune = cached_autotune
    add_options(heuristics, options)
    heuristics.cached_autotune.for_cpu = True


def add_options(heuristics: ModuleType, options: Callable[[], Mapping[str, Any]]) -> None:
    """Makes Inductor's module `triton_heuristics` compile kernels with these options, where it says nothing else."""
    original = heuristics.cached_autotune

    @functools.wraps(original)
    def cached_autotune(size_hints: Any, configs: list[Any], *args: Any, **kwargs: Any) -> Any:
        triton_meta = kwargs.get("triton_meta", args[0] if args else None)
        if isinstance(triton_meta, dict):
            triton_meta["backend_options"] = {**options(), **triton_meta.get("backend_options", {})}
        return original(size_hints, configs, *args, **kwargs)

    heuristics.cached_autotune = cached_autotune


def options() -> dict[str, Any]:
    """Inductor's code runs on as many threads as torch had when it was compiled."""
    import torch

    return {**checks(), "num_cpu_threads": torch.get_num_threads()}


def checks() -> dict[str, bool]:
    """Inductor asks for assertions (`debug`) in every kernel; a check of every access is what users ask for."""
    return {"check_accesses": knobs.runtime.debug}


def chosen(
    configs: list[Any],
    choose: Callable[[Mapping[str, int], bool], Mapping[str, int]],
    size_hints: Mapping[str, int],
    meta: Mapping[str, Any],
) -> list[Any]:
    """The first configuration, with sizes for a CPU; all of them if they have parameters that are not known here."""
    first = configs[0]
    if not set(first.kwargs) <= {"XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK"} or meta.get("strict_reduction_rblock"):
        return configs
    along_memory = getattr(meta.get("reduction_hint"), "name", "") == "INNER"
    sizes = {dimension: power_of_two(size) for dimension, size in size_hints.items()}
    blocks = choose(sizes, along_memory)
    first.kwargs.update({name: blocks[name] for name in first.kwargs if name in blocks})
    return [first]


def power_of_two(size: int) -> int:
    """The next power of two."""
    return 1 << max(int(size) - 1, 0).bit_length()


def pointwise(sizes: Mapping[str, int], along_memory: bool) -> dict[str, int]:
    """A block that is nearly square if there are two sides; else a run."""
    del along_memory
    if len(sizes) == 1:
        return {"XBLOCK": min(sizes["x"], POINTWISE)}
    blocks = {"XBLOCK": min(sizes["x"], TILED), "YBLOCK": min(sizes.get("y", 1), TILED), "ZBLOCK": 1}
    return blocks


def looped_reduction(sizes: Mapping[str, int], along_memory: bool) -> dict[str, int]:
    """A reduction over a length that is too long for one block, or not known."""
    if along_memory:
        return {"XBLOCK": 1, "R0_BLOCK": min(sizes["r0_"], ROW)}
    columns = min(sizes["x"], COLUMNS)
    return {"XBLOCK": columns, "R0_BLOCK": max(1, min(sizes["r0_"], 16 // columns))}


def whole_reduction(sizes: Mapping[str, int], along_memory: bool) -> dict[str, int]:
    """A reduction whose whole length is in the block."""
    length = math.prod(size for dimension, size in sizes.items() if dimension.startswith("r"))
    rows = 1 if along_memory and length >= 64 else max(1, SHORT_ROWS // length)
    return {"XBLOCK": min(sizes.get("x", 1), rows)}
