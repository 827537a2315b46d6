"""Worlds whose ranks are processes: under `shoal launch` and `torchrun`, and how they end."""

import re
import signal
import sys
import time

import pytest
from distributed import needs_oshrun, oshrun, shoal_launch, start, torchrun

PRELUDE = """
import os, sys, time
import numpy as np, shoal, shoal.language as tl

world = shoal.World.from_env(heap_bytes=1 << 24)
rank = world.rank
assert shoal.World.from_env() is world and shoal.current_rank() is rank
"""

KERNEL = """
@shoal.jit
def push(x, out, flags, n: tl.constexpr):
    to = tl.program_id(0)
    at = tl.arange(0, n)
    tl.store(tl.symm_at(out, to) + tl.rank() * n + at, tl.load(x + at))
    tl.notify(flags + tl.rank(), to, signal=1, sig_op="set", comm_scope="intra_node")
    tl.wait(flags + to, 1, "sys", "acquire", waitValue=1)

x = np.arange(16, dtype=np.float32) + 100 * rank.rank
out = rank.symm_zeros((rank.num_ranks, 16), np.float32)
out.fill(np.nan)
flags = rank.symm_zeros(rank.num_ranks, np.int64)
rank.barrier()
push[(rank.num_ranks,)](x, out, flags, 16)
rank.barrier()
assert (out == np.arange(16) + 100 * np.arange(rank.num_ranks)[:, None]).all(), out
rank.barrier()  # all have looked before any writes
stream = rank.stream()
stream.copy(rank.peer(out, (rank.rank + 1) % rank.num_ranks)[0], np.full(16, rank.rank, np.float32))
stream.synchronize()
rank.barrier()
assert (out[0] == (rank.rank - 1) % rank.num_ranks).all()
assert world.run(lambda rank: rank.all_gather(rank.rank)) == [list(range(rank.num_ranks))]
print(f"done {rank.rank}\\n", end="")  # one write: ranks share the pipe
"""


@pytest.mark.parametrize("n", [1, 2, 3])
def test_under_shoal_launch(n, tmp_path):
    process = start(shoal_launch(n), PRELUDE + KERNEL, tmp_path)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert all(f"done {rank}" in output for rank in range(n)), output


@pytest.mark.torch
def test_under_torchrun(tmp_path):
    process = start(torchrun(2), PRELUDE + KERNEL, tmp_path)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output


@needs_oshrun
def test_under_oshrun(tmp_path):
    process = start(oshrun(2), PRELUDE + KERNEL, tmp_path)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert all(f"done {rank}" in output for rank in range(2)), output


BETWEEN_HOSTS = """
from shoal.language.extra import libshmem_device as shmem

@shoal.jit
def ring(inbox, outbox, signals, n):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_signal_block(inbox, outbox, n * 4, signals, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_GE, 1)

assert world.engine == "openshmem" and rank.node.size == 1
inbox, outbox = rank.symm_zeros(5000, np.int32), rank.symm_zeros(5000, np.int32)
signals = rank.symm_zeros(1, np.int64)
outbox[:] = np.arange(5000) + rank.rank
rank.barrier()
ring[(1,)](inbox, outbox, signals, 5000)
assert (inbox == np.arange(5000) + (rank.rank - 1) % rank.num_ranks).all(), inbox
rank.barrier()
try:
    rank.peer(inbox, (rank.rank + 1) % rank.num_ranks)
except ValueError as error:
    assert "cannot be reached by load and store" in str(error)
    print(f"done {rank.rank}\\n", end="")
rank.barrier()
"""


@needs_oshrun
def test_under_oshrun_as_between_hosts(tmp_path):
    process = start(oshrun(3), PRELUDE + BETWEEN_HOSTS, tmp_path, UCX_TLS="tcp,self")
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert all(f"done {rank}" in output for rank in range(3)), output


FAILING = """
try:
    if rank.rank == 1:
        FAIL
    rank.barrier()
except shoal.WorldError as error:
    print(f"rank {rank.rank} heard: {error}", flush=True)
    time.sleep(1)  # the launcher ends all once one has failed
    sys.exit(5)
"""


@pytest.mark.parametrize(
    ("fail", "heard"),
    [
        ("raise KeyError('lost')", "KeyError: 'lost'"),
        ("os.kill(os.getpid(), 9)", "rank 1"),
        ("sys.exit(3)", "rank 1"),
        ("os._exit(0)", "rank 1"),
    ],
    ids=["raises", "killed", "exits", "vanishes"],
)
def test_a_rank_that_ends_is_named_to_the_others(fail, heard, tmp_path):
    # Without the shoal_launch, which would end the others at once.
    script = PRELUDE + FAILING.replace("FAIL", fail)
    processes = [
        start(
            [sys.executable],
            script,
            tmp_path,
            RANK=str(rank),
            WORLD_SIZE="3",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29871",
        )
        for rank in range(3)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    for rank in (0, 2):
        assert f"rank {rank} heard: " in outputs[rank] and heard in outputs[rank], outputs
        assert processes[rank].returncode == 5


@pytest.mark.parametrize(
    ("does", "heard"),
    [
        ("call(lambda: 1 // 0)", "ZeroDivisionError"),
        ("wait_value(rank.symm_zeros(1, np.uint32), 5)", "waiting for the word at offset"),
    ],
)
def test_what_ended_a_dropped_stream_is_an_error(does, heard, tmp_path):
    script = f"""
import numpy as np
import shoal
shoal.World.from_env(timeout=1).run(lambda rank: rank.stream().{does})
"""
    process = start(shoal_launch(2), script, tmp_path)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and heard in output, output


KEPT = """
import os, sys, time
import shoal
world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(3)
def sleep_on():
    while True:
        time.sleep(0.01)
def call(rank):
    stream = rank.stream()
    stream.call(eval(os.environ["CALLED"]))
    if os.environ["KEPT"] == "yes":
        kept.append(stream)
kept = []
world.run(call)
print("done")
"""
WAYS = pytest.mark.parametrize("command", [[sys.executable], shoal_launch(3)], ids=["threads", "processes"])


@WAYS
def test_what_is_in_a_stream_is_done_before_python_ends(command, tmp_path):
    process = start(command, KEPT, tmp_path, KEPT="yes", CALLED='lambda: (time.sleep(0.3), print("called\\n", end=""))')
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert output.count("called") == 3 and "shoal: " not in output, output


@WAYS
@pytest.mark.parametrize("called", ["sleep_on", "__import__('threading').Event().wait"])
@pytest.mark.parametrize("kept", ["yes", "no"])
def test_a_function_of_a_stream_that_does_not_return_is_left_behind(command, called, kept, tmp_path):
    # Long enough to join on a busy machine.
    process = start(command, KEPT, tmp_path, KEPT=kept, CALLED=called, SHOAL_TIMEOUT="4")
    output, _ = process.communicate(timeout=60)
    # What ends a stream that is kept is printed; `run` raises what ended one that was dropped.
    assert process.returncode == (0 if kept == "yes" else 1), output
    assert re.search(r"waited 4\.\d s for the work of a stream", output) and "core dumped" not in output, output


@WAYS
@pytest.mark.parametrize("raised", ["sys.exit(5)", "(_ for _ in ()).throw(KeyboardInterrupt)"])
def test_what_ends_a_stream_after_all_else_is_printed_whatever_it_is(command, raised, tmp_path):
    # Late enough for `run` to have ended on all ranks.
    process = start(command, KEPT, tmp_path, KEPT="yes", CALLED=f"lambda: (time.sleep(2), {raised})")
    output, _ = process.communicate(timeout=60)
    assert "ended after all else: " in output and "Traceback" not in output, output


def test_the_launcher_ends_all_when_one_fails(tmp_path):
    process = start(shoal_launch(3), PRELUDE + "if rank.rank == 1: sys.exit(7)\ntime.sleep(100)", tmp_path)
    began = time.monotonic()
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 7, output
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("exit", ["sys.exit(0)", "world.run(lambda rank: sys.exit(0))"])
def test_a_rank_may_end_before_the_others(exit, tmp_path):
    script = PRELUDE + f"if rank.rank == 1: {exit}\ntime.sleep(0.3)\nrank.check()\nprint('fine')"
    process = start(shoal_launch(2), script, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 0 and "fine" in output, output


@pytest.mark.parametrize("waits", ["rank.barrier()", "world.run(lambda rank: rank.barrier())"])
def test_ctrl_c_ends_a_rank_that_waits(waits, tmp_path):
    script = PRELUDE + f"print('waits', flush=True)\nif rank.rank == 0: {waits}\ntime.sleep(100)"
    process = start(shoal_launch(2), script, tmp_path)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    assert all("waits" in line for line in lines), lines
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    # Both have heard of it; ranks that do not are ended without a word.
    assert len(re.findall(r"^\[[01]\] KeyboardInterrupt", output, re.MULTILINE)) == 2, output


def test_errors_may_have_any_text(tmp_path):
    script = PRELUDE + "if rank.rank == 1: raise ValueError('bad name ' + chr(0xdcff))\nrank.barrier()"
    process = start(shoal_launch(2), script, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert output.splitlines()[-1].endswith(r"failed: ValueError: bad name \udcff"), output


LATE = """
import shoal, time

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=6).rank  # also to join, on a busy machine
time.sleep(8 if rank.rank == 1 else 0)
try:
    rank.all_gather(rank.rank)
    print(f"{rank.rank} passed", flush=True)
except shoal.WorldError:
    print(f"{rank.rank} raised", flush=True)
time.sleep(0 if rank.rank == 1 else 4)
"""


@pytest.mark.parametrize(
    "how", [shoal_launch(3), pytest.param(oshrun(3), marks=needs_oshrun)], ids=["processes", "oshrun"]
)
def test_nobody_passes_a_collective_of_a_world_that_has_failed(how, tmp_path):
    process = start(how, LATE, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert "passed" not in output and all(f"{rank} raised" in output for rank in range(3)), output


LEFT_ERROR = """
import sys
import shoal

def leave(rank):
    rank.stream().call(lambda: 1 // 0)
    sys.exit(0)

shoal.World.from_env(heap_bytes=1 << 20).run(leave)
"""


def test_what_ended_a_dropped_stream_is_an_error_also_of_a_rank_that_exits(tmp_path):
    process = start(shoal_launch(2), LEFT_ERROR, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 1 and "ZeroDivisionError" in output, output


WITHOUT_MEMORY = """
import resource, shoal

rank = shoal.World.from_env(heap_bytes=1 << 20).rank
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
try:
    while True:  # threads that have ended leave some
        rank.barrier()
except shoal.WorldError as error:
    print(error)
"""


def test_no_memory_for_a_thread_is_an_error_in_words(tmp_path):
    process = start(shoal_launch(1), WITHOUT_MEMORY, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert "cannot start a thread that waits for other ranks: " in output, output


ABSENT = """
import os, sys
if os.environ["RANK"] == os.environ["ABSENT"]:
    sys.exit(0)
import shoal
shoal.World.from_env(heap_bytes=1 << 20)
"""


@pytest.mark.parametrize("absent", [0, 2])
def test_a_rank_that_exits_before_it_joins_is_named_at_once(absent, tmp_path):
    process = start(shoal_launch(3), ABSENT, tmp_path, ABSENT=str(absent), SHOAL_TIMEOUT="300")
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 1, output
    blamed = rf"error: rank {absent} \(pid \d+\) exited with status 0 before it joined the world"
    assert re.fullmatch(blamed, output.splitlines()[-1]), output


BESIDE = """
if rank.rank == 1:
    import threading
    threading.Thread(target=time.sleep, args=(100,)).start()
    raise ValueError("no luck")
rank.barrier()
"""


def test_what_ends_the_main_thread_is_told_although_another_goes_on(tmp_path):
    process = start(shoal_launch(3), PRELUDE + BESIDE, tmp_path)
    output, _ = process.communicate(timeout=55)
    assert process.returncode == 1, output
    assert re.fullmatch(r"error: rank 1 \(pid \d+\) failed: ValueError: no luck", output.splitlines()[-1]), output


EARLY = """
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def relay(flag, n: tl.constexpr):
    if tl.rank() != 1:
        for step in range(n):
            tl.wait(flag, 1, "sys", "acquire", waitValue=step + 1)
            tl.notify(flag, 2 - tl.rank(), signal=step + 1 + tl.rank() // 2, sig_op="set", comm_scope="intra_node")

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=60).rank
flag = rank.symm_zeros(1, np.int64)
if rank.rank == 0:
    flag[0] = 1
rank.barrier()
relay[(1,)](flag, 20_000)
if rank.rank != 1:
    print("relayed", flush=True)
"""


POLLING = """
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def poll_and_tell(flag, other, n):
    if tl.rank() == 0:
        looked = 0
        while (looked < n) and (tl.atomic_add(other, 0) == 0):
            looked += 1
        tl.notify(flag, 1)
    if tl.rank() == 1:
        tl.wait(flag, 1, "sys", "acquire")

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=60).rank
flag, other = rank.symm_zeros(1, np.int64), rank.symm_zeros(1, np.int64)
rank.barrier()
if rank.rank < 2:
    poll_and_tell[(1,)](flag, other, 40_000)
    print("told", flush=True)
"""


def test_a_loop_that_gives_up_by_itself_is_no_wait_for_one_that_has_left(tmp_path):
    process = start(shoal_launch(3), POLLING, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 0 and output.count("told") == 2, output


def test_ranks_go_on_without_one_that_has_done_its_part(tmp_path):
    process = start(shoal_launch(3), EARLY, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 0 and output.count("relayed") == 2, output


APART = """
import time
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def wait_for(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)

rank = shoal.World.from_env(heap_bytes=1 << 20, timeout=8).rank  # also to join, on a busy machine
flag = rank.symm_zeros(1, np.int64)
if rank.rank == 2:
    time.sleep(60)
if rank.rank == 1:
    time.sleep(1)
    wait_for[(1,)](flag)
rank.barrier()
"""


@pytest.mark.parametrize(
    "how", [shoal_launch(3), pytest.param(oshrun(3), marks=needs_oshrun)], ids=["processes", "oshrun"]
)
def test_one_report_tells_who_waits_in_a_barrier_and_who_in_a_kernel(how, tmp_path):
    process = start(how, APART, tmp_path)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 1, output
    lines = [re.sub(r"^\[0\] ", "", line) for line in output.splitlines() if "[1] " not in line]
    told = [at for at, line in enumerate(lines) if "shoal.errors.WorldError: rank 0, in barrier" in line]
    assert told, output
    at = told[0]
    waited = (
        r".* rank 1 \(pid \d+\), rank 2 \(pid \d+\) did not come to barrier of the world: "
        r"rank 0 \(pid \d+\) waited 8 s"
    )
    assert re.fullmatch(waited, lines[at]), output
    assert lines[at + 1].startswith("rank 2: it has not said what it waits for"), output
    assert lines[at + 2].startswith("rank 1: in kernel `wait_for`: 1 program waits"), output
    assert "for 7 at 0x" in lines[at + 3], output


NEVER_JOINS = """
import os, shoal, time
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    time.sleep(60)
shoal.World.from_env(heap_bytes=1 << 20, timeout=4)
"""


@needs_oshrun
def test_who_waits_for_a_rank_of_oshrun_that_never_joins_is_named(tmp_path):
    process = start(oshrun(3), NEVER_JOINS, tmp_path)
    output, _ = process.communicate(timeout=55)
    assert process.returncode == 1, output
    waited = "error: rank [02] waited 4 s for all of 3 ranks to join the world"
    assert re.fullmatch(waited, output.splitlines()[-1]), output
