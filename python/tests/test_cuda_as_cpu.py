"""`--cuda-as-cpu`: programs that say "cuda" run on the CPU."""

import subprocess
import sys

import pytest
from distributed import run, torchrun

pytestmark = pytest.mark.torch

DEVICES = """
import torch
import triton
import triton.language as tl

device = torch.device("cuda:0")
assert torch.cuda.is_available() and torch.cuda.device_count() == 4 and torch.version.cuda
torch.cuda.set_device(device)
torch.cuda.manual_seed_all(1)
tensors = [
    torch.randn(8, device="cuda"),
    torch.empty((2, 3), device=device).normal_(),
    torch.tensor([1.0], device=0),
    torch.arange(4, device="cuda:0", dtype=torch.float32),
    torch.zeros(3).cuda(),
    torch.zeros(3).to("cuda", non_blocking=True),
    torch.zeros(3).to(device, torch.float16),
    torch.zeros(3).to(device="cuda", dtype=torch.bfloat16),
    torch.ones_like(torch.zeros(3), device="cuda"),
    torch.zeros(3).new_empty(4, device="cuda"),
    torch.randint(0, 5, (3,), device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
    torch.nn.Linear(3, 4, device="cuda").weight,
    torch.nn.Linear(3, 4).to("cuda").weight,
    torch.nn.Linear(3, 4).cuda().weight,
]
with torch.device("cuda"):
    tensors.append(torch.zeros(3))
torch.set_default_device("cuda")
tensors.append(torch.zeros(3))
torch.set_default_device("cpu")
assert all(tensor.is_cuda for tensor in tensors)
assert not torch.empty(3, pin_memory=True).pin_memory().is_cuda
with torch.autocast("cuda", dtype=torch.bfloat16):
    torch.randn(3, 3, device="cuda") @ torch.randn(3, 3, device="cuda")


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


x = torch.arange(100, device="cuda", dtype=torch.float32)
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
side = torch.cuda.Stream(priority=-1)
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    assert torch.cuda.current_stream() is side
    start.record()
    with torch.cuda.Stream() as inner:
        assert torch.cuda.current_stream() is inner
    double[(2,)](x, 100, BLOCK=64)
    end.record(side)
torch.cuda.current_stream().wait_event(end)
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0
start, end = torch.Event("cuda", enable_timing=True), torch.Event(enable_timing=True)
start.record()
with torch.Stream(device="cuda") as side:
    assert torch.accelerator.current_stream() is side
    end.record(side)
end.synchronize()
assert start.elapsed_time(end) >= 0
assert x.cpu().tolist() == [2.0 * i for i in range(100)]
from cuda.bindings import driver

words = torch.tensor([1, 5], dtype=torch.int32, device="cuda")
equal = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
(done,) = driver.cuStreamWriteValue32(side.cuda_stream, words.data_ptr(), 7, 0)
assert done == driver.CUresult.CUDA_SUCCESS
driver.cuStreamWaitValue32(side.cuda_stream, words.data_ptr(), 7, equal)
driver.cuStreamWaitValue32(side.cuda_stream, words.data_ptr() + 4, 3, driver.CUstreamWaitValue_flags(0))
assert words.tolist() == [7, 5]
properties = torch.cuda.get_device_properties(0)
assert properties.multi_processor_count > 0 and properties.total_memory > 0 and properties.major == 9
assert torch.cuda.get_device_capability() == (9, 0)
with torch.cuda.device(0), torch.cuda.nvtx.range("part"):
    torch.cuda.empty_cache()
from triton.backends import backends

assert [name for name, backend in backends.items() if backend.driver.is_active()] == ["nvidia"]
assert torch.accelerator.current_accelerator().type == "cuda" and torch.accelerator.is_available()
assert torch.accelerator.current_stream() is torch.cuda.current_stream()
from torch.utils._triton import has_triton

assert has_triton()
"""


def test_devices_streams_and_questions(tmp_path):
    output = run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], DEVICES, tmp_path)
    assert output.count("CUDA is played by the CPU") == 1, output


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
scaled = torch.compile(lambda a: (torch.softmax(a, -1) * torch.ones(8, device=a.device)).to(a.device), fullgraph=True)
torch.testing.assert_close(scaled(x), torch.softmax(x, -1))
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


# Modules that other compilers write are programs, wherever torch loads them.
written = torch._inductor.codecache.PyCodeCache.load("def where(tensor):\\n    return tensor.device\\n")
assert written.__name__.startswith("torch.") and written.where(x) == here and written.where(host).type == "cpu"


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


PLAYED = """
import torch
import triton
import triton.language as tl


class Wrapped:
    def __init__(self, tensor):
        self.data_ptr, self.dtype, self.device = tensor.data_ptr, tensor.dtype, tensor.device


@triton.jit
def fill(x, n: tl.constexpr):
    tl.store(x + tl.arange(0, n), 7.0)


x = torch.zeros(4, device="cuda")
fill[(1,)](Wrapped(x), 4)
assert x.tolist() == [7.0] * 4
assert torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), device="cuda").is_cuda
assert torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device="cuda").is_cuda
with torch._subclasses.FakeTensorMode() as mode:
    assert (mode.from_tensor(x) + 1).device == x.device
assert torch._C._cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream
if hasattr(torch._C._dynamo.guards, "_empty_strided_cuda"):  # programs that Inductor has written allocate by it
    with torch.cuda._DeviceGuard(0):
        column = torch._C._dynamo.guards._empty_strided_cuda((3, 1), (1, 3), torch.float16)
    assert column.is_cuda and column.stride() == (1, 3) and column.dtype == torch.float16


# Of torch's own operators for CUDA only.
half = torch.full((2, 3), 0.1, dtype=torch.bfloat16, device="cuda")
wide = half.float() @ half.float().T
made = torch.zeros(2, 2, device="cuda")
assert torch.equal(torch.mm(half, half.T, out_dtype=torch.float32), wide)
torch.addmm(made, half, half.T, out_dtype=torch.float32, alpha=2, out=made)
assert torch.equal(made, 2 * wide)
assert torch.equal(torch.bmm(half[None], half.T[None], out_dtype=torch.float32), wide[None])
experts = torch.tensor([3, 0, 3, 1, 9, -1], dtype=torch.int32, device="cuda")
if hasattr(torch.library, "get_kernel"):
    counts = torch.histc(experts, bins=4, max=3)
    assert counts.dtype == torch.int32 and counts.tolist() == [1, 1, 0, 2]
    assert experts.histc(2).tolist() == experts.float().histc(2).tolist() == [5, 1]
    assert torch.histc(experts[:0], bins=2).tolist() == [0, 0]
assert torch.histc(experts.float(), bins=4, max=3).tolist() == [1, 1, 0, 2]


class Scaled(torch.Tensor):
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner, scale):
        self.inner, self.scale = inner, scale

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].inner, args[0].scale)
        plain = [arg.inner * arg.scale if isinstance(arg, cls) else arg for arg in args]
        return function(*plain, **(kwargs or {}))


weight = torch.nn.Parameter(Scaled(torch.ones(4, 4, device="cuda"), 3.0))
assert weight.device == x.device and weight.is_cuda
out = torch.nn.functional.linear(x, weight)
out.sum().backward()
assert out.tolist() == [84.0] * 4 and weight.grad.tolist() == [[7.0] * 4] * 4
"""


def test_what_else_is_of_cuda(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], PLAYED, tmp_path)


FORMS = """
import os
import torch
import triton
import triton.language as tl
from triton.language import core
from triton_dist.language.extra.cuda.language_extra import atomic_add, ld, st, tid


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


compiled = double[(1,)](torch.zeros(100, device="cuda"), 100, BLOCK=128, num_ctas=2, maxnreg=40)
ptx = compiled.asm["ptx"]
assert ".reqntid 256" in ptx and ".maxnreg 40" in ptx
assert ".target sm_90a" in ptx and "ld.global" in ptx and "st.global" in ptx and ".visible .entry" in ptx
assert "ptx" in compiled.asm and "cubin" in compiled.asm and isinstance(compiled.asm["obj"], bytes)
assert compiled.asm["asm"] != ptx
assert dict(compiled.asm).keys() >= {"source", "ptx", "obj"}  # without an assembler, too


@triton.jit
def count(x, y):
    old = atomic_add(x + tid(0), 1, scope="sys", semantic="acq_rel")
    st(y + tid(0), old + ld(y + tid(0), scope="gpu", semantic="acquire"), scope="gpu", semantic="release")


words = {torch.int32: "s32", torch.uint32: "u32", torch.uint64: "u64"}
for dtype, word in words.items():
    x, y = torch.zeros((2, 64), dtype=dtype, device="cuda")
    ptx = count[(1,)](x, y, num_warps=2).asm["ptx"]
    assert x.tolist() == [1] * 64 and f"atom.acq_rel.sys.global.add.{word}" in ptx
    assert f"ld.global.acquire.gpu.b{word[1:]}" in ptx and f"st.release.gpu.global.b{word[1:]}" in ptx
os.environ["SHOAL_PTXAS"] = "/nowhere"
try:
    compiled.asm["cubin"]
except Exception as error:
    assert "running /nowhere" in str(error), error
else:
    raise AssertionError("an assembler that is not there")


@core.extern
def on_cuda(_semantic=None):
    if _semantic.builder.options.backend_name == "cuda":
        return tl.inline_asm_elementwise("mov.u32 $0, 12;", "=r", [], tl.int32, True, 1, _semantic=_semantic)
    else:
        tl.static_assert(False, "only CUDA", _semantic=_semantic)


@triton.jit
def ask(out):
    tl.store(out, on_cuda())


out = torch.zeros(1, dtype=torch.int32, device="cuda")
assert "st.global" in ask[(1,)](out).asm["ptx"] and out.tolist() == [12]
"""


def test_kernels_have_the_ptx_of_the_gpu_that_is_played(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], FORMS, tmp_path)


def test_moving_between_cpu_and_cuda_copies(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], COPIES, tmp_path)


COMPILED = """
import torch

def traced(x):
    assert x.is_cuda
    return torch.softmax(x.to("cuda") * torch.full((), 2.0, device="cuda"), -1).cuda()

def careful(x):
    if not (x.is_cuda and x.device.type == "cuda"):
        raise ValueError("x must be on a GPU")
    return x + torch.ones(64, device=x.device).to(x.device)

def placed(x):
    with torch.cuda.device(x.device.index):
        return x + torch.cuda.current_device()

def placed_by_index(x):
    with torch.accelerator.device_index(x.device.index):
        return x * 2

x = torch.randn(8, 64, device="cuda")
for function in (traced, careful, placed, placed_by_index):
    assert torch.allclose(torch.compile(function, backend="eager", fullgraph=True)(x), function(x))
"""


def test_torchs_compiler_traces_the_cpu(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], COMPILED, tmp_path)


OPERATORS = """
import warnings
import torch

warnings.simplefilter("error")
SCHEMA = "(Tensor x) -> Tensor"
library = torch.library.Library("shoal_test", "DEF")
for name in ("named", "made", "both", "reversed"):
    library.define(name + SCHEMA)
library.impl("named", lambda x: x + 1, "CUDA")
for_cuda = torch.library.Library("shoal_test", "IMPL", "CUDA")
for_cuda.impl("made", lambda x: x + 2)
library.impl("both", lambda x: x + 9, "CPU")
library.impl("both", lambda x: x + 3, dispatch_key="CUDA")
library.impl("reversed", lambda x: x + 4, "CUDA")
library.impl("reversed", lambda x: x + 9, "CPU")


@torch.library.custom_op("shoal_test::custom", mutates_args=(), device_types="cuda")
def custom(x: torch.Tensor) -> torch.Tensor:
    return x + 5


x, ops = torch.zeros(1, device="cuda"), torch.ops.shoal_test
found = [f(x).item() for f in (ops.named, ops.made, ops.both, ops.reversed, custom)]
assert found == [1.0, 2.0, 3.0, 4.0, 5.0], found
"""


REPLACED = """
import warnings
import torch

warnings.simplefilter("error")
calls = []


def absolute(x):
    calls.append("abs")
    assert x.is_cuda
    return torch.where(x < 0, -x, x)


def added(keys, x, y, alpha=1):
    calls.append("add")
    return torch.sub(x, y, alpha=-alpha)


x, on_cpu = torch.tensor([-1.0, 2.0], device="cuda", requires_grad=True), torch.tensor([-3.0])
library = torch.library.Library("aten", "IMPL")
library.impl("abs", absolute, "CUDA")
library.impl("add.Tensor", added, "CUDA", with_keyset=True)
assert torch.abs(x).tolist() == [1.0, 2.0] and (x + 1).tolist() == [0.0, 3.0] and calls == ["abs", "add"], calls
torch.abs(x).sum().backward()
assert x.grad.tolist() == [-1.0, 1.0]
calls.clear()
assert torch.abs(on_cpu).item() == 3.0 and (on_cpu + on_cpu).item() == -6.0 and not calls, calls
library._destroy()
assert torch.abs(x).tolist() == [1.0, 2.0] and not calls, calls
"""


def test_operators_of_torch_replaced_for_cuda(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], REPLACED, tmp_path)


def test_operators_registered_for_cuda(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], OPERATORS, tmp_path)


def test_nothing_happens_unless_asked(tmp_path):
    code = "import torch, triton, shoal.torch\nassert not (torch.zeros(1).is_cuda or shoal.torch.is_cuda_as_cpu())"
    assert "played" not in run([sys.executable, "-m", "shoal.triton"], code, tmp_path)


SPAWN = """
import torch
import torch.multiprocessing as mp

def child(rank):
    assert torch.zeros(2, device=f"cuda:{rank}").is_cuda

if __name__ == "__main__":
    mp.spawn(child, nprocs=1)
"""


def test_processes_that_a_program_starts(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], SPAWN, tmp_path)


RANKS = """
import os
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import triton
import triton.language as tl

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{local_rank}")
torch.cuda.set_device(device)
assert torch.cuda.device_count() == 2
dist.init_process_group("nccl", device_id=device)
group = dist.new_group(backend="nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()
x = torch.full((4,), float(rank), device=device)
dist.all_reduce(x, op=dist.ReduceOp.AVG)
assert x.tolist() == [(world_size - 1) / 2] * 4
out = torch.empty(world_size, device=device)
dist.all_gather_into_tensor(out, torch.full((1,), float(rank), device=device), group=group)
assert out.tolist() == list(range(world_size))
dist.reduce_scatter_tensor(torch.empty(1, device=device), out)
short = torch.full((world_size,), rank + 1.5, device=device).to(torch.float8_e4m3fn)
parts = [torch.zeros_like(short) for _ in range(world_size)]
dist.all_gather(parts, short, group=group)
assert [part.float().tolist() for part in parts] == [[i + 1.5] * world_size for i in range(world_size)]
mixed = torch.zeros_like(short)
dist.all_to_all_single(mixed, short)
assert mixed.float().tolist() == [i + 1.5 for i in range(world_size)]
functional = torch.ops._c10d_functional
ahead = functional.wait_tensor(functional.all_gather_into_tensor(short, world_size, dist.group.WORLD.group_name))
assert ahead.dtype == short.dtype and torch.equal(ahead.float(), torch.cat(parts).float())
taken = functional.wait_tensor(functional.all_to_all_single(short, [1] * world_size, [1] * world_size, "0"))
assert taken.float().tolist() == mixed.float().tolist()
dist.broadcast(short, 0)
assert short.float().tolist() == [1.5] * world_size
if rank == 0:
    dist.send(short, 1)
elif rank == 1:
    dist.recv(mixed, 0)
    assert mixed.float().tolist() == [1.5] * world_size
dist.barrier(device_ids=[local_rank])
mesh = dist.init_device_mesh("cuda", (world_size,))
assert mesh.size() == world_size


@torch.compile(fullgraph=True)
def compiled(x):
    x = torch.ops._c10d_functional.all_reduce(x + 1, "sum", dist.group.WORLD.group_name)
    return torch.ops._c10d_functional.wait_tensor(x)


assert compiled(torch.ones(4, 4, device=device)).eq(2 * world_size).all()


@triton.jit
def meet(pads, block, rank: tl.constexpr, ranks: tl.constexpr):
    pads = pads.to(tl.pointer_type(tl.uint64))
    for peer in tl.static_range(ranks):
        slot = tl.load(pads + peer).to(tl.pointer_type(tl.uint32)) + block * ranks + rank
        while tl.atomic_cas(slot, 0, 1, sem="release", scope="sys") != 0:
            pass
    own = tl.load(pads + rank).to(tl.pointer_type(tl.uint32)) + block * ranks
    for peer in tl.static_range(ranks):
        while tl.atomic_cas(own + peer, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@triton.jit
def one_shot_all_reduce(buffers, pads, out, n, rank: tl.constexpr, ranks: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    meet(pads, pid, rank, ranks)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(ranks):
        total += tl.load(buffers[i] + at, mask=at < n).to(tl.float32)
    tl.store(out + at, total, mask=at < n)
    meet(pads, pid, rank, ranks)


large = symm_mem.empty(2 << 30, dtype=torch.uint8, device=device)
large[-1] = 5
assert large.numel() == 2 << 30 and int(large[-1]) == 5
del large
shared = symm_mem.empty((1000,), dtype=torch.bfloat16, device=device)
handle = symm_mem.rendezvous(shared, group=dist.group.WORLD)
shared.normal_()
buffers = tuple(handle.get_buffer(i, tuple(shared.shape), shared.dtype) for i in range(handle.world_size))
out = torch.full((1000,), float("nan"), device=device)
one_shot_all_reduce[(8,)](
    buffers, handle.signal_pad_ptrs_dev, out, 1000, handle.rank, handle.world_size, BLOCK=128, num_warps=32
)
everything = [torch.empty_like(shared) for _ in range(world_size)]
dist.all_gather(everything, shared)
torch.testing.assert_close(out, torch.stack(everything).double().sum(0).float())
backend = symm_mem._get_backend_stream(priority=-1)
with torch.cuda.stream(backend):
    handle.barrier()
progress = torch.zeros(world_size, dtype=torch.uint32, device=device)
handle.stream_write_value32(progress, offset=1, val=1)
assert progress.tolist()[1] == 1
dist.destroy_process_group()
print(f"done {rank}\\n", end="")  # one write: ranks share the pipe
"""


def test_ranks_with_nccl_and_symmetric_memory(tmp_path):
    output = run(torchrun(2), RANKS, tmp_path, "-m", "shoal.triton", "--cuda-as-cpu")
    assert "done 0" in output and "done 1" in output
    assert output.count("CUDA is played by the CPU") == 1, output


SUBGROUPS = """
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch._C._autograd import DeviceType
from torch._C._distributed_c10d import _detect_dma_connectivity, _SymmetricMemory

dist.init_process_group("nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
matrix = _detect_dma_connectivity(DeviceType.CUDA, "nvlink").matrix
assert [sum(row) for row in matrix] == [world_size - 1] * world_size

# The last rank is not in it.
subgroup = dist.new_group(list(range(world_size - 1)))
if rank < world_size - 1:
    assert dist.get_process_group_ranks(subgroup) == list(range(world_size - 1))
    shared = symm_mem.empty(8, device=device).fill_(rank)
    handle = symm_mem.rendezvous(shared, group=subgroup)
    assert handle.world_size == world_size - 1
    handle.barrier()
    peer = (rank + 1) % (world_size - 1)
    assert handle.get_buffer(peer, (8,), torch.float32).eq(peer).all()
    handle.barrier()
assert symm_mem.is_symm_mem_enabled_for_group(dist.group.WORLD.group_name)
assert not symm_mem.is_symm_mem_enabled_for_group("of nobody")

# What is made while a pool of symmetric memory is in use is symmetric memory; what only shows it, and the rest, is not.
ones = torch.ones(16, 16, device=device)
with torch.cuda.use_mem_pool(symm_mem.get_mem_pool(device)):
    product = (ones @ ones).t()
    assert torch.ones(4, device=device).add_(1).sum() == 8
assert symm_mem.is_symm_mem_tensor(product) and product.stride() == (1, 16)
assert not symm_mem.is_symm_mem_tensor(ones) and not symm_mem.is_symm_mem_tensor(ones + 1)
total = torch.ops.symm_mem.one_shot_all_reduce(product.t(), "sum", dist.group.WORLD.group_name)
assert total.eq(16 * world_size).all()
with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
    assert not symm_mem.is_symm_mem_tensor(ones + 1)

words = _SymmetricMemory.empty_strided_p2p((8,), (1,), torch.uint32, device, group_name="0").fill_(0)
_SymmetricMemory.memset32(words, offset=4, val=7, count=2)
assert words.tolist() == [0, 0, 0, 0, 7, 7, 0, 0]
for offset, val, count, of, reason in (
    (0, 1, 1, words.view(2, 4), "a flat, contiguous uint32 tensor"),
    (0, 1, 1, words.view(torch.float32), "a flat, contiguous uint32 tensor"),
    (-1, 1, 1, words, "offset must be greater than or equal to 0"),
    (0, 1 << 32, 1, words, "(uint32_t)"),
    (0, 1, 0, words, "count must be a positive integer"),
    (4, 1, 5, words, "exceeded the numel of the input"),
):
    try:
        _SymmetricMemory.memset32(of, offset=offset, val=val, count=count)
    except RuntimeError as error:
        assert reason in str(error), error
    else:
        raise AssertionError(reason)

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
    ones + 1
assert any(event.key == "aten::add" for event in profile.key_averages())
dist.barrier()
dist.destroy_process_group()
print(f"done {rank}\\n", end="")
"""


def test_groups_pools_words_and_profiles_of_ranks(tmp_path):
    output = run(torchrun(3), SUBGROUPS, tmp_path, "-m", "shoal.triton", "--cuda-as-cpu")
    assert all(f"done {rank}" in output for rank in range(3))
    assert "Failed to record CUDA event" not in output


def test_as_a_plugin_of_pytest(tmp_path):
    test = tmp_path / "test_it.py"
    test.write_text(
        "import pytest, torch, triton, shoal.triton\n"
        "@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU')\n"
        "def test_it():\n"
        "    assert torch.zeros(1, device='cuda').is_cuda and triton is shoal.triton\n"
        "def child(rank):\n"
        "    test_it()\n"
        "def test_children():\n"
        "    torch.multiprocessing.spawn(child, nprocs=1)\n"
        "def test_programs():\n"
        "    import subprocess, sys\n"
        "    says = 'import torch, triton; print(torch.zeros(1).cuda().is_cuda, repr(triton.language.int8))'\n"
        "    done = subprocess.run([sys.executable, '-c', says], capture_output=True, text=True)\n"
        "    assert (done.stdout, done.stderr) == ('True triton.language.int8\\n', '')\n"
        "def test_targets():\n"
        "    target = triton.runtime.driver.active.get_current_target()\n"
        "    assert (target.backend, target.arch, target.warp_size) == ('cuda', 90, 32)\n"
        "    active = triton.runtime.driver.active\n"
        "    assert active.get_device_capability() == (9, 0) and active.get_device_interface() is torch.cuda\n"
        "    active.set_current_device(2)\n"
        "    assert active.get_current_device() == 2 == torch.cuda.current_device()\n"
        "    active.set_current_device(0)\n"
        "    for each in (target, triton.backends.compiler.GPUTarget('cuda', 90, 32)):\n"
        "        assert triton.compiler.make_backend(each).target == each\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "shoal.triton.pytest_plugin", "--cuda-as-cpu", "-q", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr
