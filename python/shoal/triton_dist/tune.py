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
from shoal.triton_dist.per_rank import PerRank
from shoal.triton_dist.tuning_group import TuningGroup

_WARM_UP, _CALLS = 1, 3
# What makes a configuration unusable, not the program wrong. A kernel that is tuned by itself must compile with all of
# its configurations (`runtime.autotuner.UNUSABLE`); those of a function are often all combinations of some sizes.
_CANNOT_COMPILE = (CompilationError, OutOfResources)


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
        # Names of different types have no other order.
        return tuple((name, to_hashable(value[name])) for name in sorted(value, key=repr))
    if isinstance(value, (list, tuple)):
        return tuple(to_hashable(part) for part in value)
    if isinstance(value, set):
        return frozenset(value)
    return value


def autotune(
    config_space: Iterable[dict[str, Any]],
    key_fn: Callable[..., Any],
    prune_fn: Callable[..., bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Calls a function with the arguments of `config_space` that are fastest for the key that `key_fn` gives.

    `prune_fn(config, ...)` says which can be used. What is found is kept for the rank. Calls take three arguments
    more: `autotune=False` takes the first configuration that can be used, `autotune_pg` is the group whose ranks choose
    together, and `autotune_verbose` prints the times. All of them must call it then, with keys that are new to all or
    to none. They try what all of them can use, and what one rank cannot compile no rank may. Where a trial fails on one
    of them, all raise; so they do for `key_fn` as long as nothing is tuned, and later it is raised where it fails
    alone. A call that gives an argument of the configurations itself is not tuned.
    """
    configs = list(config_space)
    _check_space(configs)

    def tuned(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        _check_names(configs, function.__name__, signature)
        names = {name for config in configs for name in config}
        best_of_ranks: PerRank[dict[Any, dict[str, Any]]] = PerRank(dict)

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
            if not names.isdisjoint((*signature.bind_partial(*args, **named).arguments, *named)):
                return function(*args, **named)

            def usable() -> list[bool]:
                return [prune_fn is None or bool(prune_fn(config, *args, **named)) for config in configs]

            def key() -> Any:
                found = group.key, to_hashable(key_fn(*args, **named))
                try:
                    hash(found)
                except TypeError as error:
                    raise TypeError(
                        f"tuning of {function.__name__}: {error}, but what `key_fn` gives is looked up by its value"
                    ) from None
                return found

            if autotune is False:
                return function(*args, **named, **configs[_first_usable(usable(), function.__name__)])
            group, best = TuningGroup(function.__name__, autotune_pg), best_of_ranks.here()
            try:
                ours = key()
            except Exception as error:
                # Others may know their keys already, and would not hear of it. None does where nothing was tuned yet.
                if not any(group.key == of for of, _ in best):
                    group.together(functools.partial(_raise, error))
                raise
            if ours not in best:
                runs = [functools.partial(function, *args, **named, **config) for config in configs]
                times = _times(runs, _usable_by_all(group, usable), group)
                best[ours] = configs[min(range(len(times)), key=times.__getitem__)]
                if autotune_verbose:
                    _print_times(configs, times)
            return function(*args, **named, **best[ours])

        return call

    return tuned


def _raise(error: Exception) -> None:
    raise error


def _check_space(configs: list[Any]) -> None:
    if not configs:
        raise ValueError("there is no configuration to choose from")
    for config in configs:
        if isinstance(config, Config):
            raise TypeError(
                'config_space has dicts of arguments, not a Config: write {"config": Config(...)} where the function '
                "has a parameter `config`"
            )
        if not isinstance(config, dict) or not all(isinstance(name, str) for name in config):
            raise TypeError(f"config_space has dicts from names of arguments to their values, not {config!r}")


def _check_names(configs: list[dict[str, Any]], name: str, signature: inspect.Signature) -> None:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    for config in configs:
        unknown = [given for given in config if given not in signature.parameters]
        if unknown:
            raise TypeError(f"{name}() has no parameter {unknown[0]!r}, which the configuration {config} gives")


def _first_usable(usable: list[bool], name: str) -> int:
    if not any(usable):
        raise AutotunerError(f"none of the {len(usable)} configurations of {name} can be used")
    return usable.index(True)


def _usable_by_all(group: TuningGroup, usable: Callable[[], list[bool]]) -> list[bool]:
    """Which configurations no rank leaves out."""

    def ours() -> list[bool]:
        found = usable()
        _first_usable(found, group.name)
        return found

    of_ranks = group.together(ours)
    lengths = [len(found) for found in of_ranks]
    if len(set(lengths)) > 1:
        told = ", ".join(f"{length} on rank {rank}" for rank, length in zip(group.ranks, lengths, strict=True))
        raise AutotunerError(f"ranks that tune {group.name} together need as many configurations each: {told}")
    by_all = [all(column) for column in zip(*of_ranks, strict=True)]
    if not any(by_all):
        raise AutotunerError(f"each of the {len(by_all)} configurations of {group.name} is left out by some rank")
    return by_all


def _times(runs: list[Callable[[], Any]], usable: list[bool], group: TuningGroup) -> list[float]:
    """The milliseconds that each run takes on the slowest rank, infinite where it cannot be used on one."""
    times, reasons = [math.inf] * len(runs), []
    for at, run in enumerate(runs):
        if not usable[at]:
            continue
        outcomes = group.together(functools.partial(_outcome, run))
        times[at] = max(math.inf if isinstance(outcome, str) else outcome for outcome in outcomes)
        reasons += [f"  {label}{why}" for label, why in zip(group.labels, outcomes) if isinstance(why, str)]
    if min(times) == math.inf:
        raise AutotunerError("\n".join([f"none of the configurations of {group.name} can be used", *reasons]))
    return times


def _print_times(configs: list[dict[str, Any]], times: list[float]) -> None:
    for config, taken in zip(configs, times, strict=True):
        print(f"{taken:9.3f} ms  {config}" if taken < math.inf else f"   cannot run  {config}")


def _outcome(run: Callable[[], Any]) -> float | str:
    """The milliseconds that a run takes, or why it cannot be compiled."""
    try:
        for _ in range(_WARM_UP):
            run()
        synchronize()
        start = time.perf_counter()
        for _ in range(_CALLS):
            run()
        synchronize()
    except _CANNOT_COMPILE as error:
        return str(error)
    return (time.perf_counter() - start) * 1000 / _CALLS


def synchronize() -> None:
    """Waits for what the GPU does, where there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def __getattr__(name: str) -> Any:
    """What else the module has where Triton-distributed is installed."""
    return installed_attribute("triton_dist.tune", name)
