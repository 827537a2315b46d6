"""CUDA graphs where CUDA is played by the CPU: nothing is done while one is captured, all of it with every replay."""

import sys

import pytest
from distributed import run, torchrun

pytestmark = pytest.mark.torch

ONE_RANK = """
import copy

import torch
import triton
import triton.language as tl


@triton.jit
def add_twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(y + at, mask=at < n) + 2 * tl.load(x + at, mask=at < n), mask=at < n)


def refused(function, said):
    try:
        function()
    except RuntimeError as error:
        assert said in str(error), error
    else:
        raise AssertionError(said)


x, y = torch.ones(100, device="cuda"), torch.zeros(100, device="cuda")
graph = torch.cuda.CUDAGraph()
refused(graph.replay, "without a preceding successful capture")
n = 100
with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
    assert torch.cuda.is_current_stream_capturing()
    refused(lambda: torch.cuda.CUDAGraph().capture_begin(), "being captured already")
    y.add_(1)
    compiled = add_twice[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, BLOCK=64)
    total = (y * 3).sum()
    product = torch.relu(y[10:20].view(2, 5) @ x[:5])
    largest, where = torch.topk(y + torch.arange(100, device="cuda"), 2)
    drawn = torch.randn(4, device="cuda")
assert not torch.cuda.is_current_stream_capturing() and y.eq(0).all()
assert "ptx" in compiled.asm and total.is_cuda and product.device.type == "cuda"
n = 1  # the grid is that of the capture
graph.replay()
assert y.eq(3).all() and total.item() == 900 and where.tolist() == [99, 98]
x.fill_(2)
before = drawn.clone()
graph.replay()
assert y.eq(8).all() and total.item() == 2400 and product.eq(80).all() and not drawn.equal(before)
refused(lambda: graph.capture_begin(), "already owns a captured graph")
graph.reset()
refused(graph.replay, "without a preceding successful capture")


def asks(function):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        function((x + 1).sum())


for function in (lambda t: t.item(), lambda t: t.tolist(), lambda t: t.numpy(), bool, lambda t: torch.equal(t, t)):
    refused(lambda: asks(function), "not permitted when stream is capturing")
refused(lambda: asks(lambda _: torch.cuda.synchronize()), "not permitted when stream is capturing")
assert not torch.cuda.is_current_stream_capturing() and x.tolist() == [2] * 100
add_twice[(2,)](x, y, 100, BLOCK=64)
assert y.eq(12).all()

# What operators of a program's own consist of is captured.
@torch.library.custom_op("here::five_times", mutates_args=())
def five_times(x: torch.Tensor) -> torch.Tensor:
    return x * 5


@torch.library.custom_op("here::count", mutates_args={"x"}, device_types="cuda")
def count(x: torch.Tensor) -> None:
    x.add_(1)


a, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    b = five_times(a)
    count(a)
assert a.eq(1).all()
graph.replay()
graph.replay()
assert b.eq(10).all() and a.eq(3).all()

# Steps of training, and functions that are graphs.
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
other = copy.deepcopy(model)
inputs, wanted = torch.randn(16, 8, device="cuda"), torch.randn(16, 1, device="cuda")
optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)]
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    loss.backward()
    optimizers[0].step()
for _ in range(3):
    graph.replay()
    optimizers[1].zero_grad()
    expected = torch.nn.functional.mse_loss(other(inputs), wanted)
    expected.backward()
    optimizers[1].step()
torch.testing.assert_close(loss, expected)
torch.testing.assert_close(list(model.parameters()), list(other.parameters()))
layer = torch.nn.Linear(8, 8).cuda()
graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(4, 8, device="cuda", requires_grad=True),))
given = torch.randn(4, 8, device="cuda", requires_grad=True)
out = graphed(given)
out.sum().backward()
torch.testing.assert_close(out, torch.nn.functional.linear(given, layer.weight, layer.bias))
torch.testing.assert_close(given.grad, layer.weight.sum(0).expand(4, 8))

# What is compiled for the CPU runs as it was written.
compiled = torch.compile(lambda x: torch.sin(x) * 2 + 1)
compiled(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = compiled(x)
x.fill_(3)
graph.replay()
torch.testing.assert_close(y, torch.sin(x) * 2 + 1)
"""


def test_replays_do_what_was_captured(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], ONE_RANK, tmp_path)


RANKS = """
import os

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed._symmetric_memory as symm_mem
from cuda.bindings import driver
from nvshmem import core as nvshmem

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device, name, right = torch.device("cuda", rank), dist.group.WORLD.group_name, (rank + 1) % size
shared, summed = symm_mem.empty(64, device=device).fill_(rank + 1), symm_mem.empty(64, device=device).fill_(rank + 1)
handle = symm_mem.rendezvous(shared, name)
symm_mem.rendezvous(summed, name)
words = symm_mem.empty(4, dtype=torch.uint32, device=device).fill_(0)
seen = symm_mem.rendezvous(words, name)
counted, gathered = torch.full((8,), rank + 1.0, device=device), torch.zeros(8 * size, device=device)
A, B = torch.randn(16, 8, device=device), torch.randn(8, 4, device=device)
copied, received = torch.zeros(64, device=device), torch.zeros(8, device=device)
equal = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    once = torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", name)
    torch.ops.symm_mem.multimem_all_reduce_(summed, "sum", name)
    dist.all_reduce(counted)
    dist.all_gather_into_tensor(gathered, counted, async_op=True).wait()
    for work in [dist.isend(counted, right), dist.irecv(received, (rank - 1) % size)]:
        work.wait()
    _, (product,) = torch.ops.symm_mem.fused_all_gather_matmul(A, [B], 0, name)
    handle.barrier()
    twice = handle.get_buffer(right, (4,), torch.float32) * 2
    handle.put_signal(right)
    handle.wait_signal((rank - 1) % size)
    driver.cuMemcpyAsync(copied.data_ptr(), shared.data_ptr(), 256, 0)
    symm_mem._SymmetricMemory.stream_write_value32(words, 0, 7)
    symm_mem._SymmetricMemory.memset32(words, 1, 5, 2)
    driver.cuStreamWriteValue32(0, seen.buffer_ptrs[right] + 12, 9, 0)
    driver.cuStreamWaitValue32(0, words.data_ptr() + 12, 9, equal)
    everywhere = functional.all_reduce(counted, "sum", dist.group.WORLD) + 1
    nvshmem.barrier_all()
    dist.barrier()
assert summed.eq(rank + 1).all() and counted.eq(rank + 1).all() and words.tolist() == [0] * 4 and copied.eq(0).all()
total = size * (size + 1) / 2
for times in (1, size):
    graph.replay()
    assert once.eq(total).all() and summed.eq(total * times).all() and counted.eq(total * times).all()
    assert gathered.eq(total * times).all() and twice.eq(2 * (right + 1)).all() and copied.equal(shared)
    assert received.equal(counted)
    assert everywhere.eq(size * total * times + 1).all() and words.tolist() == [7, 5, 5, 9]
all_of_A = torch.empty(16 * size, 8, device=device)
dist.all_gather_into_tensor(all_of_A, A)
torch.testing.assert_close(product, all_of_A @ B)
dist.destroy_process_group()
# Nobody keeps the group: a thread of it that drops a tensor while Python ends would end the process.
threads = [open(f"/proc/self/task/{thread}/comm").read().strip() for thread in os.listdir("/proc/self/task")]
assert "pt_gloo_runloop" not in threads, threads
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_meet_in_replays(ranks, tmp_path):
    run(torchrun(ranks), RANKS, tmp_path, "-m", "shoal.triton", "--cuda-as-cpu")
