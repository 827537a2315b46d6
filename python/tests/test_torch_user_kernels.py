"""Kernels that a program launches in what `torch.compile` compiles."""

import importlib
import shutil
import sys
from types import SimpleNamespace

import pytest
from distributed import run

from shoal.torch._tuned_on_copies import tune_on_copies

pytestmark = pytest.mark.torch

KERNELS = """
import torch
import triton
import triton.language as tl
from triton.language.extra.libdevice import fast_dividef as divide

integer_type = triton.constexpr_function(tl.core.get_int_dtype)
ONE: tl.constexpr = tl.constexpr(1)


@triton.jit
def put(o, at, value, mask):
    tl.store(o + at, value, mask=mask)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    put(o, at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask)


@triton.jit
def count(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum((tl.load(x + at, mask=at < n, other=0.0) > 0).to(tl.int32)) * ONE)


@triton.jit
def half_bits(x, unused, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = divide(tl.load(x + at, mask=at < n), 2.0)
    if unused is None:
        put(o, at, value.to(integer_type(bitwidth=value.dtype.primitive_bitwidth, signed=True), bitcast=True), at < n)
"""

ACCESSES = (
    KERNELS
    + """


@triton.autotune([triton.Config({"FIRST": True}), triton.Config({"FIRST": False})], key=[])
@triton.jit
def either(x, y, z, FIRST: tl.constexpr):
    tl.store(x if FIRST else y, tl.load(z))


from torch._higher_order_ops.triton_kernel_wrap import identify_accessed_tensors


def written(kernel, **values):
    accesses = identify_accessed_tensors(kernel, values, {}).read_writes
    assert {dep.name for dep in accesses.reads} == {name for name, v in values.items() if isinstance(v, torch.Tensor)}
    return {dep.name for dep in accesses.writes}


f, i = torch.zeros(4), torch.zeros(1, dtype=torch.int32)
assert written(add, x=f, y=f, o=f, n=4) == {"o"}
assert written(count, x=f, total=i, n=4, BLOCK=4) == {"total"}
assert written(either, x=f, y=f, z=f) == {"x", "y"}
"""
)

COMPILED = (
    KERNELS
    + """


def program(x, y):
    n = x.numel()
    o = torch.empty_like(x)
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, o, n)
    total = torch.zeros(1, dtype=torch.int32, device="cuda")
    count[(triton.cdiv(n, 64),)](o, total, n, BLOCK=64)
    bits = torch.empty_like(o, dtype=torch.int32)
    half_bits[(triton.cdiv(n, 64),)](o, None, bits, n, BLOCK=64)
    return o, total, bits


if __name__ == "__main__":
    backend = BACKEND
    if backend == "shoal":
        import shoal.torch
    else:
        # Its worker processes have another Triton.
        from torch._inductor.async_compile import AsyncCompile

        AsyncCompile.wakeup()
        AsyncCompile.wait_pool_ready(120)
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)
        for n in (200, 300):
            x, y = torch.randn(n, device="cuda", requires_grad=True), torch.randn(n, device="cuda")
            before = x.detach().clone(), y.clone()
            with torch.no_grad():
                o, total, bits = compiled(x, y)
            assert torch.equal(o, x + y) and total.item() == (o > 0).sum().item()
            assert torch.equal(bits, (o / 2).view(torch.int32))
            assert torch.equal(x, before[0]) and torch.equal(y, before[1])
"""
)

IN_PLACE = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def double(x, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


# Only one of them writes `launches`.
@triton.autotune([triton.Config({"COUNT": False}), triton.Config({"COUNT": True})], key=["n"])
@triton.jit
def counted(o, launches, n, COUNT: tl.constexpr):
    tl.store(o, n)
    if COUNT:
        tl.atomic_add(launches, 1)


def program(x):
    y = x + 1
    double[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](y, y, y.numel())
    launches = torch.zeros(1, dtype=torch.int32)
    o = torch.empty_like(launches)
    counted[(1,)](o, launches, y.numel())
    return y, o, launches


torch._inductor.config.force_disable_caches = True
x = torch.arange(200.0)
y, o, launches = torch.compile(program, backend="BACKEND", fullgraph=True)(x)
torch.testing.assert_close(y, 2 * (x + 1))
assert o.item() == 200 and launches.item() in (0, 1), (o, launches)
"""

PACKED = """
import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton


# Named as C's type.
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def double(x, unused, o, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, factor * tl.load(x + at, mask=at < n), mask=at < n)


@triton_op("shoal_test::double", mutates_args={})
def double_op(x: torch.Tensor, factor: float) -> torch.Tensor:
    o = torch.empty_like(x)
    n = x.numel()
    wrap_triton(double)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, None, o, factor, n)
    return o


class Program(torch.nn.Module):
    def forward(self, x):
        return double_op(x + 1, 2.5)


if __name__ == "__main__":
    dim = torch.export.Dim("dim", min=2, max=4096)
    program = torch.export.export(Program(), (torch.randn(20, 30),), dynamic_shapes=({0: dim},))
    torch._inductor.aoti_compile_and_package(program, package_path="packed.pt2")
"""

LOADED = """
import sys
import torch

packed = torch._inductor.aoti_load_package("packed.pt2")
for n in (20, 77):
    x = torch.randn(30 * n + 1)[1:].view(n, 30)
    torch.testing.assert_close(packed(x), 2.5 * (x + 1))
assert "shoal" not in sys.modules
"""

BEFORE = """
import torch
import triton
import triton.language as tl


@triton.jit
def before(x, o):
    tl.store(o, tl.load(x - 1))


def program(x):
    o = torch.empty(1)
    before[(1,)](x, o)
    return o


triton.knobs.runtime.debug = DEBUG
compiled = torch.compile(program, backend="BACKEND", fullgraph=True)
try:
    assert compiled(torch.arange(8.0)[4:]).item() == 3.0
    print("unchecked")
except RuntimeError as error:
    assert "before `x`" in str(error), error
    print("checked")
"""


@pytest.mark.parametrize("backend", ["shoal", "inductor"])
@pytest.mark.parametrize("debug", [False, True])
def test_accesses_are_checked_if_asked_for(tmp_path, backend, debug):
    text = BEFORE.replace("BACKEND", backend).replace("DEBUG", repr(debug))
    output = run([sys.executable, "-m", "shoal.triton"], text, tmp_path)
    assert output.split()[-1] == ("checked" if debug else "unchecked"), output


def test_torch_knows_what_kernels_write(tmp_path):
    output = run([sys.executable, "-m", "shoal.triton"], ACCESSES, tmp_path)
    assert "assuming every input is mutated" not in output, output


@pytest.mark.parametrize("backend", ["shoal", "inductor"])
def test_tuning_leaves_what_kernels_change_in_place(tmp_path, backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("Inductor compiles the rest of the program with a C++ compiler")
    run([sys.executable, "-m", "shoal.triton"], IN_PLACE.replace("BACKEND", backend), tmp_path)


def test_tuning_leaves_functions_of_others():
    def user_autotune(configs, triton_meta, filename=None, inductor_meta=None):
        return lambda function: inductor_meta

    heuristics = SimpleNamespace(user_autotune=user_autotune)
    tune_on_copies(heuristics)
    theirs = {"mutated_arg_names": ["o"]}
    assert heuristics.user_autotune([{}, {}], {}, inductor_meta=theirs)(print) == theirs


@pytest.mark.parametrize("backend", ["shoal", "inductor"])
def test_kernels_in_compiled_programs(tmp_path, backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("Inductor compiles the rest of the program with a C++ compiler")
    text = COMPILED.replace("BACKEND", repr(backend))
    output = run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], text, tmp_path)
    assert "assuming every input is mutated" not in output, output


def test_packed_kernels_run_without_shoal(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("AOTInductor compiles the rest of the program with a C++ compiler")
    if not hasattr(importlib.import_module("torch._inductor.compile_fx"), "get_cpp_wrapper_config"):
        pytest.skip("this torch does not pack kernels for CPUs")
    run([sys.executable, "-m", "shoal.triton"], PACKED, tmp_path)
    run([sys.executable], LOADED, tmp_path)
