"""Ranks that are processes with their symmetric memory on GPUs: passed on as files, or NVSHMEM's."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

PRELUDE = """
import os, signal, sys, time
import torch, shoal, shoal.language as tl

world = shoal.World.from_env(heap_bytes=1 << 24)
rank = world.rank
me, n = rank.rank, rank.num_ranks
"""

MEET = """
@shoal.jit
def push(x, out, flags, n: tl.constexpr):
    to = tl.program_id(0)
    at = tl.arange(0, n)
    tl.store(tl.symm_at(out, to) + tl.rank() * n + at, tl.load(x + at))
    tl.notify(flags + tl.rank(), to, signal=1, sig_op="set", comm_scope="intra_node")
    tl.wait(flags + to, 1, "sys", "acquire", waitValue=1)

assert rank.device.type == "cuda" and world.engine == os.environ["EXPECTED_ENGINE"], (rank.device, world.engine)
x = torch.randn(16, device=rank.device, generator=torch.Generator(rank.device).manual_seed(me))
out = rank.symm_empty((n, 16), torch.float32)
out.fill_(float("nan"))
flags = rank.symm_zeros(n, torch.int64)
torch.cuda.synchronize()
rank.barrier()
push[(n,)](x, out, flags, 16)
torch.cuda.synchronize()
rank.barrier()
for peer in range(n):
    sent = torch.randn(16, device=rank.device, generator=torch.Generator(rank.device).manual_seed(peer))
    assert torch.equal(out[peer], sent), (me, peer)
    assert torch.equal(rank.peer(out, peer)[me], x), (me, peer)
assert rank.all_gather(me) == list(range(n))
rank.barrier()
print(f"met {me}\\n", end="", flush=True)
"""

STREAMS_AND_GRAPHS = """
from shoal.language.extra import libshmem_device as shmem

@shoal.jit
def rotate(x, out, flags, turn, n: tl.constexpr):
    to = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, n)
    launch = tl.load(turn) + 1
    tl.store(tl.symm_at(out, to) + at, tl.load(x + at))
    tl.notify(flags, to, signal=launch, sig_op="set", comm_scope="intra_node")
    shmem.signal_wait_until(flags, shmem.NVSHMEM_CMP_GE, launch)
    tl.store(turn, launch)

def launch():
    rotate[(1,)](x, out, flags, turn, 64)

left = (me - 1) % n
x = torch.zeros(64, device=rank.device)
out, flags = rank.symm_zeros(64, torch.float32), rank.symm_zeros(1, torch.int64)
turn = torch.zeros(1, dtype=torch.int64, device=rank.device)
launch()
rank.barrier()
# In a stream of the program's own: the launch comes after what torch has put there, and the barrier waits for it.
with torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda._sleep(10_000_000)
    x.fill_(8.0 + me)
    launch()
rank.barrier()
assert out[0].item() == 8.0 + left, out
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for _ in range(20):
        launch()
x.fill_(100.0 + me)
rank.barrier()
for _ in range(5):
    graph.replay()
rank.barrier()
assert out[0].item() == 100.0 + left, out
assert turn.item() == flags.item() == 2 + 20 * 5, (turn, flags)
rank.barrier()
print(f"replayed {me}\\n", end="", flush=True)
"""

IN_VAIN = """
@shoal.jit
def hang(flags):
    tl.wait(flags, 1, "sys", "acquire", waitValue=7)

@shoal.jit
def double(x):
    tl.store(x, 2 * tl.load(x))

flags = rank.symm_zeros(1, torch.int64)
x = torch.full((1,), 21.0, device=rank.device)
hang[(1,)](flags)
try:
    rank.barrier()
except shoal.WorldError as error:
    print(f"told {error}\\n", end="", flush=True)
    double[(1,)](x)
    torch.cuda.synchronize()
    print(f"goes on with {x.item()}\\n", end="", flush=True)
    sys.exit(3)
"""

DIES = """
@shoal.jit
def hang(flags):
    tl.wait(flags, 1, "sys", "acquire", waitValue=7)

flags = rank.symm_zeros(1, torch.int64)
hang[(1,)](flags)
if me == 1:
    os.kill(os.getpid(), signal.SIGKILL)
begun = time.monotonic()
try:
    rank.barrier()
except shoal.WorldError as error:
    print(f"told {error} after {time.monotonic() - begun:.1f} s\\n", end="", flush=True)
    sys.exit(3)
"""


def launched(tmp_path, ranks: int, script: str, engine: str = "processes", **environment: str):
    """What `shoal launch` and its ranks say, and how they end."""
    path = tmp_path / "script.py"
    path.write_text(PRELUDE + script)
    command = ["shoal", "launch", "-n", str(ranks), "--engine", engine, "--device", "cuda", "--", sys.executable]
    return run_ranks([sys.executable, "-m", *command, str(path)], engine, environment)


def run_ranks(command: list[str], engine: str, environment: dict[str, str]):
    settings = {"SHOAL_TIMEOUT": "40", "SHOAL_WAIT_TIMEOUT": "20", "EXPECTED_ENGINE": engine}
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        env={**os.environ, **settings, **environment},
        check=False,
    )


@pytest.mark.parametrize("ranks", [2, 4])
def test_processes_reach_each_other_on_a_gpu(tmp_path, ranks):
    done = launched(tmp_path, ranks, MEET)
    assert done.returncode == 0, done.stdout
    assert all(f"met {rank}" in done.stdout for rank in range(ranks)), done.stdout


def test_torchrun_starts_ranks_on_a_gpu(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PRELUDE.replace("heap_bytes", 'device="cuda", heap_bytes') + MEET)
    torchrun = [sys.executable, "-m", "torch.distributed.run"]
    command = [*torchrun, "--nproc-per-node", "2", "--master-port", "29507", str(path)]
    done = run_ranks(command, "processes", {})
    assert done.returncode == 0, done.stdout
    assert "met 0" in done.stdout and "met 1" in done.stdout, done.stdout


def check_ranks_of_mpirun(tmp_path, engine):
    if shutil.which("mpirun") is None:
        pytest.skip("Open MPI is not installed")
    path = tmp_path / "script.py"
    path.write_text(PRELUDE + MEET)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, str(path)]
    done = run_ranks(command, engine, {"SHOAL_ENGINE": engine, "SHOAL_DEVICE": "cuda"})
    assert done.returncode == 0, done.stdout
    assert "met 0" in done.stdout and "met 1" in done.stdout, done.stdout


def test_mpirun_starts_ranks_on_a_gpu(tmp_path):
    check_ranks_of_mpirun(tmp_path, "processes")


@pytest.mark.parametrize("ranks", [2, 4])
def test_streams_and_graphs_of_torch(tmp_path, ranks):
    done = launched(tmp_path, ranks, STREAMS_AND_GRAPHS)
    assert done.returncode == 0, done.stdout
    assert all(f"replayed {rank}" in done.stdout for rank in range(ranks)), done.stdout


def check_a_wait_in_vain(done):
    assert done.returncode != 0, done.stdout
    assert "rank 0" in done.stdout and "script.py" in done.stdout and "7" in done.stdout, done.stdout
    assert "wait" in done.stdout and "goes on with 42.0" in done.stdout, done.stdout


def test_a_wait_in_vain_ends_with_a_report(tmp_path):
    check_a_wait_in_vain(launched(tmp_path, 2, IN_VAIN, SHOAL_WAIT_TIMEOUT="2"))


def test_a_rank_that_dies_ends_the_others_at_once(tmp_path):
    done = launched(tmp_path, 2, DIES)
    assert done.returncode == 128 + signal.SIGKILL, done.stdout
    told = next(line for line in done.stdout.splitlines() if "told" in line)
    assert "rank 1 (pid " in told and "died" in told, done.stdout
    assert float(told.rsplit(" after ", 1)[1].split(" ")[0]) < 10, told


@pytest.fixture(scope="module")
def nvshmem() -> str:
    doctor = subprocess.run(
        [sys.executable, "-m", "shoal", "doctor"], capture_output=True, text=True, timeout=100, check=False
    )
    if not any(line.startswith("nvshmem") and " in /" in line for line in doctor.stdout.splitlines()):
        pytest.skip("NVSHMEM is not installed")
    return "nvshmem"


@pytest.mark.parametrize("ranks", [2, 4])
def test_processes_reach_each_other_through_nvshmem(tmp_path, nvshmem, ranks):
    done = launched(tmp_path, ranks, MEET, nvshmem)
    assert done.returncode == 0, done.stdout
    assert all(f"met {rank}" in done.stdout for rank in range(ranks)), done.stdout


def test_streams_and_graphs_of_torch_through_nvshmem(tmp_path, nvshmem):
    done = launched(tmp_path, 2, STREAMS_AND_GRAPHS, nvshmem)
    assert done.returncode == 0, done.stdout
    assert "replayed 0" in done.stdout and "replayed 1" in done.stdout, done.stdout


def test_a_wait_in_vain_through_nvshmem(tmp_path, nvshmem):
    check_a_wait_in_vain(launched(tmp_path, 2, IN_VAIN, nvshmem, SHOAL_WAIT_TIMEOUT="2"))


def test_mpirun_starts_ranks_through_nvshmem(tmp_path, nvshmem):
    check_ranks_of_mpirun(tmp_path, nvshmem)
