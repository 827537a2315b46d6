"""The profiler of kernels, from Python."""

import json

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal.tools.profiler import (
    Profiler,
    ProfilerBuffer,
    alloc_profiler_buffer,
    export_to_perfetto_trace,
    parse_to_tracks,
    reset_profiler_buffer,
    set_export_trace_off,
    set_export_trace_on,
)


@shoal.jit
def work(x, profiler_buffer, n, GROUPS: sl.constexpr, ON: sl.constexpr):
    first = Profiler.create(profiler_buffer, 0, num_groups=GROUPS, ENABLE_PROFILING=ON)
    last = Profiler.create(profiler_buffer, GROUPS - 1, num_groups=GROUPS, ENABLE_PROFILING=ON)
    for i in range(n):
        first = first.record(is_start=True, task_type=0)
        sl.store(x + sl.program_id(0), sl.load(x + sl.program_id(0)) + i)
        first = first.record(is_start=False, task_type=0)
    if GROUPS > 1:
        last = last.record(is_start=True, task_type=1)
        last = last.record(is_start=False, task_type=1)


def test_records_become_tracks():
    x, buffer = np.zeros(3, np.int32), alloc_profiler_buffer(200)
    assert parse_to_tracks(buffer) == []
    work[(3,)](x, buffer, 4, GROUPS=2, ON=True)
    assert x.tolist() == [6, 6, 6]
    tracks = parse_to_tracks(buffer)
    assert [(track.block_id, track.group_id, len(track.tasks)) for track in tracks] == [
        (block, group, 4 if group == 0 else 1) for block in range(3) for group in range(2)
    ]
    assert min(task.start for track in tracks for task in track.tasks) == 0
    for track in tracks:
        times = [time for task in track.tasks for time in (task.start, task.end)]
        assert times == sorted(times)
        assert {task.task_type for task in track.tasks} == {track.group_id}
    reset_profiler_buffer(buffer)
    assert parse_to_tracks(buffer) == []


@pytest.mark.parametrize(
    ("words", "programs", "tasks"),
    [(13, 2, [2, 2]), (3, 4, []), (5, 4, [0, 0]), (7, 4, [0] * 4), (9, 4, [1, 1, 0, 0]), (8, 40, [0] * 5)],
)
def test_records_without_room_are_left_out_and_counted(words, programs, tasks, tmp_path):
    x, whole = np.zeros(programs, np.int32), np.full(words + 4 * programs, 77, np.uint64)
    buffer = whole[:words]
    reset_profiler_buffer(buffer)
    work[(programs,)](x, buffer, 50, GROUPS=1, ON=True)
    assert (whole[words:] == 77).all()
    assert (x == 1225).all()
    lost = 100 * programs - max(words - 3 - programs, 0)
    with pytest.warns(UserWarning, match=f"not complete: {lost} records found no room in its buffer of {words} words"):
        assert [len(track.tasks) for track in parse_to_tracks(buffer)] == tasks
    with pytest.warns(UserWarning, match=f"{lost} records") as said:
        export_to_perfetto_trace(buffer, ["add"], str(tmp_path / "trace.json"))
    assert said[0].filename == __file__


def test_a_buffer_is_used_twice_within_its_words():
    x, whole = np.zeros(1, np.int32), np.full(100, 77, np.uint64)
    reset_profiler_buffer(whole[:10])
    for _ in range(2):
        work[(1,)](x, whole[:10], 50, GROUPS=1, ON=True)
    assert (whole[10:] == 77).all()


@pytest.mark.parametrize("word", [0, 50, (1 << 64) - 1])
def test_memory_that_is_no_buffer_stays_as_it_is(word):
    x, other = np.zeros(3, np.int32), np.full(8, word, np.uint64)
    work[(3,)](x, other, 50, GROUPS=1, ON=True)
    assert (other == word).all()
    assert parse_to_tracks(other) == []


@shoal.jit
def outside(profiler_buffer, group, blocks):
    profiler = Profiler.create(profiler_buffer, group, num_blocks=blocks)
    profiler = profiler.record(is_start=True, task_type=0)


@pytest.mark.parametrize(("group", "blocks"), [(-1, 1), (-9, 1), (1, 1), (0, -9), (0, 0)])
def test_groups_and_programs_that_there_are_not_record_nothing(group, blocks):
    whole = np.full(60, 77, np.uint64)
    buffer = whole[20:40]
    reset_profiler_buffer(buffer)
    outside[(1,)](buffer, group, blocks)
    assert (whole[:20] == 77).all()
    assert (whole[40:] == 77).all()
    assert parse_to_tracks(buffer) == []


def test_nothing_is_recorded_when_it_is_off():
    x, buffer = np.zeros(1, np.int32), alloc_profiler_buffer(10)
    work[(1,)](x, buffer, 3, GROUPS=1, ON=False)
    assert x[0] == 3
    assert parse_to_tracks(buffer) == []


def test_traces_of_ranks(tmp_path):
    buffers = [alloc_profiler_buffer(50) for _ in range(2)]
    for buffer in buffers:
        work[(1,)](np.zeros(1, np.int32), buffer, 2, GROUPS=1, ON=True)
    export_to_perfetto_trace(buffers, ["add"], str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert [(span["pid"], span["name"]) for span in spans] == [(0, "add"), (0, "add"), (1, "add"), (1, "add")]
    assert all(span["dur"] >= 0 for span in spans)
    # The second launch came after the first, by the same clock.
    assert spans[2]["ts"] > spans[1]["ts"]


def test_a_buffer_writes_its_trace(tmp_path):
    file = tmp_path / "trace.json"
    set_export_trace_off()
    with ProfilerBuffer(50, str(file), []) as buffer:
        work[(1,)](np.zeros(1, np.int32), buffer, 2, GROUPS=1, ON=True)
    assert not file.exists()
    set_export_trace_on()
    with ProfilerBuffer(50, str(file), []) as buffer:
        work[(1,)](np.zeros(1, np.int32), buffer, 2, GROUPS=1, ON=True)
    assert "task 0" in file.read_text()


def test_sizes_that_no_buffer_has():
    for words in (0, 2):
        with pytest.raises(ValueError, match=f"a profiler buffer of {words} words; there are 3 to"):
            alloc_profiler_buffer(words)
