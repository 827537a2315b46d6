"""`--cuda-as-cpu`: the devices of tensors."""

import sys

import pytest
from distributed import run

pytestmark = pytest.mark.torch

PLACES = """
import copy
import io

import numpy as np
import torch
import triton
import triton.language as tl

here = torch.device("cuda", 0)
assert triton.runtime.driver.active.get_active_torch_device() == here
x, host = torch.randn(8, device="cuda"), torch.randn(8)
with torch.device("cuda"):
    inside = torch.zeros(2)
torch.set_default_device("cuda")
by_default = torch.zeros(2)
assert torch.get_default_device() == here
torch.set_default_device("cpu")
there = [
    *(x, x + 1, x[2:], x.view(2, 4).T, host.cuda(), host.to(x.device), inside, by_default, torch.empty_like(x)),
    *(torch.zeros(3, device=x.device), x.new_zeros(2), x.detach().clone(), torch.nn.Parameter(x)),
]
for tensor in there:
    assert tensor.device == here and tensor.device.type == "cuda" and tensor.is_cuda
on_host = [
    *(host, torch.from_numpy(np.zeros(2)), x.cpu(), x.to("cpu"), x.to(torch.device("cpu")), torch.zeros(2)),
    torch.zeros(2, device=torch.device("cpu")),
]
for tensor in on_host:
    assert tensor.device.type == "cpu" and not tensor.is_cuda

# A leaf of the host that is copied is none of CUDA's.
leaf = torch.ones(3, requires_grad=True)
moved = leaf.cuda()
assert moved.device == here and not moved.is_leaf
moved.sum().backward()
assert leaf.grad.tolist() == [1.0, 1.0, 1.0]

model = torch.nn.Linear(8, 8)
assert model.weight.device.type == "cpu"
assert model.cuda().weight.device == here and model(x).device == here
optimizer = torch.optim.Adam(model.parameters())
model(x).sum().backward()
optimizer.step()
assert model.cpu().weight.device.type == "cpu" and model.to(x.device).weight.device == here

# torch itself sees where the memory is, with every device that it is given.
torch.randn(3, device=x.device, generator=torch.Generator(device=x.device))
with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16), torch.cuda.device(x.device):
    assert (x.view(2, 4) @ x.view(4, 2)).dtype == torch.bfloat16
torch.cuda.synchronize(x.device)
assert torch.cuda.current_stream(x.device).device == here
with torch.cuda.device_of(x):
    assert torch.cuda.FloatTensor(3).device == here and torch.cuda.memory_stats()["allocated_bytes.all.peak"] == 0
assert torch.cuda.memory_summary() and torch.cuda.memory.max_memory_allocated() == 0
sparse = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device="cuda")
assert sparse.to_dense().tolist() == [[0, 1], [2, 0]]
kept = io.BytesIO()
torch.save(copy.deepcopy(x), kept)
kept.seek(0)
assert torch.load(kept, map_location=x.device).tolist() == x.tolist()


@triton.jit
def double(x):
    tl.store(x, tl.load(x) * 2)


first = x[0].item()
double[(1,)](x)
double[(1,)](triton.reinterpret(x, tl.float32))
assert x[0].item() == 4 * first
"""


def test_tensors_say_the_device_they_were_made_for(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], PLACES, tmp_path)


COPIES = """
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def negate(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, -tl.load(x + at, mask=at < n), mask=at < n)


host = torch.arange(4.0)
array = np.arange(4.0, dtype=np.float32)
made, also = torch.arange(4.0, device="cuda"), torch.arange(4.0, device="cuda")
for source, moved in [
    (host, host.cuda()),
    (host, host.to("cuda")),
    (host, host.to(device=torch.device("cuda:0"), dtype=torch.float32).detach().requires_grad_()),
    (host, host.to(0)),
    (array, torch.from_numpy(array).cuda()),
    (made.cpu(), made),
    (also.to("cpu"), also),
]:
    before = moved.tolist()
    negate[(1,)](moved, 4, BLOCK=4)
    assert moved.tolist() == [-x for x in before]
    assert source.tolist() == before

# What is there already stays what it is, and so does a leaf that gathers gradients.
made = torch.arange(4.0, device="cuda")
assert made.cuda() is made and made.to("cuda") is made
part = made[1:].detach()
part.cuda().zero_()
assert made.tolist() == [0.0, 0.0, 0.0, 0.0]
there = host.cuda()
assert there.cuda() is there and there.to(made.device) is there
leaf = torch.nn.Parameter(torch.ones(3))
leaf.cuda().sum().backward()
assert leaf.grad.tolist() == [1.0, 1.0, 1.0]
model = torch.nn.Linear(2, 2)
weight = model.weight
assert model.cuda().weight is weight and model.to("cuda").weight is weight
assert torch.func.vmap(lambda row: row.to("cuda") * 2)(torch.ones(2, 3)).tolist() == [[2.0] * 3] * 2
"""


def test_moving_between_cpu_and_cuda_copies(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], COPIES, tmp_path)


RESULTS = """
import copy

import torch


def lies_on(device, *tensors):
    for at, tensor in enumerate(tensors):
        assert tensor.device.type == device and tensor.is_cuda == (device == "cuda"), (device, at)
        assert tensor.get_device() == (0 if device == "cuda" else -1)


there, host = torch.randn(8, device="cuda"), torch.randn(8, requires_grad=True)
scalar, linear = torch.tensor(2.0), torch.nn.Linear(8, 4)
lies_on("cpu", host + 1, host[2:], host[host > 0], host.max(0).values, *host.split(4), host.new_zeros(3))
lies_on("cpu", torch.stack([host, host]), torch.zeros_like(host), torch.einsum("i,i", host, host), linear(host))
lies_on("cpu", scalar * scalar, host * scalar, copy.deepcopy(host.detach()), torch.nn.Parameter(host * 2))
lies_on("cpu", (there + 1).cpu() * 2, there.to(host), there.type_as(host), (there + 1).to("cpu").double())
lies_on("cpu", host[:0] + 1, torch.empty_like(there, device="cpu") * 2)
lies_on("cuda", there + 1, there * scalar, scalar * (there + 1), there[host > 0], (there + 1)[host > 0])
lies_on("cuda", host.cuda() + 1, torch.empty_like(host, device="cuda") * 2, (there + 1).copy_(host))
lies_on("cuda", torch.nn.Linear(8, 4).cuda()(there), torch.zeros_like(there + 1), host.type_as(there))
same = host.detach()
moved = same.to(there)
moved.zero_()
assert same.any() and same.to(host) is same and there.to(moved) is there


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        lies_on("cpu", x * 2)
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        lies_on("cpu", x + 1, gradient * x)
        return gradient * 2


Twice.apply(host).sum().backward()
lies_on("cpu", host.grad, *torch.autograd.grad(Twice.apply(host).sum(), host))
leaf = torch.ones(3, device="cuda", requires_grad=True)
(leaf * 2).sum().backward()
lies_on("cuda", leaf.grad)
with torch.device("cuda"):
    lies_on("cuda", torch.ones(3) * 2)
lies_on("cpu", torch.ones(3) * 2)
"""


def test_results_lie_where_their_inputs_lie(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], RESULTS, tmp_path)
