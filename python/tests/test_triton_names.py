"""What public kernels take from Triton's modules, and what its tests import."""

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
