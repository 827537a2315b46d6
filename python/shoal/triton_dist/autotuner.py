"""Tuning of the kernels in a host function, which do not work without each other.

A kernel that waits for what another one sends, or for other ranks, cannot be measured by launching it again and again.
So the whole function is called again and again, and in each call every kernel tries one configuration, once.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from shoal.errors import AutotunerError
from shoal.runtime.autotuner import Autotuner, tuned_by
from shoal.runtime.config import Config
from shoal.triton_dist.tune import UNUSABLE, synchronize
from shoal.triton_dist.tuning_group import TuningGroup


def contextual_autotune(
    is_dist: bool = False, n_repeat: int = 5, n_warmup: int = 3
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tunes the kernels under `triton.autotune` that a function launches, by calling the function many times.

    Each configuration of a kernel is launched `n_warmup` times, and `n_repeat` times more to be measured. Then the
    function is called with the best of all, and that is what a call gives. With `is_dist` all ranks of torch's world
    call it, with kernels and arguments that are new to all or to none, and take what is fastest for the slowest.
    """
    if n_repeat < 1 or n_warmup < 0:
        raise ValueError(f"n_repeat must be at least 1 and n_warmup at least 0, not {n_repeat} and {n_warmup}")

    def tuned(function: Callable[..., Any]) -> Callable[..., Any]:
        has_tuned = False

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            nonlocal has_tuned
            if tuned_by.get() is not None:
                return function(*args, **named)
            trials = _Trials(n_warmup, n_repeat)
            group = TuningGroup(function.__name__, _world() if is_dist else None)
            while True:
                result, failure = trials.attempt(functools.partial(function, *args, **named))
                # Where all is known, others have nothing to hear.
                if has_tuned and not trials.kernels:
                    if failure is not None:
                        raise failure
                    return result
                if all(group.together(functools.partial(trials.are_done, failure))):
                    break
            trials.choose(group)
            has_tuned = True
            return function(*args, **named) if trials.kernels else result

        return call

    return tuned


def _world() -> Any:
    import torch.distributed

    return torch.distributed.group.WORLD


class _KernelTrial:
    """The configurations of one kernel, one after the other."""

    def __init__(self, configs: list[Config], warmups: int, repeats: int) -> None:
        self.configs, self._warmups, self._repeats = configs, warmups, repeats
        self.times: list[float] = []
        self.failures: dict[Config, Exception] = {}
        self._runs: list[float] = []

    @property
    def is_done(self) -> bool:
        return len(self.times) == len(self.configs)

    @property
    def config(self) -> Config:
        """What the next launch takes; when all were tried, some that works."""
        at = self.times.index(min(self.times)) if self.is_done else len(self.times)
        return self.configs[at]

    def ran(self, milliseconds: float) -> None:
        self._runs.append(milliseconds)
        if not self.is_done and len(self._runs) == self._warmups + self._repeats:
            self._finish(statistics.median(self._runs[self._warmups :]))

    def failed(self, error: Exception) -> None:
        self.failures[self.config] = error
        self._finish(math.inf)

    def _finish(self, milliseconds: float) -> None:
        self.times.append(milliseconds)
        self._runs = []


class _Trials:
    """What all kernels of a function try."""

    def __init__(self, warmups: int, repeats: int) -> None:
        self._warmups, self._repeats = warmups, repeats
        self.kernels: dict[tuple[Autotuner, Any], _KernelTrial] = {}

    def attempt(self, function: Callable[[], Any]) -> tuple[Any, Exception | None]:
        """Calls the function, with one configuration of each kernel that is not tuned yet."""
        before = tuned_by.set(self._launch)
        try:
            return function(), None
        except Exception as error:
            return None, error
        finally:
            tuned_by.reset(before)

    def are_done(self, failure: Exception | None) -> bool:
        if failure is not None:
            raise failure
        return all(trial.is_done for trial in self.kernels.values())

    def _launch(self, kernel: Autotuner, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        key = kernel.tuning_key(named)
        known = kernel.cache.get(key)
        if known is not None:
            return kernel.launch(known, args, named)
        trial = self.kernels.get((kernel, key))
        if trial is None:
            trial = _KernelTrial(kernel.prune_configs(named), self._warmups, self._repeats)
            self.kernels[kernel, key] = trial
        while True:
            start = time.perf_counter()
            try:
                result = kernel.launch(trial.config, args, named)
                synchronize()
            except UNUSABLE as error:
                if trial.is_done:
                    raise
                trial.failed(error)
                if len(trial.failures) == len(trial.configs):
                    reasons = "".join(f"\n  {config}: {why}" for config, why in trial.failures.items())
                    raise AutotunerError(f"no configuration of {kernel.__name__} can be used{reasons}") from None
                continue
            trial.ran((time.perf_counter() - start) * 1000)
            return result

    def choose(self, group: TuningGroup) -> None:
        """Gives each kernel the configuration that is fastest on the slowest rank."""
        of_ranks = group.together(lambda: [trial.times for trial in self.kernels.values()])
        if len({tuple(map(len, times)) for times in of_ranks}) > 1:
            raise AutotunerError(f"the ranks that tune {group.name} together launch different kernels")
        for ((kernel, key), trial), *columns in zip(self.kernels.items(), *of_ranks, strict=True):
            times = [max(times) for times in zip(*columns, strict=True)]
            if min(times) == math.inf:
                raise AutotunerError(f"each configuration of {kernel.__name__} cannot be used on some rank")
            kernel.cache[key] = trial.configs[times.index(min(times))]
            kernel.configs_timings = {config: [taken] for config, taken in zip(trial.configs, times, strict=True)}
