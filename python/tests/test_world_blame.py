"""Who is at fault when a world of processes fails: all its ranks, and the launcher, name the same one."""

import re
import time

import pytest
from distributed import needs_oshrun, oshrun, shoal_launch, start

BLAME = """
import os, sys, time
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=8).rank  # also to join, on a busy machine
how = os.environ["HOW"]
flag = rank.symm_zeros(1, np.int64)
if rank.rank == (2 if "last" in how else 1):
    if "allocates" in how:
        rank.symm_zeros(8, np.float16)
    if "sleeps" in how:
        time.sleep(60)
    if "raises" in how:
        raise ValueError("no luck")
    if "dies" in how:
        os._exit(0)
    sys.exit(3 if "3" in how else 0)
try:
    if "allocates" in how:
        rank.symm_zeros(8, np.float32)
    elif "kernel" in how and (rank.rank > 0 or "barrier" not in how):
        wait_for[(1,)](flag)
    else:
        rank.barrier()
except shoal.WorldError as error:
    print(f"blames {error.rank}\\n", end="", flush=True)
    raise
"""


@pytest.mark.parametrize(
    "how, blamed, code",
    [
        (
            "leaves",
            r"rank 1 \(pid \d+\) left the world while rank [02] \(pid \d+\) waited for it in barrier of the world",
            1,
        ),
        ("leaves with 3", r"rank 1 \(pid \d+\) left the world while .*; rank 1 exited with status 3", 3),
        ("dies", r"rank 1 \(pid \d+\) died, or exited without leaving the world", 1),
        ("raises", r"rank 1 \(pid \d+\) failed: ValueError: no luck", 1),
        (
            "allocates",
            r"rank 1 \(pid \d+\) differs from the others: the members of the world disagree on a symmetric allocation: "
            r"rank 1: 16 bytes, aligned to 256; ranks 0, 2: 32 bytes, aligned to 256",
            1,
        ),
        (
            "sleeps",
            r"rank 1 \(pid \d+\) did not come to barrier of the world: rank [02] \(pid \d+\) waited 8 s",
            1,
        ),
        (
            "leaves a kernel",
            r"rank 1 \(pid \d+\) left the world while rank [02] \(pid \d+\) waited "
            r"in kernel `wait_for`: 1 program waits.*",
            1,
        ),
        (
            "sleeps before a kernel",
            r"rank 1 \(pid \d+\) does not answer: rank [02] \(pid \d+\) gave up "
            r"in kernel `wait_for`: 1 program waits.*",
            1,
        ),
        ("sleeps before a kernel and a barrier", r"rank 1 \(pid \d+\) does not answer: rank .*", 1),
        ("sleeps last before a kernel and a barrier", r"rank 2 \(pid \d+\) does not answer: rank .*", 1),
    ],
)
def test_the_last_line_of_the_launcher_names_the_rank_at_fault(how, blamed, code, tmp_path):
    process = start(shoal_launch(3), BLAME, tmp_path, HOW=how)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == code, output
    assert re.fullmatch(f"error: {blamed}", output.splitlines()[-1]), output
    # So do the others, whoever of them was the first to give up.
    at_fault = 2 if "last" in how else 1
    assert re.findall(r"blames (\d)", output) == [str(at_fault)] * 2, output


SILENT = """
import os, time
import numpy as np, shoal

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=6).rank  # also to join, on a busy machine
word = rank.symm_zeros(1, np.int64)
silent = os.environ["SILENT"].split()
if str(rank.rank) in silent:
    time.sleep(60)
stream = rank.stream()
stream.wait_value(word, 5)
try:
    stream.synchronize()
except shoal.WorldError as error:
    print(f"blames {error.rank}: {error}\\n", end="", flush=True)
    raise
"""


@pytest.mark.parametrize("way", [shoal_launch, pytest.param(oshrun, marks=needs_oshrun)], ids=["processes", "oshrun"])
@pytest.mark.parametrize(("silent", "n"), [([1], 2), ([2], 3), ([0, 2], 4)])
def test_all_name_the_ranks_that_do_not_answer(silent, n, way, tmp_path):
    process = start(way(n), SILENT, tmp_path, SILENT=" ".join(map(str, silent)))
    output, _ = process.communicate(timeout=90)
    assert process.returncode != 0, output
    who = ", ".join(rf"rank {rank} \(pid \d+\)" for rank in silent)
    verb = "does not answer" if len(silent) == 1 else "do not answer"
    blames = re.findall(rf"blames {silent[0]}: .*: {who} {verb}: rank \d .* waited 6 s for the word", output)
    assert len(blames) == n - len(silent), output
    if way is shoal_launch:
        assert re.search(rf"error: {who} {verb}: rank", output.splitlines()[-1]), output


ASKED = """
import os, signal, threading, time
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=6).rank  # also to join, on a busy machine
how, me = os.environ["HOW"], rank.rank
flag = rank.symm_zeros(1, np.int64)
if me == 0 and how == "dies while it asks":
    threading.Timer(6.2, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
began = time.monotonic()
try:
    if me == 2 and how == "looks now and then":
        while True:
            rank.check()
            time.sleep(0.01)
    elif me == 2 and how == "dies while it asks":
        time.sleep(60)
    elif me == 1 and how == "in a stream":
        stream = rank.stream()
        flag[:] = 7
        wait_for[(1,)](flag)
        flag[:] = 0
        stream.call(lambda: wait_for[(1,)](flag))
        time.sleep(1)  # its wait is the first to begin
        stream.synchronize()
    elif me == 0 and how == "looks now and then":
        rank.barrier()
    elif me == 1 and how == "dies while it asks":
        time.sleep(0.3)
        wait_for[(1,)](flag)
    else:
        wait_for[(1,)](flag)
except shoal.WorldError as error:
    took = time.monotonic() - began
    print(f"{me} blames {error.rank}, {took < 9}, {type(error).__name__}: {error}\\n", end="", flush=True)
    raise
"""


def told(how, n, tmp_path):
    process = start(shoal_launch(n), ASKED, tmp_path, HOW=how)
    output, _ = process.communicate(timeout=90)
    blamed = dict(re.findall(r"(\d) blames (\d), True", output))
    return blamed, output


def test_all_name_the_same_rank_where_all_wait(tmp_path):
    blamed, output = told("all wait", 3, tmp_path)
    assert len(blamed) == 3 and len(set(blamed.values())) == 1, output
    assert len(re.findall(r"\d blames \d, True, DeadlockError", output)) == 1, output
    assert all(f"rank {rank}: in kernel `wait_for`" in output for rank in range(3)), output


def test_a_rank_that_looks_now_and_then_is_named(tmp_path):
    blamed, output = told("looks now and then", 3, tmp_path)
    assert blamed == {"0": "2", "1": "2", "2": "2"}, output
    assert re.search(r"rank 2 \(pid \d+\) (runs code of the host, while|did not come to)", output.splitlines()[-1]), (
        output
    )


def test_a_kernel_of_a_stream_tells_what_it_waits_for(tmp_path):
    blamed, output = told("in a stream", 2, tmp_path)
    assert len(blamed) == 2 and len(set(blamed.values())) == 1, output
    assert re.search(r"1 blames \d, True, \w+: (.*\n)*?.*rank 1[:,] in kernel `wait_for`", output), output


def test_the_others_end_when_the_rank_that_asks_them_dies(tmp_path):
    blamed, output = told("dies while it asks", 3, tmp_path)
    assert list(blamed) == ["1"], output


OWN_STREAM = """
import time
import shoal

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=6).rank  # also to join, on a busy machine
if rank.rank == 1:
    time.sleep(60)
stream = rank.stream()
stream.call(time.sleep, 60)
try:
    stream.synchronize()
except shoal.WorldError as error:
    print(f"blames {error.rank}: {error}\\n", end="", flush=True)
    raise
"""


def test_nobody_else_is_blamed_for_a_rank_s_own_stream(tmp_path):
    process = start(shoal_launch(2), OWN_STREAM, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert "blames 0: rank 0, waiting for the work of a stream: rank 0 " in output, output
    assert re.search(r"error: rank 0 \(pid \d+\) waited 6\.\d s for the work of a stream", output.splitlines()[-1]), (
        output
    )


@needs_oshrun
def test_oshrun_ends_when_a_rank_is_too_late(tmp_path):
    process = start(oshrun(3), BLAME, tmp_path, HOW="sleeps")
    lines = [(time.monotonic(), line) for line in process.stdout]
    assert process.wait(timeout=30) == 1, lines
    told = next(at for at, line in lines if "WorldError" in line)
    assert lines[-1][0] - told < 8, "it has waited for the rank that sleeps"
    output = "".join(line for _, line in lines)
    blamed = r"error: rank 1 \(pid \d+\) did not come to barrier of the world: rank [02] \(pid \d+\) waited 8 s"
    assert re.fullmatch(blamed, output.splitlines()[-1]), output
