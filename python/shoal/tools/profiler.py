"""Profiles of what programs do inside a kernel, and when.

A kernel records into a buffer that it gets as an argument:

    @shoal.jit
    def kernel(x, profiler_buffer):
        profiler = Profiler.create(profiler_buffer, group_id=0)
        profiler = profiler.record(is_start=True, task_type=0)
        ...
        profiler = profiler.record(is_start=False, task_type=0)

    buffer = alloc_profiler_buffer(1024)
    kernel[grid](x, buffer)
    export_to_perfetto_trace(buffer, ["load"], "trace.json")

Word 0 of the buffer holds how many words there are, and kernels only read it; word 1 the number of programs and of
groups; word 2 counts records for which there was no room: they are left out, and who reads the buffer is warned. One
word for each program follows, with its number and where it ran; then come records, those of one group of one program
as many words apart as there are groups of all programs. The lower half of a record is its tag (program and group,
task, begin or end), the upper half the lower half of a clock in nanoseconds, so a profile may last four seconds.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import shoal
import shoal.language as sl
from shoal.language.extra.cuda import globaltimer, smid

__all__ = [
    "Profiler",
    "ProfilerBuffer",
    "Task",
    "Track",
    "alloc_profiler_buffer",
    "export_to_perfetto_trace",
    "parse_to_tracks",
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
]

# Words before those of programs: the size of the buffer, the programs and groups, the records without room.
_HEAD = sl.constexpr(3)
# The upper half of word 0. A buffer whose first word has another was not made here, and nothing is written to it.
_SIZED = sl.constexpr(0x7FFFFFFF)
# What is in a word of a program or of a record before it is written.
_EMPTY = 0x7FFFFFFF_FFFFFFFF


@shoal.aggregate
class Profiler:
    """What a program records with. `record` gives the profiler to go on with."""

    buffer: sl.tensor
    at: sl.tensor
    stride: sl.tensor
    room: sl.tensor
    track: sl.tensor
    leads: sl.tensor
    enabled: sl.constexpr

    @shoal.constexpr_function
    def __init__(self, buffer, at, stride, room, track, leads, enabled):
        self.buffer = buffer
        self.at = at
        self.stride = stride
        self.room = room
        self.track = track
        self.leads = leads
        self.enabled = sl.constexpr(enabled)

    @shoal.jit
    def create(
        profiler_buffer,  # noqa: N805
        group_id,
        num_groups=1,
        is_leader=True,
        num_blocks=None,
        ENABLE_PROFILING: sl.constexpr = True,
    ):
        """A profiler of one group of this program. Of the threads that call it, the leader records."""
        block = sl.program_id(0) + sl.num_programs(0) * (sl.program_id(1) + sl.num_programs(1) * sl.program_id(2))
        if num_blocks is None:
            blocks = sl.num_programs(0) * sl.num_programs(1) * sl.num_programs(2)
        else:
            blocks = num_blocks + block * 0
        track = block * num_groups + group_id
        # Places are of 64 bits: however many records follow, they do not wrap around into the buffer or before it.
        stride = (blocks * num_groups).to(sl.int64)
        at = _HEAD + blocks.to(sl.int64) + track
        room = at * 0
        leads = (block < blocks) & (group_id >= 0) & (group_id < num_groups) & is_leader
        if ENABLE_PROFILING:
            size = sl.load(profiler_buffer)
            if size >> 32 == _SIZED:
                room = (size & 0x7FFFFFFF).to(sl.int64)
            if leads & (track == 0) & (room >= _HEAD):
                sl.store(profiler_buffer + 1, blocks.to(sl.uint64) | ((blocks * 0 + num_groups).to(sl.uint64) << 32))
            if leads & (_HEAD + block < room):
                sl.store(profiler_buffer + _HEAD + block, block.to(sl.uint64) | (smid().to(sl.uint64) << 32))
        return Profiler(profiler_buffer, at, stride, room, track, leads, ENABLE_PROFILING)

    @shoal.jit
    def record(self, is_start: sl.constexpr, task_type):
        """Records that a task begins or ends."""
        if self.enabled:
            sl.debug_barrier()
            if self.leads & (self.at < self.room):
                tag = (self.track << 12) | (task_type << 1) | (1 if is_start else 0)
                sl.store(self.buffer + self.at, (globaltimer().to(sl.uint64) << 32) | (tag.to(sl.uint64) & 0xFFFFFFFF))
            elif self.leads & (self.room >= _HEAD):
                sl.atomic_add(self.buffer + 2, 1, sem="relaxed")
        return Profiler(
            self.buffer, self.at + self.stride, self.stride, self.room, self.track, self.leads, self.enabled
        )


def alloc_profiler_buffer(max_num_profile_slots: int) -> Any:
    """A buffer of so many words, as a NumPy array."""
    import numpy as np

    _check_size(max_num_profile_slots)
    buffer = np.empty(max_num_profile_slots, np.uint64)
    reset_profiler_buffer(buffer)
    return buffer


def _check_size(words: int) -> None:
    if not _HEAD.value <= words < 1 << 31:
        raise ValueError(f"a profiler buffer of {words} words; there are {_HEAD.value} to {(1 << 31) - 1}")


def reset_profiler_buffer(profiler_buffer: Any) -> None:
    """Forgets all records."""
    _check_size(len(profiler_buffer))
    profiler_buffer[...] = _EMPTY
    profiler_buffer[0] = (_SIZED.value << 32) | len(profiler_buffer)
    profiler_buffer[2] = 0


@dataclass
class Task:
    """Something that took some time."""

    task_type: int
    start: int
    """Nanoseconds after the first record of all."""
    end: int


@dataclass
class Track:
    """What one group of a program did."""

    block_id: int
    group_id: int
    sm_id: int
    tasks: list[Task] = field(default_factory=list)


def parse_to_tracks(profiler_buffer: Any) -> list[Track]:
    """The tracks of a buffer. What began and did not end ends with the last record of its track."""
    return _parsed([profiler_buffer])[0]


def _parsed(buffers: Sequence[Any]) -> list[list[Track]]:
    """The tracks of several buffers, whose clock is the same. Warns who asked of records that are not there."""
    for buffer in buffers:
        size, lost = len(buffer), int(buffer[2]) if _is_sized(buffer) else 0
        if lost:
            text = f"the profile is not complete: {lost} records found no room in its buffer of {size} words"
            warnings.warn(text, stacklevel=3)
    read = [_records(buffer) for buffer in buffers]
    times = [time for tracks in read for _, records in tracks for time, _, _ in records]
    if not times:
        return [[track for track, _ in tracks] for tracks in read]
    # Half of the clock is not there: times are told by their distance from any of them.
    first = min(_distance(time, times[0]) for time in times)
    for tracks in read:
        for track, records in tracks:
            open_tasks: list[Task] = []
            last = 0
            for time, task, is_start in records:
                last = _distance(time, times[0]) - first
                if is_start:
                    open_tasks.append(Task(task, last, last))
                    continue
                begun = [one for one in open_tasks if one.task_type == task]
                if begun:
                    open_tasks.remove(begun[-1])
                    begun[-1].end = last
                    track.tasks.append(begun[-1])
            for one in open_tasks:
                one.end = last
                track.tasks.append(one)
    return [[track for track, _ in tracks] for tracks in read]


def _is_sized(buffer: Any) -> bool:
    return len(buffer) >= _HEAD.value and int(buffer[0]) >> 32 == _SIZED.value


def _distance(time: int, origin: int) -> int:
    return (time - origin + (1 << 31)) % (1 << 32) - (1 << 31)


def _records(buffer: Any) -> list[tuple[Track, list[tuple[int, int, bool]]]]:
    """The tracks of a buffer, with their records as they are: the clock's lower half, the task, whether it begins."""
    head, words = _HEAD.value, [int(word) for word in buffer.tolist()]
    if not _is_sized(buffer) or words[1] == _EMPTY:
        return []
    blocks, groups = words[1] & 0xFFFFFFFF, words[1] >> 32
    found = []
    # A program without a word of its own has no room for records either.
    for block, where in enumerate(words[head : head + blocks]):
        for group in range(groups):
            records = []
            for word in words[head + blocks + block * groups + group :: blocks * groups]:
                if word == _EMPTY:
                    break
                records.append((word >> 32, (word >> 1) & 0x7FF, bool(word & 1)))
            found.append((Track(block, group, where >> 32), records))
    return found


def export_to_perfetto_trace(
    profiler_buffer: Any, task_names: Sequence[str], file_name: str, verbose: bool = False
) -> None:
    """Writes a trace that ui.perfetto.dev shows. Several buffers, in a list, are those of several ranks."""
    buffers = list(profiler_buffer) if isinstance(profiler_buffer, (list, tuple)) else [profiler_buffer]
    events: list[dict[str, Any]] = []
    for rank, tracks in enumerate(_parsed(buffers)):
        named = {"ph": "M", "pid": rank}
        events.append({**named, "name": "process_name", "tid": 0, "args": {"name": f"rank {rank}"}})
        for number, track in enumerate(tracks):
            name = f"block {track.block_id} group {track.group_id} (SM {track.sm_id})"
            events.append({**named, "name": "thread_name", "tid": number, "args": {"name": name}})
            for task in track.tasks:
                known = task.task_type < len(task_names)
                what = task_names[task.task_type] if known else f"task {task.task_type}"
                took = {"ts": task.start / 1e3, "dur": (task.end - task.start) / 1e3}
                events.append({"ph": "X", "name": what, "pid": rank, "tid": number, **took})
                if verbose:
                    print(f"rank {rank} {name}: {what} from {task.start} to {task.end} ns")
    with open(file_name, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, file)


_exports = True


def set_export_trace_on() -> None:
    """From now on, `ProfilerBuffer` writes traces."""
    global _exports
    _exports = True


def set_export_trace_off() -> None:
    """From now on, `ProfilerBuffer` writes none."""
    global _exports
    _exports = False


class ProfilerBuffer:
    """A buffer whose trace is written at the end of a `with` block.

    with ProfilerBuffer(1024, "trace.json", ["load", "multiply"]) as buffer:
        kernel[grid](x, buffer)
    """

    def __init__(self, max_num_profile_slots: int, trace_file: str, task_names: Sequence[str]) -> None:
        self.buffer = alloc_profiler_buffer(max_num_profile_slots)
        self.trace_file = trace_file
        self.task_names = list(task_names)

    def __enter__(self) -> Any:
        reset_profiler_buffer(self.buffer)
        return self.buffer

    def __exit__(self, kind: object, *_: object) -> None:
        if _exports and kind is None:
            export_to_perfetto_trace(self.buffer, self.task_names, self.trace_file)
