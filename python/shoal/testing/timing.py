"""How long a call takes."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import gpu_timing

RETURN_MODES: dict[str, Callable[[list[float]], Any]] = {
    "min": min,
    "max": max,
    "mean": statistics.mean,
    "median": statistics.median,
    "all": list,
}


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """How long a call takes, in milliseconds: the mean, or what `return_mode` (min, max, mean, median, all) says.

    `fn` is called for about `warmup` ms first and then measured for about `rep` ms, each call by itself. `quantiles`
    asks for these instead, from 0 to 1. `grad_to_none` has tensors whose gradient is dropped before each call.

    Nothing is driven out of the caches between two calls, as it is on GPUs: the last cache of a CPU holds hundreds of
    megabytes, and writing all of it takes longer than most kernels. So data that fits is found there, as it is by a
    program that works on what it has just computed.

    Where kernels run on a GPU and the program uses torch, calls are measured there: by events in torch's current
    stream, with the GPU's cache emptied before each call.
    """
    _check_return_mode(return_mode)
    if gpu_timing.is_used():
        times = gpu_timing.measure(fn, warmup, rep, lambda: _drop_gradients(grad_to_none))
        return _summarize_statistics(times, quantiles, return_mode)

    def run() -> float:
        _drop_gradients(grad_to_none)
        start = time.perf_counter()
        fn()
        return (time.perf_counter() - start) * 1e3

    fn()
    # The repetitions are counted, not cut off by the clock: a slow moment does not decide how many there are.
    estimate = max(statistics.median(run() for _ in range(5)), 1e-6)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    times = [run() for _ in range(max(1, int(rep / estimate)))]
    return _summarize_statistics(times, quantiles, return_mode)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """How long a call takes in milliseconds when many follow each other, with nothing in between.

    On a GPU a graph replays the calls without the host. Here the host is what computes: ten times as many calls as fit
    into `rep` ms are timed as a whole, and each such time, divided by the number of calls, is one measurement.
    """
    _check_return_mode(return_mode)
    if gpu_timing.is_used():
        return _summarize_statistics(gpu_timing.measure_graph(fn, rep, grad_to_none), quantiles, return_mode)
    fn()
    start = time.perf_counter()
    for _ in range(5):
        fn()
    estimate = max((time.perf_counter() - start) * 1e3 / 5, 1e-6)
    calls = max(1, int(rep / estimate))
    times = []
    for _ in range(10):
        _drop_gradients(grad_to_none)
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        times.append((time.perf_counter() - start) * 1e3 / calls)
    return _summarize_statistics(times, quantiles, return_mode)


def do_bench_proton(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The same as `do_bench`: there is no time on another device that a profiler would have to ask for."""
    return do_bench(fn, warmup, rep, grad_to_none, quantiles, return_mode)


def do_bench_cudagraph_proton(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The same as `do_bench_cudagraph`: there is no time on another device that a profiler would have to ask for."""
    return do_bench_cudagraph(fn, rep, grad_to_none, quantiles, return_mode)


def _check_return_mode(return_mode: str) -> None:
    if return_mode not in RETURN_MODES:
        raise ValueError(f"return_mode is one of {', '.join(RETURN_MODES)}, not {return_mode!r}")


def _drop_gradients(tensors: Iterable[Any] | None) -> None:
    for tensor in tensors or ():
        tensor.grad = None


def _summarize_statistics(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    if quantiles is None:
        return RETURN_MODES[return_mode](times)
    values = [quantile(sorted(times), q) for q in quantiles]
    return values[0] if len(values) == 1 else values


def quantile(ordered: list[float], q: float) -> float:
    """Between two measurements, a straight line."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is a number from 0 to 1, not {q}")
    place = q * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))
