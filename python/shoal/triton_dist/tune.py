"""Tuning of host functions: ranks try each configuration together, and keep what is fastest for the slowest of them."""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from shoal.errors import AutotunerError, CompilationError, OutOfResources
from shoal.runtime.config import Config
from shoal.triton._install import installed_attribute

_WARM_UP, _CALLS = 1, 3


def to_hashable(value: Any) -> Any:
    """A value as a part of a key: of a tensor what a configuration depends on, its shape, strides and type."""
    if isinstance(value, numpy.generic):
        return value.item()
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        stride = value.stride() if callable(getattr(value, "stride", None)) else value.strides
        return tuple(value.shape), tuple(stride), str(value.dtype)
    if isinstance(value, Config):
        return to_hashable(value.all_kwargs())
    if isinstance(value, dict):
        return tuple(sorted((name, to_hashable(part)) for name, part in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(to_hashable(part) for part in value)
    return value


def autotune(
    config_space: Iterable[dict[str, Any]],
    key_fn: Callable[..., Any],
    prune_fn: Callable[..., bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Calls a function with the arguments of `config_space` that are fastest for the key that `key_fn` gives.

    `prune_fn(config, ...)` says which can be used. What is found is kept for the process. Calls take three arguments
    more: `autotune=False` takes the first configuration that can be used, `autotune_pg` is the group whose ranks choose
    together, and `autotune_verbose` prints the times. All of them must call it then, with keys that are new to all or
    to none, and what one rank cannot compile no rank may. A call that gives an argument of the configurations itself is
    not tuned.
    """
    configs = list(config_space)
    if not configs:
        raise ValueError("there is no configuration to choose from")

    def tuned(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        best: dict[Any, dict[str, Any]] = {}

        @functools.wraps(function)
        def call(
            *args: Any,
            autotune: bool | None = None,
            autotune_pg: Any = None,
            autotune_verbose: bool = False,
            **named: Any,
        ) -> Any:
            if autotune is not None and "autotune" in signature.parameters:
                named["autotune"] = autotune
            given = signature.bind_partial(*args, **named).arguments
            if any(name in given or name in named for name in configs[0]):
                return function(*args, **named)
            usable = [prune_fn is None or prune_fn(config, *args, **named) for config in configs]
            if not any(usable):
                raise AutotunerError(f"none of the {len(configs)} configurations of {function.__name__} can be used")
            if autotune is False:
                return function(*args, **named, **configs[usable.index(True)])
            key = autotune_pg, to_hashable(key_fn(*args, **named))
            if key not in best:
                runs = [functools.partial(function, *args, **named, **config) for config in configs]
                runs = [run if can_be_used else None for run, can_be_used in zip(runs, usable, strict=True)]
                found, times = _fastest(runs, autotune_pg)
                best[key] = configs[found]
                if autotune_verbose:
                    _print_times(configs, times)
            return function(*args, **named, **best[key])

        return call

    return tuned


def _fastest(runs: list[Callable[[], Any] | None], group: Any) -> tuple[int, list[float]]:
    """Which of the runs takes the least time on the slowest rank of a group, or here; and the times of all."""
    outcomes = [run and _outcome(run) for run in runs]
    times = [ours if isinstance(ours, float) else math.inf for ours in outcomes]
    times = [max(column) for column in zip(*_gathered(times, group), strict=True)]
    found = min(range(len(times)), key=times.__getitem__)
    if times[found] == math.inf:
        raise next(
            (why for why in outcomes if isinstance(why, Exception)),
            AutotunerError("each configuration failed on some rank, or cannot be used there"),
        )
    return found, times


def _gathered(value: Any, group: Any) -> list[Any]:
    """The values of all ranks of a group, or this one."""
    if group is None:
        return [value]
    import torch.distributed

    of_ranks: list[Any] = [None] * group.size()
    torch.distributed.all_gather_object(of_ranks, value, group=group)
    return of_ranks


def _print_times(configs: list[dict[str, Any]], times: list[float]) -> None:
    for config, taken in zip(configs, times, strict=True):
        print(f"{taken:9.3f} ms  {config}" if taken < math.inf else f"   cannot run  {config}")


def _outcome(run: Callable[[], Any]) -> float | Exception:
    """The milliseconds that a run takes, or why it cannot be compiled."""
    try:
        for _ in range(_WARM_UP):
            run()
        _synchronize()
        start = time.perf_counter()
        for _ in range(_CALLS):
            run()
        _synchronize()
    except (CompilationError, OutOfResources) as error:
        return error
    return (time.perf_counter() - start) * 1000 / _CALLS


def _synchronize() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def __getattr__(name: str) -> Any:
    """What else the module has where Triton-distributed is installed."""
    return installed_attribute("triton_dist.tune", name)
