"""Tuning of the kernels in a host function, which do not work without each other.

A kernel that waits for what another one sends, or for other ranks, cannot be measured by launching it again and again.
So the whole function is called again and again, and each kernel keeps one configuration for a whole call. After a call
the ranks tell each other what it did, so that all of them go on with the same configuration.
"""

from __future__ import annotations

import functools
import math
import operator
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import AutotunerError
from shoal.runtime.autotuner import UNUSABLE, Autotuner, tuned_by
from shoal.runtime.config import Config
from shoal.triton_dist.per_rank import PerRank, rank_of_thread
from shoal.triton_dist.tune import synchronize
from shoal.triton_dist.tuning_group import TuningGroup


def contextual_autotune(
    is_dist: bool = False, n_repeat: int = 5, n_warmup: int = 3
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tunes the kernels under `triton.autotune` that a function launches, by calling the function many times.

    Each configuration of a kernel is that of `n_warmup` calls, and of `n_repeat` calls more that are measured. What
    they change is undone as `triton.autotune` is told to. Then the function is called with the best of all, and that is
    what a call gives. With `is_dist` all ranks call it, those of torch's world or of `World.threads`, with kernels and
    arguments that are new to all or to none, and take what is fastest for the slowest. They run the same configuration
    in each call, but for one in which some cannot compile what others can: those take the next, and afterwards all
    leave it out.
    """
    n_repeat, n_warmup = operator.index(n_repeat), operator.index(n_warmup)
    if n_repeat < 1 or n_warmup < 0:
        raise ValueError(f"n_repeat must be at least 1 and n_warmup at least 0, not {n_repeat} and {n_warmup}")

    def tuned(function: Callable[..., Any]) -> Callable[..., Any]:
        history = PerRank(_History)

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if tuned_by.get() is not None:
                return function(*args, **named)
            ours = history.here()
            trials = _Trials(n_warmup, n_repeat)
            group = TuningGroup(function.__name__, _world(function.__name__) if is_dist else None)
            while True:
                result, failure = trials.attempt(functools.partial(function, *args, **named))
                # Where all is known, others have nothing to hear.
                if ours.has_tuned and not trials.kernels:
                    if failure is not None:
                        raise failure
                    return result
                trials.count(group, failure)
                if trials.are_done:
                    break
            trials.choose()
            ours.has_tuned = True
            if not trials.kernels:
                return result
            # Nobody may write to others before they are ready.
            group.together(trials.reset)
            return function(*args, **named)

        return call

    return tuned


@dataclass
class _History:
    """What a rank has done with a function before."""

    has_tuned: bool = False


def _world(name: str) -> Any:
    rank = rank_of_thread()
    if rank is not None:
        return rank.world
    import torch.distributed

    if not torch.distributed.is_initialized():
        raise AutotunerError(
            f"tuning of {name}: with is_dist=True the ranks of torch's world tune together, and there is none yet: "
            "call torch.distributed.init_process_group first"
        )
    return torch.distributed.group.WORLD


@dataclass
class _Outcome:
    """What a rank did with a kernel in one call."""

    config: int | None = None
    milliseconds: float = 0.0
    failures: dict[int, str] = field(default_factory=dict)


class _KernelTrial:
    """The configurations of one kernel, one after the other, each for as many calls as are asked for."""

    def __init__(self, name: str, configs: list[Config], calls: int) -> None:
        self.name, self.configs, self._calls = name, configs, calls
        # The milliseconds of the slowest rank in each call.
        self.times: list[list[float]] = [[] for _ in configs]
        self.failures: dict[int, str] = {}
        # Of the call that runs.
        self.outcome = _Outcome()

    @property
    def untried(self) -> list[int]:
        return [at for at in self._usable if len(self.times[at]) < self._calls]

    @property
    def _usable(self) -> list[int]:
        failed = {**self.failures, **self.outcome.failures}
        return [at for at in range(len(self.configs)) if at not in failed]

    def launch(self, launch: Callable[[Config], Any]) -> Any:
        """Launches with what is to be tried, or when all was tried with the first that can be used, as others do."""
        is_done = not self.untried
        while True:
            at = (self.untried or self._usable)[0]
            start = time.perf_counter()
            try:
                result = launch(self.configs[at])
                synchronize()
            except UNUSABLE as error:
                if is_done:
                    raise
                failures = {**self.outcome.failures, at: str(error)}
                self.outcome = _Outcome(failures=failures)
                if not self._usable:
                    raise self._none_left({**self.failures, **failures}) from None
                continue
            self.outcome.config = at
            self.outcome.milliseconds += (time.perf_counter() - start) * 1000
            return result

    def count(self, outcomes: Sequence[_Outcome]) -> bool:
        """Takes what all ranks did in a call, and says whether that leads on."""
        self.outcome = _Outcome()
        failures = {at: why for outcome in outcomes for at, why in outcome.failures.items()}
        self.failures.update(failures)
        if not self._usable:
            raise self._none_left(self.failures)
        launched = [outcome for outcome in outcomes if outcome.config is not None]
        ran = {outcome.config for outcome in launched}
        if len(ran) != 1 or not ran <= set(self.untried):
            return bool(failures)
        self.times[ran.pop()].append(max(outcome.milliseconds for outcome in launched))
        return True

    def _none_left(self, failures: dict[int, str]) -> AutotunerError:
        reasons = "".join(f"\n  {self.configs[at]}: {why}" for at, why in sorted(failures.items()))
        return AutotunerError(f"no configuration of {self.name} can be used{reasons}")


class _Trials:
    """What all kernels of a function try."""

    def __init__(self, warmups: int, repeats: int) -> None:
        self._warmups, self._repeats = warmups, repeats
        self.kernels: dict[tuple[Autotuner, Any], _KernelTrial] = {}
        # The kernels that the last call launched, and the arguments.
        self._launches: list[tuple[Autotuner, Any, dict[str, Any]]] = []

    @property
    def are_done(self) -> bool:
        return not any(trial.untried for trial in self.kernels.values())

    def attempt(self, function: Callable[[], Any]) -> tuple[Any, Exception | None]:
        """Calls the function, with one configuration of each kernel that is not tuned yet."""
        self._launches.clear()
        before = tuned_by.set(self._launch)
        try:
            return function(), None
        except Exception as error:
            return None, error
        finally:
            tuned_by.reset(before)

    def count(self, group: TuningGroup, failure: Exception | None) -> None:
        """Tells the other ranks what a call did, and hears it of them."""

        def ours() -> list[tuple[str, int, _Outcome]]:
            if failure is not None:
                raise failure
            return [(trial.name, len(trial.configs), trial.outcome) for trial in self.kernels.values()]

        of_ranks = group.together(ours)
        if len({tuple(kernel[:2] for kernel in kernels) for kernels in of_ranks}) > 1:
            raise AutotunerError(f"the ranks that tune {group.name} together launch different kernels")
        leads_on = False
        for trial, *columns in zip(self.kernels.values(), *of_ranks, strict=True):
            leads_on |= trial.count([outcome for _, _, outcome in columns])
        if not leads_on and not self.are_done:
            names = ", ".join(dict.fromkeys(trial.name for trial in self.kernels.values() if trial.untried))
            raise AutotunerError(
                f"tuning of {group.name}: its calls no longer launch {names}, so that not all configurations can be "
                "tried. Tune it by itself, or launch it in each call"
            )

    def _launch(self, kernel: Autotuner, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        key = kernel.tuning_key(named)
        known = _known(kernel, key)
        self._launches.append((kernel, key, {**kernel.nargs, **named}))
        if known is not None:
            # As long as nothing is tried, this may be the call that counts.
            return kernel.trial(known, args, named)() if self.kernels else kernel.launch(known, args, named)
        trial = self.kernels.get((kernel, key))
        if trial is None:
            configs = kernel.prune_configs(named)
            for config in configs:
                kernel.refuse_conflicts(config, named)
            trial = _KernelTrial(kernel.__name__, configs, self._warmups + self._repeats)
            self.kernels[kernel, key] = trial
        return trial.launch(lambda config: kernel.trial(config, args, named)())

    def choose(self) -> None:
        """Gives each kernel the configuration that is fastest on the slowest rank."""
        for (kernel, key), trial in self.kernels.items():
            times = [
                math.inf if at in trial.failures else statistics.median(taken[self._warmups :])
                for at, taken in enumerate(trial.times)
            ]
            kernel.cache[key] = _choices(kernel)[key] = trial.configs[times.index(min(times))]
            kernel.configs_timings = {config: [taken] for config, taken in zip(trial.configs, times, strict=True)}

    def reset(self) -> None:
        """Clears what the trials added to, for the call that counts."""
        for kernel, key, arguments in self._launches:
            kernel.pre_hook({**arguments, **_known(kernel, key).all_kwargs()}, reset_only=True)


# Ranks that are threads share kernels, and with them what those have chosen.
_choices_of_ranks: PerRank[dict[Autotuner, dict[Any, Config]]] = PerRank(dict)


def _choices(kernel: Autotuner) -> dict[Any, Config]:
    """What this rank knows to be the best configurations of a kernel."""
    return kernel.cache if rank_of_thread() is None else _choices_of_ranks.here().setdefault(kernel, {})


def _known(kernel: Autotuner, key: Any) -> Config | None:
    return kernel.configs[0] if len(kernel.configs) == 1 else _choices(kernel).get(key)
