"""What public kernels take from Triton's modules, and what its tests import."""

import sys
import types

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal.backends.compiler import BaseBackend
from shoal.runtime.jit import MockTensor
from shoal.triton import _internal_testing, _processes
from shoal.triton._C.libtriton import native_specialize_impl


def annotated(**types):
    """A decorator that declares types of parameters."""

    def decorate(function):
        function.__annotations__.update(types)
        return function

    return decorate


def test_annotations_that_a_decorator_adds_fix_types():
    @shoal.jit
    @annotated(value=tl.float16, N=tl.constexpr)
    def kernel(out, value, N):
        tl.static_assert(value.dtype == tl.float16)
        tl.static_assert(N == 2)
        tl.store(out, value * N)

    out = np.zeros(1, np.float32)
    assert kernel[(1,)](out, 1.5, 2).signature["value"] == "fp16"
    assert out[0] == 3


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "float16"])
def test_annotations_that_are_texts_fix_types(dtype):
    @shoal.jit
    @annotated(value=f"tl.{dtype}", source="const *fp32")
    def kernel(out, source, value):
        tl.store(out, value + tl.load(source))

    out = np.zeros(1, np.float32)
    made = kernel[(1,)](out, np.ones(1, np.float32), 3)
    assert made.signature["value"].split(":")[0] == getattr(tl, dtype).mangle()
    assert made.signature["source"].startswith("*kfp32") and out[0] == 4
    assert [param.annotation_type for param in kernel.params[1:]] == ["*kfp32", getattr(tl, dtype).mangle()]


def test_names_of_inner_modules_work_in_kernels():
    @shoal.jit
    def kernel(out, DTYPE: tl.constexpr, N: tl.constexpr):
        tl.static_assert(DTYPE.value.is_floating())
        tl.static_assert(tl.core._unwrap_if_constexpr(N) == 4)
        tl.static_assert(tl.core.get_primitive_bitwidth(DTYPE) == 16)
        signed: tl.constexpr = tl.core.get_int_dtype(bitwidth=16, signed=True)
        tl.static_assert(signed == tl.int16)
        x = tl.arange(0, 8)
        value, index = tl.reduce((x % 5, x), 0, tl.standard._argmax_combine_tie_break_left)
        tl.store(out, value)
        tl.store(out + 1, index + tl.core.CONSTEXPR_0)

    out = np.zeros(2, np.int32)
    kernel[(1,)](out, tl.float16, 4)
    assert out.tolist() == [4, 4]


@pytest.mark.parametrize("order", [0, 1])
def test_steps_of_a_bitonic_network(order):
    @shoal.jit
    def kernel(x, out, N: tl.constexpr, STAGES: tl.constexpr, ORDER: tl.constexpr):
        values = tl.load(x + tl.arange(0, N))
        for i in tl.static_range(1, STAGES + 1):
            values = tl.standard._bitonic_merge(values, i, 2 if i < STAGES else ORDER, STAGES)
        tl.store(out + tl.arange(0, N), values)

    x = np.random.default_rng(0).integers(-99, 99, 32).astype(np.int32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, N=32, STAGES=5, ORDER=order)
    np.testing.assert_array_equal(out, np.sort(x)[:: -1 if order else 1])


def test_none_indexes_scalars_and_conditions_choose_pointers():
    @shoal.jit
    def kernel(a, b, out, n):
        row = n[None, None]
        tl.static_assert(row.shape[0] == 1 and row.shape[1] == 1)
        tl.store(out, tl.load(tl.where(n > 3, a, b)))
        tl.store(out + 1 + tl.arange(0, 2), tl.load(tl.where(tl.arange(0, 2) > 0, a, b)))

    out = np.zeros(3, np.float32)
    kernel[(1,)](np.ones(1, np.float32), np.full(1, 2, np.float32), out, 5)
    assert out.tolist() == [1, 2, 1]


def test_what_is_compiled_in_of_arguments():
    def specialised(arg, *, const=False, value=True, align=True):
        return native_specialize_impl(BaseBackend, arg, const, value, align)

    assert specialised(None) == ("constexpr", None)
    assert specialised(True) == ("u1", None)
    assert specialised(1) == ("constexpr", 1) and specialised(1, value=False) == ("i32", None)
    assert specialised(32) == ("i32", "D") and specialised(33) == ("i32", "")
    assert specialised(2**40)[0] == "i64" and specialised(2**63)[0] == "u64" and specialised(-1)[0] == "i32"
    assert specialised(1.5) == ("fp32", None)
    assert specialised(MockTensor(tl.float16)) == ("*fp16", "D")
    assert specialised(MockTensor(tl.float16), const=True)[0] == "*kfp16"
    assert specialised((1, 7)) == (("constexpr", "i32"), (1, ""))
    with pytest.raises(OverflowError):
        specialised(2**64)
    with pytest.raises(TypeError, match="failed to specialize"):
        specialised(object())


def test_inner_names_are_found_where_the_drop_in_is_installed():
    import shoal.runtime.jit
    from shoal.triton import _inner_names, install, uninstall

    assert not hasattr(shoal.runtime.jit, "mangle_type")
    install()
    try:
        from triton.runtime.jit import compute_cache_key, find_paths_if, mangle_type

        assert [mangle_type(arg) for arg in (1, 2**40, 1.5, True)] == ["i32", "i64", "fp32", "u1"]
        assert mangle_type(1, specialize=True) == "constexpr"
        assert mangle_type(MockTensor(tl.float16)) == "*fp16"
        assert find_paths_if((1, ("a", 2)), lambda path, item: item != "a") == [(0,), (1, 1)]
        remembered = {}
        key = compute_cache_key(remembered, [("i32", "D")], {"num_warps": 4})
        assert remembered == {((("i32", "D"),), "{'num_warps': 4}"): key}
        normalize = __import__("triton.runtime.jit", fromlist=["_normalize_ty"])._normalize_ty
        assert [
            normalize(ty) for ty in (tl.uint8, "tl.int16", "const *fp32", "fp32*", tl.pointer_type(tl.int8), int)
        ] == [
            "u8",
            "i16",
            "*kfp32",
            "*fp32",
            "*i8",
            "i32",
        ]
        for tail in {*_inner_names._FOUND, *_inner_names._REFUSED}:
            module = __import__(f"triton.{tail}", fromlist=["_"])
            for name in _inner_names.names(tail):
                assert getattr(module, name) is not None, (tail, name)
    finally:
        uninstall()
    assert not hasattr(shoal.runtime.jit, "mangle_type")


def test_names_of_the_backend_for_nvidia(monkeypatch, tmp_path):
    from shoal.triton import install, uninstall

    install()
    try:
        from triton.backends.nvidia.compiler import CUDABackend, get_ptxas, min_dot_size, sm_arch_from_capability
        from triton.backends.nvidia.driver import CudaDriver, libcuda_dirs, library_dirs, ty_to_cpp
    finally:
        uninstall()
    assert CUDABackend is shoal.backends.backends["nvidia"].compiler
    assert CudaDriver is shoal.backends.backends["nvidia"].driver
    assert [sm_arch_from_capability(80), sm_arch_from_capability(90)] == ["sm_80", "sm_90a"]
    smallest = min_dot_size(None)
    assert [smallest(tl.float16, tl.bfloat16), smallest(tl.int8, tl.float8e5)] == [(1, 1, 16), (1, 1, 32)]
    tools = types.SimpleNamespace(ptxas="older", ptxas_blackwell="newer")
    monkeypatch.setattr(sys.modules[get_ptxas.__module__], "knobs", types.SimpleNamespace(nvidia=tools))
    assert [get_ptxas(90), get_ptxas(100)] == ["older", "newer"]
    assert [ty_to_cpp("i32"), ty_to_cpp("*fp32")] == ["int32_t", "CUdeviceptr"]
    (tmp_path / "libcuda.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert str(tmp_path) in library_dirs()
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/somewhere")
    assert libcuda_dirs() == ["/somewhere"]


def test_truth_values_by_every_name():
    @shoal.jit
    def kernel(a: "tl.uint1", b: "u1", c: "i1"):  # noqa: F821
        tl.static_assert(a.dtype == tl.int1 and b.dtype == tl.int1 and c.dtype == tl.int1)

    assert set(kernel.warmup(1, 1, 1, grid=(1,)).signature.values()) == {"i1"}


def test_parameters_that_are_floats():
    @shoal.jit
    def kernel(x, half: float):
        tl.static_assert(half.dtype == tl.float32)
        tl.store(x, 3 * half)

    x = np.zeros(1, np.float32)
    kernel[(1,)](x, 1)
    assert x[0] == 3.0 and kernel.params[1].annotation_type == "fp32"


def test_tests_of_the_front_end_compile():
    from shoal.triton import install, uninstall

    install()
    try:
        from triton._filecheck import run_parser

        @shoal.jit
        def kernel(x, N: tl.constexpr):
            tl.static_assert(N == 4)
            tl.store(x, N)

        assert "store" in run_parser(kernel, args=(np.float32, 4)).str_nodebug()
        with pytest.raises(shoal.CompileTimeAssertionFailure):
            run_parser(kernel, args=(np.float32, 5))
    finally:
        uninstall()


def test_parts_of_tritons_compiler_refuse_when_they_are_used():
    from shoal.triton import install, uninstall

    install()
    try:
        from triton._C.libtriton import ir
        from triton._filecheck import filecheck_test
        from triton.compiler.code_generator import CodeGenerator

        class Derived(CodeGenerator):
            """Programs may go as far as this."""

        assert not isinstance(1, CodeGenerator)
        with pytest.raises(NotImplementedError, match="part of Triton's own compiler"):
            Derived()
        with pytest.raises(AttributeError, match=r"triton\._C\.libtriton\.ir\.context"):
            ir.context()
        with pytest.raises(NotImplementedError, match="another"):
            filecheck_test(lambda: None)()
    finally:
        uninstall()


def test_tools_of_nvidia_are_found_with_their_versions(tmp_path, monkeypatch):
    from shoal import knobs

    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.4, V13.4.92'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)
    assert knobs.nvidia.ptxas == knobs.NvidiaTool(str(tool), "13.4")
    with pytest.raises(RuntimeError, match="Cannot find nvdisasm"):
        knobs.nvidia.nvdisasm  # noqa: B018 - asking is what fails
    monkeypatch.setenv("TRITON_NVDISASM_PATH", str(tool))
    assert knobs.nvidia.nvdisasm.path == str(tool)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_descriptors_keep_the_extremes_of_half_floats(device):
    @shoal.jit
    def kernel(least, greatest, x, N: tl.constexpr):
        values = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
        tl.make_tensor_descriptor(least, [N], [1], [N]).atomic_min([0], values)
        tl.make_tensor_descriptor(greatest, [N], [1], [N]).atomic_max([0], values)

    x = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float16)
    least, greatest = np.full(32, np.inf, np.float16), np.full(32, -np.inf, np.float16)
    with shoal.device(device):
        kernel[(16,)](least, greatest, x, 32)
    np.testing.assert_array_equal(least, x.min(0))
    np.testing.assert_array_equal(greatest, x.max(0))


def test_kernels_are_compiled_for_gpus_that_are_not_here():
    from shoal.backends.compiler import GPUTarget

    @shoal.jit
    def kernel(x, out, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out + offsets, tl.load(x + offsets) * 2)

    source = shoal.compiler.ASTSource(kernel, {"x": "*fp32", "out": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
    made = shoal.compile(source, target=GPUTarget("cuda", 100, 32), options={"num_warps": 2})
    assert ".target sm_100a" in made.asm["ptx"] and "obj" not in made.asm
    assert made.metadata.target == GPUTarget("cuda", 100, 32) and made.metadata.num_warps == 2
    assert made.metadata.shared == 0 and made.metadata.warp_size == 32
    options = {"num_warps": 4, "num_ctas": 4, "maxnreg": 40}
    cluster = shoal.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert ".reqntid 512" in cluster.asm["ptx"] and ".maxnreg 40" in cluster.asm["ptx"]
    assert cluster.metadata.num_ctas == 4 and cluster.metadata.num_warps == 16
    assert cluster.packed_metadata == (16, 1, 0, 1, 1, 1)
    with pytest.raises(RuntimeError, match="code for sm_100a, and there is no such machine here"):
        made[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float32), 64)
    with pytest.raises(shoal.errors.ShoalError, match="there is no target `sm_71`"):
        shoal.compile(source, target=GPUTarget("cuda", 71, 32))


def fail():
    import os

    os.write(2, b"from below")
    raise ValueError("as wanted")


def succeed(x, *, y):
    assert x + y == 3


def test_functions_run_in_processes_of_their_own():
    result = _internal_testing.run_in_process(succeed, (1,), {"y": 2})
    assert result.exc is None and result.driver_stderr_output == ""
    result = _internal_testing.run_in_process(fail)
    assert isinstance(result.exc, ValueError) and result.driver_stderr_output == "from below"
    with _internal_testing.use_process_pool("json") as pool:
        assert pool is _processes._pool
        for _ in range(2):
            assert isinstance(_internal_testing.run_in_process(fail).exc, ValueError)
            assert _internal_testing.run_in_process(succeed, (1,), {"y": 2}).exc is None
    assert not _internal_testing.is_compile_warmup()


def test_modules_are_built_from_c(tmp_path, monkeypatch):
    import shutil

    from shoal.triton.runtime import build

    if shutil.which("gcc") is None and shutil.which("clang") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    path = build.compile_so_from_src("int answer(void) { return 42; }", "answer")
    import ctypes

    assert ctypes.CDLL(path).answer() == 42
    assert build.compile_so_from_src("int answer(void) { return 42; }", "answer") == path


def test_num_warps_must_be_a_power_of_two():
    @shoal.jit
    def kernel(out):
        tl.store(out, 1)

    with pytest.raises(AssertionError, match="num_warps must be a power of 2"):
        kernel[(1,)](np.zeros(1), num_warps=3)


def test_floats_are_printed_in_hexadecimal(capfd):
    @shoal.jit
    def kernel(x):
        tl.device_print("x", tl.load(x + tl.arange(0, 2)), hex=True)

    kernel[(1,)](np.array([1.5, -2.5], np.float32))
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["0x3fc00000", "0xc0200000"]
