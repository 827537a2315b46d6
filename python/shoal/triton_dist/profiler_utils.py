"""Measuring functions, and traces of all ranks in one file."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from shoal.triton._install import installed_attribute
from shoal.world.arrays import number

# Processes of different ranks may have the same number; traces tell them apart by it.
_RANK_STRIDE = 100_000_000


def perf_func(func: Callable[[], Any], iters: int, warmup_iters: int) -> tuple[Any, float]:
    """What a function gives, and the milliseconds that it takes on average."""
    iters, warmup_iters = _turns(iters, warmup_iters)
    for _ in range(warmup_iters):
        func()
    output = None
    start = time.perf_counter()
    for _ in range(iters):
        output = func()
    return output, (time.perf_counter() - start) * 1000 / iters


def perf_func_with_l2_reset(func: Callable[[], Any], iters: int, warmup_iters: int) -> tuple[Any, float]:
    """The same, with caches that hold other data before each call."""
    from shoal.runtime import cpu_facts

    iters, warmup_iters = _turns(iters, warmup_iters)
    other = bytearray(2 * cpu_facts.last_cache_bytes())
    output, total = None, 0.0
    for turn in range(warmup_iters + iters):
        other[:] = bytes(len(other))
        start = time.perf_counter()
        output = func()
        if turn >= warmup_iters:
            total += time.perf_counter() - start
    return output, total * 1000 / iters


def _turns(iters: int, warmup_iters: int) -> tuple[int, int]:
    """How often a function is measured, at least once, and how often it is called before that."""
    return number(iters, "iters", 1 << 31, 1), number(warmup_iters, "warmup_iters", 1 << 31)


def get_torch_prof_ctx(do_prof: bool) -> Any:
    """Torch's profiler, or nothing."""
    if not do_prof:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)


class group_profile:
    """Profiles a block of code on all ranks of a group, and writes one trace of them all: `prof/NAME_merged.json`."""

    def __init__(
        self,
        name: str,
        do_prof: bool = True,
        merge_group: bool = True,
        keep_merged_only: bool = True,
        compress: bool = True,
        group: Any = None,
    ) -> None:
        self.name, self.do_prof = name, do_prof
        self.merge_group, self.keep_merged_only, self.compress = merge_group, keep_merged_only, compress
        self.group = group if group is not None else torch.distributed.group.WORLD
        self.profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
        self.trace_file = Path("prof") / name / f"rank{self.group.rank()}.json"

    def __enter__(self) -> None:
        if self.do_prof:
            self.profile.__enter__()

    def __exit__(self, *error: Any) -> None:
        if not self.do_prof:
            return
        self.profile.__exit__(*error)
        self.trace_file.parent.mkdir(parents=True, exist_ok=True)
        self.profile.export_chrome_trace(str(self.trace_file))
        if self.merge_group and error == (None, None, None):
            self.merge_all()

    def merge_all(self) -> None:
        """Brings the traces of all ranks together on the first."""
        first = self.group.rank() == 0
        texts: list[Any] | None = [None] * self.group.size() if first else None
        root = torch.distributed.get_process_group_ranks(self.group)[0]
        torch.distributed.gather_object(self.trace_file.read_text("utf-8"), texts, dst=root, group=self.group)
        if texts is not None:
            self._write([json.loads(text, strict=False) for text in texts])
        if self.keep_merged_only:
            self.trace_file.unlink()
            with contextlib.suppress(OSError):  # other ranks' traces may still be in it
                self.trace_file.parent.rmdir()

    def _write(self, traces: list[dict[str, Any]]) -> None:
        merged = dict(traces[0], traceEvents=[])
        for rank, trace in enumerate(traces):
            for event in trace["traceEvents"]:
                merged["traceEvents"].append(_of_rank(event, rank))
        path = Path("prof") / f"{self.name}_merged.json"
        if self.compress:
            with gzip.open(f"{path}.gz", "wt", encoding="utf-8") as file:
                json.dump(merged, file)
        else:
            path.write_text(json.dumps(merged), "utf-8")


def _of_rank(event: dict[str, Any], rank: int) -> dict[str, Any]:
    """An event of a trace, told apart from those of other ranks."""
    for key in ("pid", "tid"):
        if key in event:
            known = event[key]
            event[key] = known + rank * _RANK_STRIDE if isinstance(known, int) else f"{known}_{rank}"
    if event.get("ph") == "M" and event.get("name") in ("process_name", "thread_name"):
        event["args"]["name"] = f"{event['args']['name']} (rank {rank})"
    return event


def __getattr__(name: str) -> Any:
    """Reports of benchmarks and the like, of a Triton-distributed that is installed."""
    return installed_attribute("triton_dist.profiler_utils", name)
