"""How long work on a GPU takes: by events in torch's stream, with its cache emptied before each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def is_used() -> bool:
    """Whether calls are measured on a GPU: if kernels run there and torch is there to measure."""
    import sys

    from ..runtime.driver import driver

    return "torch" in sys.modules and driver.active.compiled_target().backend == "cuda"


def measure(fn: Callable[[], Any], warmup: float, rep: float, drop_gradients: Callable[[], None]) -> list[float]:
    """Milliseconds of each of the calls that fit into about `rep` ms, after about `warmup` ms of calls."""
    import torch

    from ..runtime.driver import driver

    fn()
    torch.cuda.synchronize()
    cache = driver.active.get_empty_cache_for_benchmark()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(5):
        driver.active.clear_cache(cache)
        fn()
    end.record()
    torch.cuda.synchronize()
    estimate = max(start.elapsed_time(end) / 5, 1e-3)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    count = max(1, int(rep / estimate))
    starts = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    for begin, finish in zip(starts, ends):
        drop_gradients()
        driver.active.clear_cache(cache)
        begin.record()
        fn()
        finish.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(finish) for begin, finish in zip(starts, ends)]


def measure_graph(fn: Callable[[], Any], rep: float, grad_to_none: Iterable[Any] | None) -> list[float]:
    """Milliseconds of a call in a graph of many: the host takes no part."""
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.detach_()
                tensor.requires_grad_(True)
                tensor.grad = None
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(5):
            fn()
        end.record()
        torch.cuda.synchronize()
        estimate = max(start.elapsed_time(end) / 5, 1e-4)
        calls = max(1, min(int(rep / estimate), 1000))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / calls)
    return times
