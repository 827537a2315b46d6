"""How a job ends: with the status of the rank that its last line names, and with nothing left behind."""

import os
import re
import signal
import subprocess

import pytest
from distributed import needs_oshrun, oshrun, shoal_launch

LAUNCHERS = [shoal_launch, pytest.param(oshrun, marks=needs_oshrun)]


def start(command, text, folder):
    script = folder / "program.py"
    script.write_text(text)
    environment = {**os.environ, "SHOAL_TIMEOUT": "60"}
    return subprocess.Popen(
        [*command, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )


STATUSES = """
import sys, shoal

def use(rank):
    rank.barrier()
    if rank.rank == 1:
        sys.exit(7)
    try:
        rank.barrier()
    except shoal.WorldError:
        sys.exit(9)

shoal.World.from_env(heap_bytes=1 << 20).run(use)
"""


@pytest.mark.parametrize("launch", LAUNCHERS)
def test_the_status_is_that_of_the_rank_that_is_named(launch, tmp_path):
    process = start(launch(3), STATUSES, tmp_path)
    output, _ = process.communicate(timeout=120)
    last = output.splitlines()[-1]
    assert re.search(r"error: rank 1 .*SystemExit: 7; rank 1 exited with status 7$", last), output
    assert process.returncode == 7, output


CLOSED = """
import os, sys, shoal

if sys.argv[1:] == ["itself"]:
    os.close(0), os.close(1)

def use(rank):
    rank.barrier()
    print("said")
    rank.barrier()
    for number in (0, 1):
        assert not os.readlink(f"/proc/self/fd/{number}").startswith(("anon_inode", "socket")), number
    return os.write(2, f"rank {rank.rank} is well\\n".encode())

shoal.World.from_env(heap_bytes=1 << 20).run(use)
"""


@pytest.mark.parametrize("who", ["the launcher", "itself"])
def test_standard_streams_may_be_closed(who, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(CLOSED)
    command = [*shoal_launch(2), str(script), who]
    closed = 'exec "$@" <&- >&-' if who == "the launcher" else 'exec "$@"'
    ended = subprocess.run(["sh", "-c", closed, "sh", *command], stderr=subprocess.PIPE, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert sorted(re.findall("rank . is well", ended.stderr)) == ["rank 0 is well", "rank 1 is well"], ended.stderr
    assert "cannot pass on" not in ended.stderr


WAITING = """
import time, shoal

world = shoal.World.from_env(heap_bytes=1 << 20)
world.rank.barrier()
files = [line.split()[-1] for line in open("/proc/self/maps") if "/dev/shm/" in line]
print("ready", *dict.fromkeys(files), flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("launch", LAUNCHERS)
def test_a_signal_ends_all_and_leaves_nothing_in_shared_memory(launch, number, tmp_path):
    process = start(launch(2), WAITING, tmp_path)
    ready = [process.stdout.readline() for _ in range(2)]
    assert all("] ready" in line for line in ready), ready + process.stdout.readlines()
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output
    assert output.endswith(f"error: ended by {number.name}\n"), output
    files = {file for line in ready for file in line.split()[2:]}
    assert not [file for file in files if os.path.exists(file)], files
