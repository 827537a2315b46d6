"""`--cuda-as-cpu`: programs that say "cuda" run on the CPU."""

import subprocess
import sys

import pytest
from distributed import run

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
tensors += [
    torch.normal(0.0, 1.0, (3,), device="cuda"),
    torch.zeros(3).type("torch.cuda.HalfTensor"),
    torch.tensor([1]).type(torch.cuda.FloatTensor),
]
assert [tensor.type() for tensor in tensors[-3:-1]] == ["torch.cuda.FloatTensor", "torch.cuda.HalfTensor"]
on_host = [torch.normal(0.0, 1.0, (3,)), tensors[0].type("torch.FloatTensor"), torch.zeros(2).type(torch.float64)]
on_host.append(torch.frombuffer(bytearray(8), dtype=torch.float32))
assert not any(tensor.is_cuda for tensor in on_host) and on_host[0].type() == "torch.FloatTensor"
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
    torch.cuda.reset_accumulated_memory_stats()
    torch.cuda.memory._record_memory_history(max_entries=10)
torch.cuda.default_generators[torch.cuda.current_device()].manual_seed(3)
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
