"""Choosing the fastest of several configurations of a kernel, and computing parameters from the others.

The configurations are compiled in parallel first, and then measured one after another, so that no measurement shares
the machine with a compiler. A configuration that cannot be compiled or run for want of resources is data, not an
error: its time is infinite. Only if none is left, the launch fails. Configurations that become the same code, as those
that differ in `num_warps` alone do on a CPU, are compiled and measured once.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import ContextVar
from typing import Any

from .. import knobs
from ..errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources
from .computed_once import computed_once
from .config import Config
from .heuristics import Heuristics, heuristics, names_of_arguments
from .in_place import copy_of, fill_with_zeros, overwrite
from .jit import JITFunction, KernelInterface
from .tuning_progress import Progress
from .tuning_store import StoredTimings

__all__ = ["Autotuner", "Config", "Heuristics", "autotune", "heuristics"]

# What makes a configuration unusable, not the program wrong.
UNUSABLE = (OutOfResources, CompileTimeAssertionFailure)
# The median decides; the others show how sure that is.
QUANTILES = (0.5, 0.2, 0.8)
NEVER = [math.inf] * len(QUANTILES)

# What launches instead of kernels that choose each for itself: `launch(kernel, args, kwargs)`.
tuned_by: ContextVar[Callable[..., Any] | None] = ContextVar("tuned_by", default=None)


@functools.cache
def _name_of(dtype: Any) -> str:
    """The name of an element type. Kept, because NumPy takes longer to find it than a launch takes."""
    return str(dtype)


def _is_for_cpu(kernel: Any) -> bool:
    target = getattr(getattr(kernel, "metadata", None), "target", None)
    return getattr(target, "backend", None) == "cpu"


def _code_of(kernel: Any, config: Config) -> Any:
    """Something that is equal for configurations which become the same code: on a CPU, all that are compiled for the
    same arguments and values. The other launch options mean nothing there."""
    return tuple(kernel.signature.items()) if _is_for_cpu(kernel) else config


class _OfThread(threading.local):
    """What the launch of a thread has: several launch at the same time where ranks are threads."""

    def __init__(self) -> None:
        self.nargs: dict[str, Any] | None = None
        # What a measurement changed is put back from these.
        self.restore_copies: dict[str, Any] = {}
        # Why configurations cannot be used, of the tuning that runs.
        self.failures: dict[Config, Exception] = {}


class Autotuner(KernelInterface):
    """A kernel that picks its configuration by measuring.

    `cache` has the winner for each tuning key (the values of the arguments in `key`, and the types of all arguments),
    `best_config` the one of the last launch, `configs_timings` the medians and quantiles in milliseconds of the last
    tuning, `compile_time` and `bench_time` the seconds it took to compile and to measure.
    """

    def __init__(
        self,
        fn: KernelInterface,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Iterable[str] | None,
        restore_value: Iterable[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.arg_names = list(arg_names)
        self.configs = list(configs) if configs else [Config({})]
        self.keys = list(key)
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self._check_names()

        self._of_thread = _OfThread()
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._reset_arguments
        self.post_hook = post_hook or self._restore_arguments

        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")

        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench or self._bench_of_old_parameters()

        self.best_config: Config | None = None
        self.configs_timings: dict[Config, list[float]] = {}
        self.compile_time = 0.0
        self.bench_time = 0.0
        self.__name__ = self.base_fn.__name__
        self.__doc__ = self.base_fn.__doc__

    def _check_names(self) -> None:
        for parameter in ("key", "reset_to_zero", "restore_value"):
            names = self.keys if parameter == "key" else getattr(self, parameter)
            unknown = [name for name in names if name not in self.arg_names]
            if not unknown:
                continue
            said = (
                f"{parameter} contains names that are not kernel arguments: {', '.join(unknown)}. "
                f"The kernel's arguments are: {', '.join(self.arg_names)}."
            )
            if parameter != "key":
                raise ValueError(said)
            # It would never change. Programs that were never told of it have such names.
            warnings.warn(f"{said} They are left out.", stacklevel=5)

    def _bench_of_old_parameters(self) -> Callable[..., Any] | None:
        """The measurement that the parameters `warmup`, `rep` and `use_cuda_graph` ask for, if any is given."""
        warmup, rep = self.num_warmups, self.num_reps
        if warmup is None and rep is None and not self.use_cuda_graph:
            return None
        warnings.warn(
            "warmup, rep and use_cuda_graph of autotune are deprecated: pass do_bench=lambda call, quantiles: ...",
            DeprecationWarning,
            stacklevel=4,
        )
        from .. import testing

        rep = 100 if rep is None else rep
        if self.use_cuda_graph:
            return lambda call, quantiles: testing.do_bench_cudagraph(call, rep=rep, quantiles=quantiles)
        warmup = 25 if warmup is None else warmup
        return lambda call, quantiles: testing.do_bench(call, warmup=warmup, rep=rep, quantiles=quantiles)

    @computed_once
    def do_bench(self) -> Callable[..., Any]:
        """Measures a call: `do_bench(call, quantiles=...)` gives milliseconds."""
        if self._do_bench is not None:
            return self._do_bench
        from .driver import driver

        return driver.active.get_benchmarker()

    # Launching

    @property
    def nargs(self) -> dict[str, Any] | None:
        """The arguments of the launch that this thread is making, by name."""
        return self._of_thread.nargs

    @nargs.setter
    def nargs(self, given: dict[str, Any] | None) -> None:
        self._of_thread.nargs = given

    @property
    def restore_copies(self) -> dict[str, Any]:
        """What the arguments were before the measurement that this thread is making."""
        return self._of_thread.restore_copies

    @restore_copies.setter
    def restore_copies(self, copies: dict[str, Any]) -> None:
        self._of_thread.restore_copies = copies

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches with the best configuration, after finding it if these arguments are of a new kind."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            context = tuned_by.get()
            if context is not None:
                return context(self, args, kwargs)
            if len(self.configs) == 1:
                return self.launch(self.configs[0], args, kwargs)
            return self.launch(self._config_for(args, kwargs), args, kwargs)
        finally:
            self.nargs = None

    def launch(self, config: Config, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launches with a configuration; part of `run`."""
        chosen = config.all_kwargs()
        if not kwargs.keys().isdisjoint(chosen):
            self.refuse_conflicts(config, kwargs)
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **chosen})
        return self.fn.run(*args, **kwargs, **chosen)

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles all configurations without running any; gives the compiled kernels in their order."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            configs = self.prune_configs(kwargs)
            compiled = self._compile_all(configs, args, kwargs, Progress(self.__name__, len(configs)))
        finally:
            self.nargs = None
        for outcome in compiled.values():
            if isinstance(outcome, BaseException):
                raise outcome
        return list(compiled.values())

    def tuning_key(self, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the choice depends on: the values of the key arguments, and the element types of all."""
        given = {**self.nargs, **kwargs}
        key = [given[name] for name in self.keys if name in given]
        for name in self.arg_names:
            dtype = getattr(given.get(name), "dtype", None)
            if dtype is not None:
                key.append(_name_of(dtype))
        return tuple(key)

    def _config_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        key = self.tuning_key(kwargs)
        try:
            config = self.cache.get(key)
        except TypeError as error:
            raise TypeError(
                f"autotuning of {self.__name__}: {error}, but what `key` names is looked up by its value. Name sizes "
                "in `key`, not arrays: their element types are looked at in any case."
            ) from None
        if config is not None:
            return config
        configs = self.prune_configs(kwargs)
        if len(configs) == 1:
            self.cache[key] = configs[0]
            return configs[0]
        # A hook is a function, which no file can name.
        keep = self.cache_results and not any(config.pre_hook for config in configs)
        stored = StoredTimings(self._jit_function(), key, configs) if keep else None
        timings = stored.read() if stored else None
        found_on_disk = timings is not None
        if timings is None:
            timings = self._tune(configs, args, kwargs)
        if stored and not found_on_disk:
            stored.write(timings)
        config = min(timings, key=timings.__getitem__)
        self.cache[key], self.configs_timings = config, timings
        self._tell(key, config, found_on_disk)
        return config

    def _tell(self, key: tuple[Any, ...], config: Config, found_on_disk: bool) -> None:
        """Prints what was chosen, and tells who listens."""
        duration = None if found_on_disk else self.compile_time + self.bench_time
        if knobs.autotuning.print and duration is not None:
            print(
                f"Autotuning of {self.__name__} for key {key} took {duration:.2f} s "
                f"({self.compile_time:.2f} s to compile {len(self.configs_timings)} configurations, "
                f"{self.bench_time:.2f} s to measure them). "
                f"Best configuration: {config}; {self.configs_timings[config][0]:.4g} ms"
            )
        if knobs.autotuning.listener is not None:
            knobs.autotuning.listener(
                fn=self._jit_function(),
                key=key,
                best_config=config,
                configs_timings=self.configs_timings,
                duration=duration,
                cache_hit=found_on_disk,
            )

    def refuse_conflicts(self, config: Config, kwargs: Mapping[str, Any]) -> None:
        """Raises where a launch gives what its configuration gives as well."""
        conflicts = [name for name in config.kwargs if name in kwargs]
        if conflicts:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(conflicts)}. The autotuner chooses them: do not pass them."
            )
        options = [name for name in config.options() if name in kwargs]
        if options:
            raise TypeError(
                f"{self.__name__}() got multiple values for keyword argument '{options[0]}': its Config has one as well"
            )

    def _jit_function(self) -> JITFunction:
        function = self.fn
        while not isinstance(function, JITFunction):
            function = function.fn
        return function

    # Choosing

    def prune_configs(self, kwargs: Mapping[str, Any]) -> list[Config]:
        """The configurations that are worth measuring for these arguments."""
        configs = self.configs
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, self.nargs, **kwargs))
            if not configs:
                raise AutotunerError(
                    f"autotuning of {self.__name__}: `early_config_prune` left nothing; it must keep a configuration"
                )
        if not self.perf_model:
            return configs
        top_k = self.configs_top_k
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = max(1, int(len(configs) * top_k))
        elif not isinstance(top_k, int):
            raise TypeError(
                f"top_k is a number of configurations (int) or a part of them (float, at most 1.0), not {top_k!r}"
            )
        if len(configs) <= top_k:
            return configs
        return sorted(configs, key=lambda config: self.perf_model(**self.nargs, **kwargs, **config.all_kwargs()))[
            :top_k
        ]

    def _tune(self, configs: list[Config], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Config, list[float]]:
        """Compiles and measures."""
        for config in configs:
            self.refuse_conflicts(config, kwargs)
        progress = Progress(self.__name__, len(configs))
        self._of_thread.failures = failures = {}
        timings: dict[Config, list[float]] = {}
        measured: dict[Any, list[float]] = {}
        try:
            start = time.perf_counter()
            # A hook may change what is compiled (a descriptor's block shape): such a kernel is compiled in its turn.
            compiled = self._compile_distinct(
                [config for config in configs if not config.pre_hook], args, kwargs, progress
            )
            for config, outcome in compiled.items():
                if isinstance(outcome, UNUSABLE):
                    failures[config] = outcome
                elif isinstance(outcome, BaseException):
                    raise outcome
            self.compile_time = time.perf_counter() - start
            start = time.perf_counter()
            for at, config in enumerate(configs):
                progress.step("measuring", at + 1)
                if config in failures:
                    timings[config] = NEVER
                    continue
                code = _code_of(compiled.get(config), config)
                if code not in measured:
                    measured[code] = self._bench(*args, config=config, **kwargs)
                timings[config] = measured[code]
            self.bench_time = time.perf_counter() - start
        finally:
            progress.finish()
        if failures and all(time == NEVER for time in timings.values()):
            self._fail(failures)
        best = min(timings, key=timings.__getitem__)
        self.pre_hook({**self.nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
        return timings

    def _compile_distinct(
        self, configs: Sequence[Config], args: tuple[Any, ...], kwargs: Mapping[str, Any], progress: Progress
    ) -> dict[Config, Any]:
        """As `_compile_all`; what differs in launch options alone is compiled once, if that one is code for a CPU."""

        def values(config: Config) -> Any:
            # A kernel may have a parameter that is called as an option.
            given = {**{name: config.options().get(name) for name in self.arg_names}, **config.kwargs}
            return tuple((name, type(value), value) for name, value in given.items())

        first: dict[Any, Config] = {}
        for config in configs:
            first.setdefault(values(config), config)
        compiled = self._compile_all(list(first.values()), args, kwargs, progress)
        same = {config: kernel for config in configs if _is_for_cpu(kernel := compiled.get(first[values(config)]))}
        rest = [config for config in configs if config not in compiled and config not in same]
        return {**compiled, **same, **self._compile_all(rest, args, kwargs, progress)}

    def _compile_all(
        self, configs: Sequence[Config], args: tuple[Any, ...], kwargs: Mapping[str, Any], progress: Progress
    ) -> dict[Config, Any]:
        """Compiles in as many threads as there are cores; gives the kernel or the exception for each configuration."""
        if knobs.runtime.interpret or not configs:
            return {}
        outcomes: dict[Config, Any] = dict.fromkeys(configs)
        given = {name: value for name, value in kwargs.items() if name != "warmup"}

        def compile(config: Config) -> Any:
            return self.fn.warmup(*args, **given, **config.all_kwargs())

        with ThreadPoolExecutor(len(os.sched_getaffinity(0)), "shoal-autotune") as pool:
            jobs = {pool.submit(compile, config): config for config in outcomes}
            try:
                for at, job in enumerate(as_completed(jobs)):
                    outcomes[jobs[job]] = job.exception() or job.result()
                    progress.step("compiled", at + 1)
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return outcomes

    def trial(self, config: Config, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
        """A launch with a configuration that is not the one which counts: the hooks undo what it changed."""
        current = {**kwargs, **config.all_kwargs()}
        full_nargs = {**self.nargs, **current}

        def call() -> Any:
            if config.pre_hook:
                config.pre_hook(full_nargs)
            self.pre_hook(full_nargs)
            try:
                result = self.fn.run(*args, **current)
            except BaseException as error:  # Ctrl-C as well: what was promised to be put back is put back
                self.post_hook(full_nargs, exception=error)
                raise
            self.post_hook(full_nargs, exception=None)
            return result

        return call

    def _bench(self, *args: Any, config: Config, **meta: Any) -> list[float]:
        """Measures one configuration: its median and quantiles in milliseconds, infinite if it cannot be used."""
        if knobs.autotuning.print:
            print(f"Autotuning of {self.__name__}: measuring {config}")
        try:
            return self.do_bench(self.trial(config, args, meta), quantiles=QUANTILES)
        except UNUSABLE as error:
            self._of_thread.failures[config] = error
            if knobs.autotuning.print:
                print(f"Autotuning of {self.__name__}: {config} cannot be used: {error}")
            return NEVER

    def _fail(self, failures: Mapping[Config, Exception]) -> None:
        reasons = [f"  {config}: {str(error).splitlines()[0]}" for config, error in failures.items()]
        raise AutotunerError(
            f"autotuning of {self.__name__}: none of {len(failures)} configurations can be used\n" + "\n".join(reasons)
        ) from next(iter(failures.values()))

    # What a measurement changes

    def _reset_arguments(self, arguments: Mapping[str, Any], reset_only: bool = False) -> None:
        for name in self.reset_to_zero:
            if arguments[name] is not None:
                fill_with_zeros(arguments[name])
        if not reset_only:
            given = {name: arguments[name] for name in self.restore_value if arguments[name] is not None}
            self.restore_copies = {name: copy_of(value) for name, value in given.items()}

    def _restore_arguments(self, arguments: Mapping[str, Any], exception: BaseException | None) -> None:
        for name, value in self.restore_copies.items():
            overwrite(arguments[name], value)
        self.restore_copies = {}


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Iterable[str] | None = None,
    restore_value: Iterable[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
) -> Callable[[KernelInterface], Autotuner]:
    """Makes a kernel choose among configurations by measuring them, once for each value of the arguments in `key`.

        @shoal.autotune([shoal.Config({"BLOCK": 256}), shoal.Config({"BLOCK": 1024})], key=["n"])
        @shoal.jit
        def add(x, y, out, n, BLOCK: tl.constexpr): ...

    The kernel runs many times while it is measured. Arrays that it adds to are named in `reset_to_zero` (cleared before
    each run), arrays that it changes in place in `restore_value` (put back after each run). `pre_hook(arguments,
    reset_only)` and `post_hook(arguments, exception)` replace these two.

    `prune_configs_by` may have `early_config_prune(configs, arguments, **kwargs)`, which gives the configurations to
    keep, and `perf_model(**arguments)`, which estimates a time: the `top_k` lowest (a number, or a part as a float) are
    measured. `do_bench(call, quantiles)` replaces the measurement. With `cache_results` the times are kept on disk.

    SHOAL_PRINT_AUTOTUNING=1 prints what was found and how long that took.
    """

    def decorate(fn: KernelInterface) -> Autotuner:
        return Autotuner(
            fn,
            names_of_arguments(fn, "autotune"),
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorate
