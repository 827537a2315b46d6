"""What ranks that are threads wait for, how long, and what is told when it does not come."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from thread_worlds import run_script, world

import shoal
import shoal.language as tl


@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)


def test_times_that_are_none_are_refused():
    def wait(rank):
        for seconds in (-1.0, 0.0, 1e18, float("nan")):
            with pytest.raises(
                ValueError, match=r"timeout=\S+ cannot be used: it must be a number of seconds, above 0"
            ):
                rank._native.wait_signal(rank._native.base(rank.rank), seconds)
        rank._native.put_signal(rank._native.base(rank.rank), 2.0**32 - 1)
        rank._native.wait_signal(rank._native.base(rank.rank), 0.5)
        return True

    assert world(1).run(wait) == [True]


def test_a_failing_rank_ends_the_kernels_of_the_others():
    def fail(rank):
        flag = rank.symm_zeros(1, np.int64)
        if rank.rank == 1:
            time.sleep(0.1)
            raise ValueError("no signal will come")
        wait_for[(1,)](flag)

    start = time.monotonic()
    with pytest.raises(ValueError, match="no signal will come"):
        world(2).run(fail)
    assert time.monotonic() - start < 20


DEADLOCK = """
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

def stuck(rank):
    flag = rank.symm_zeros(1, np.int64)
    try:
        wait_for[(1,)](flag)
    except shoal.DeadlockError as error:
        return error.waits

for waits in shoal.World.threads(2, heap_bytes=1 << 20).run(stuck):
    assert len(waits) == 2, waits
    for rank, text in enumerate(waits):
        assert text.startswith(f"rank {rank}: ") and "for 7" in text and "where 0 is" in text, text
"""


def test_a_deadlock_is_reported_on_every_rank(tmp_path):
    done = run_script(DEADLOCK, tmp_path, SHOAL_WAIT_TIMEOUT="1")
    assert done.returncode == 0, done.stderr


APART = """
import sys, time
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

def on_rank(rank):
    flag = rank.symm_zeros(1, np.int64)
    if rank.rank == rank.num_ranks // 2:
        if sys.argv[2] == "return":
            return
        if sys.argv[2] == "raise":
            time.sleep(1)
            raise ValueError("no signal will come")
        if sys.argv[2] == "barrier":
            rank.barrier()
        if sys.argv[2] == "loop":
            while True: pass
        if sys.argv[2] == "sleep":
            time.sleep(1000)
    wait_for[(1,)](flag)

shoal.World.threads(int(sys.argv[1]), heap_bytes=1 << 20, timeout=float(sys.argv[3])).run(on_rank)
"""


@pytest.mark.parametrize("how", ["return", "raise"])
@pytest.mark.parametrize("n", [3, 7])
def test_a_rank_that_goes_is_named_with_what_all_others_wait_for(n, how, tmp_path):
    done = run_script(APART, tmp_path, args=[str(n), how, "3600"])
    assert done.returncode == 1
    middle = n // 2
    expected = {
        "return": f"\nrank {middle}: it has left the world\n",
        "raise": f"\nValueError: no signal will come\nraised on rank {middle}\n",
    }
    assert expected[how] in done.stderr, done.stderr
    for rank in set(range(n)) - {middle}:
        said = f"rank {rank}: in kernel `wait_for`: 1 program waits"
        assert done.stderr.count(said) == 1, done.stderr
        assert f"of the symmetric heap of rank {rank}), where 0 is" in done.stderr, done.stderr


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_barrier_and_kernels_that_wait_for_each_other_are_a_deadlock(n, tmp_path):
    done = run_script(APART, tmp_path, args=[str(n), "barrier", "3600"])
    assert done.returncode == 1
    report = done.stderr.partition("shoal.errors.DeadlockError: ranks wait in vain:\n")[2].splitlines()
    assert report[0] == "rank 0: in kernel `wait_for`: 1 program waits", done.stderr
    assert any(line.startswith(f"rank {n // 2}: in barrier of the world, waiting for rank 0") for line in report)


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("how", ["loop", "sleep"])
def test_a_rank_that_does_not_come_is_named_and_does_not_hold_the_program(how, n, tmp_path):
    done = run_script(APART, tmp_path, args=[str(n), how, "1"])
    assert done.returncode == 1
    late = n // 2
    said = f"rank {late} runs code of the host, while rank "
    assert said in done.stderr, done.stderr
    assert "waited 1 s in kernel `wait_for`: 1 program waits" in done.stderr, done.stderr
    # It tells where the loop was, or that its thread stays.
    assert ("while True: pass" if how == "loop" else f"rank {late} does not end") in done.stderr, done.stderr


POLL = """
import sys
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def poll(flags, never, n):
    if tl.rank() == 0:
        i = 0
        while (i < n) and (tl.atomic_add(never, 0) == 0):
            i += 1
        for peer in range(1, tl.num_ranks()):
            tl.notify(flags, peer)
    else:
        tl.wait(flags, 1, "sys", "acquire")

def on_rank(rank):
    flags, never = rank.symm_zeros(1, np.int64), rank.symm_zeros(1, np.int64)
    poll[(1,)](flags, never, 500_000)

shoal.World.threads(int(sys.argv[1]), heap_bytes=1 << 20).run(on_rank)
"""


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_loop_that_counts_its_looks_may_end_by_itself(n, tmp_path):
    done = run_script(POLL, tmp_path, args=[str(n)], SHOAL_WAIT_TIMEOUT="0.1")
    assert done.returncode == 0, done.stderr


LOOKS = """
import sys
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def look(flags, x, never, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.wait(flags, 1, "sys", "acquire")
    else:
        # Each look takes a while, as it does on a busy machine.
        while (tl.sum(tl.sqrt(tl.load(x + tl.arange(0, BLOCK)))) > 0) & (tl.atomic_add(never, 0) < 1):
            pass

def on_rank(rank):
    flags, never = rank.symm_zeros(1, np.int64), rank.symm_zeros(1, np.int64)
    look[(2,)](flags, np.ones(1 << 20, np.float32), never, BLOCK=1 << 20)

shoal.World.threads(int(sys.argv[1]), heap_bytes=1 << 20).run(on_rank)
"""


@pytest.mark.parametrize("n", [2, 3, 7])
def test_looks_that_take_long_are_no_moves(n, tmp_path):
    done = run_script(LOOKS, tmp_path, args=[str(n)], SHOAL_WAIT_TIMEOUT="1", SHOAL_TIMEOUT="3600")
    assert "DeadlockError: ranks wait in vain" in done.stderr, done.stderr


LAUNCHES_THAT_WAIT = """
import sys
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

def on_rank(rank):
    flag = rank.symm_zeros(1, np.int64)
    reports = []

    def told(function, *args):
        try:
            function(*args)
        except shoal.DeadlockError as error:
            reports.append(error.waits)

    def launch():
        with rank:
            wait_for[(1,)](flag)

    stream = rank.stream()
    stream.call(launch)
    told(launch)
    told(rank.barrier)
    told(stream.synchronize)
    assert len(reports) == 3 and reports[0] == reports[1] == reports[2], reports
    return reports[0]

first, *others = shoal.World.threads(int(sys.argv[1]), heap_bytes=1 << 20, timeout=3600).run(on_rank)
assert len(first) == len(others) + 1 and all(report == first for report in others), (first, others)
"""


@pytest.mark.parametrize("n", [2, 3, 7])
def test_all_waits_after_a_deadlock_tell_the_same_report(n, tmp_path):
    done = run_script(LAUNCHES_THAT_WAIT, tmp_path, args=[str(n)])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("n", [2, 3, 7])
def test_an_error_tells_what_all_wait_for_when_one_has_left(n):
    with pytest.raises(shoal.WorldError, match="rank 1 left the world while rank ") as raised:
        world(n).run(lambda rank: rank.barrier() if rank.rank != 1 else None)
    others = [f"rank {rank}: in barrier of the world" for rank in range(n) if rank != 1]
    assert raised.value.waits == ["rank 1: it has left the world", *others]


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_rank_that_exits_has_left_the_others(n):
    def on_rank(rank, status, do_others_wait=True):
        if rank.rank == 1:
            sys.exit(status)
        if do_others_wait:
            rank.barrier()

    for status in (0, None):
        with pytest.raises(shoal.WorldError, match="rank 1 left the world while rank ") as raised:
            world(n).run(on_rank, status)
        assert raised.value.waits[0] == "rank 1: it has left the world"
    for status, do_others_wait in ((0, False), (3, False), (3, True), ("a reason", True)):
        with pytest.raises(SystemExit) as exited:
            world(n).run(on_rank, status, do_others_wait)
        assert exited.value.code == status
    with pytest.raises(SystemExit) as exited:
        world(n).run(lambda rank: sys.exit(0))
    assert exited.value.code == 0


@pytest.mark.parametrize("value", ["-1", "abc", "0"])
def test_a_wait_timeout_that_is_none_makes_no_world(value, monkeypatch):
    monkeypatch.setenv("SHOAL_WAIT_TIMEOUT", value)
    rule = "a number of seconds, above 0 and up to 136 years, such as 30 or 0.5"
    said = f"SHOAL_WAIT_TIMEOUT={value} cannot be used: it must be {rule}"
    with pytest.raises(shoal.WorldError, match=said):
        world(1)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), 1e300, 2.0**32])
def test_a_timeout_that_is_none_makes_no_world(timeout):
    with pytest.raises(ValueError, match=r"timeout=\S+ cannot be used: it must be a number of seconds, above 0"):
        shoal.World.threads(1, timeout=timeout)


def test_what_another_thread_does_for_a_rank_is_waited_for():
    def on_rank(rank):
        flag = rank.symm_zeros(1, np.int64)
        acts = threading.Event()

        def later():
            with rank:
                acts.set()
                time.sleep(0.5)
                flag[0] = 7

        other = threading.Thread(target=later)
        other.start()
        acts.wait()
        wait_for[(1,)](flag)
        other.join()
        return int(flag[0])

    assert world(3).run(on_rank) == [7, 7, 7]


def test_ctrl_c_ends_waits_kernels_and_loops():
    # A background job of a shell would ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def hang(rank):
        flag = rank.symm_zeros(1, np.int64)
        if rank.rank == 0:
            while True:
                time.sleep(0.01)
        if rank.rank == 1:
            rank.barrier()
        wait_for[(1,)](flag)

    threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            world(3).run(hang)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("who", ["one", "all"])
def test_a_stream_that_is_dropped_while_it_waits_in_vain_is_an_error(who, n):
    def wait(rank):
        word = rank.symm_zeros(1, np.uint32)
        if who == "all" or rank.rank == 0:
            rank.stream().wait_value(word, 5)
        if who == "one":
            rank.barrier()

    with pytest.raises(
        shoal.DeadlockError, match=r"(?s)rank 0: .*waiting for the word at offset \d+ of rank 0 == 5"
    ) as seen:
        world(n).run(wait)
    assert any("waiting for the word" in text for text in seen.value.waits)


def test_a_launch_on_a_stream_waits_for_the_rank_that_launches_later():
    def launch(rank):
        flag = rank.symm_zeros(1, np.int64)
        stream = rank.stream()
        stream.call(lambda: wait_for[(1,)](flag))
        rank.barrier()
        stream2 = rank.stream()
        stream2.write_value(rank.peer(flag, 1 - rank.rank), 7)
        stream2.synchronize()
        stream.synchronize()
        return int(flag[0])

    assert world(2).run(launch) == [7, 7]
