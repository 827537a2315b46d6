"""Arrays of every kind and element type, passed without copies."""

from __future__ import annotations

import array
import ctypes

import ml_dtypes
import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal import _native


@shoal.jit
def double(x, out, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    value = sl.load(x + at, mask=at < n)
    sl.store(out + at, value + value, mask=at < n)


@shoal.jit
def copy(x, out, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(out + at, sl.load(x + at, mask=at < n), mask=at < n)


@shoal.jit
def copy_strided(x, out, stride, n, BLOCK: sl.constexpr):
    at = sl.arange(0, BLOCK)
    sl.store(out + at, sl.load(x + at * stride, mask=at < n), mask=at < n)


NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", [1, 37, 256])
def test_numpy_types(dtype, n):
    x = np.arange(n).astype(dtype)
    out = np.zeros(n, dtype)
    double[(shoal.cdiv(n, 64),)](x, out, n, BLOCK=64)
    np.testing.assert_array_equal(out, x + x)


def test_numpy_bool():
    x = np.array([True, False, True, True])
    out = np.zeros(4, bool)
    copy[(1,)](x, out, 4, BLOCK=4)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_types_of_ml_dtypes(dtype):
    x = np.arange(0, 16, 1).astype(dtype)
    out = np.zeros(16, np.float32)
    copy[(1,)](x, out, 16, BLOCK=16)
    np.testing.assert_array_equal(out, x.astype(np.float32))
    back = np.zeros(16, dtype)
    copy[(1,)](out, back, 16, BLOCK=16)
    np.testing.assert_array_equal(back.astype(np.float32), out)


def test_views_begin_at_their_first_element():
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(10, np.float32)
    copy[(1,)](x[7:], out, 10, BLOCK=16)
    np.testing.assert_array_equal(out, x[7:17])


@pytest.mark.parametrize("stride", [2, 5, -3])
def test_strided_arrays(stride):
    x = np.arange(100, dtype=np.int32)[::stride]
    out = np.zeros(20, np.int32)
    copy_strided[(1,)](x, out, stride, 20, BLOCK=32)
    np.testing.assert_array_equal(out, x[:20])
    out[:] = 0
    copy_strided[(1,)](x, out, stride, 20, BLOCK=32, debug=True)
    np.testing.assert_array_equal(out, x[:20])


def test_results_are_written_in_place():
    x = np.ones(8, np.float32)
    alias = x[:]
    double[(1,)](x, x, 8, BLOCK=8)
    np.testing.assert_array_equal(alias, np.full(8, 2, np.float32))


def test_memory_mapped_and_subclassed_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "data", np.float32, "w+", shape=(16,))
    mapped[:] = np.arange(16)
    out = np.zeros(16, np.float32).view(np.recarray).view(np.ndarray)
    copy[(1,)](mapped, out, 16, BLOCK=16)
    np.testing.assert_array_equal(out, np.arange(16, dtype=np.float32))


def test_read_only_arrays_are_read():
    x = np.arange(8, dtype=np.float32)
    x.flags.writeable = False
    out = np.zeros(8, np.float32)
    copy[(1,)](x, out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: Dlpack(x), lambda x: Interface(x)])
def test_read_only_arrays_are_not_written(wrap):
    x, out = np.zeros(8, np.float32), np.zeros(8, np.float32)
    out.flags.writeable = False
    with pytest.raises(shoal.CompilationError, match="`out` was passed as an array that is read-only"):
        copy[(1,)](x, wrap(out), 8, BLOCK=8)
    copy[(1,)](wrap(out), x, 8, BLOCK=8)


@pytest.mark.parametrize("value", [np.complex64(0), np.datetime64("2026-01-01"), "text", object()])
def test_other_element_types_are_refused(value):
    with pytest.raises(TypeError, match="kernels have no element type"):
        copy[(1,)](np.array([value]), np.zeros(1, np.float32), 1, BLOCK=1)


def test_other_byte_orders_are_refused():
    with pytest.raises(TypeError, match="swap its bytes"):
        copy[(1,)](np.zeros(4, ">f4"), np.zeros(4, np.float32), 4, BLOCK=4)


class Dlpack:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, base, device=None):
        self.base, self.device_type = base, device

    def __dlpack__(self, **named):
        return self.base.__dlpack__(**named)

    def __dlpack_device__(self):
        return (self.device_type, 0) if self.device_type else self.base.__dlpack_device__()


class OldDlpack(Dlpack):
    """The same, from before `max_version`."""

    def __dlpack__(self, stream=None):
        return self.base.__dlpack__()


@pytest.mark.parametrize("kind", [Dlpack, OldDlpack])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "uint8", "bool"])
def test_dlpack(kind, dtype):
    x = np.arange(12).astype(dtype)
    out = np.zeros(12, dtype)
    copy[(1,)](kind(x), kind(out), 12, BLOCK=16)
    np.testing.assert_array_equal(out, x)


def test_dlpack_of_a_read_only_array():
    x = np.arange(4, dtype=np.float32)
    x.flags.writeable = False
    out = np.zeros(4, np.float32)
    copy[(1,)](Dlpack(x), out, 4, BLOCK=4)
    np.testing.assert_array_equal(out, x)


def test_dlpack_of_another_device_is_refused():
    with pytest.raises(ValueError, match="neither in the CPU's memory nor in that of an NVIDIA GPU"):
        copy[(1,)](Dlpack(np.zeros(4, np.float32), device=10), np.zeros(4, np.float32), 4, BLOCK=4)


class Interface:
    """An array that speaks NumPy's array interface and nothing else."""

    def __init__(self, base):
        self.__array_interface__ = base.__array_interface__
        self.base = base


def test_array_interface():
    x, out = np.arange(9, dtype=np.int64), np.zeros(9, np.int64)
    copy[(1,)](Interface(x), Interface(out), 9, BLOCK=16)
    np.testing.assert_array_equal(out, x)


class Tensor:
    """What Triton asks of a tensor."""

    def __init__(self, base, dtype, device="cpu"):
        self.base, self.dtype, self.device, self.shape = base, dtype, device, base.shape

    def data_ptr(self):
        return self.base.ctypes.data


@pytest.mark.parametrize("dtype", ["float32", "torch.float32", sl.float32, np.float32, np.dtype("float32")])
def test_objects_with_data_ptr(dtype):
    x, out = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    copy[(1,)](Tensor(x, dtype), Tensor(out, dtype), 9, BLOCK=16)
    np.testing.assert_array_equal(out, x)


def test_objects_with_data_ptr_elsewhere_are_refused():
    x = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="on the device `xpu:0`"):
        copy[(1,)](Tensor(x, "float32", "xpu:0"), x, 4, BLOCK=4)
    with pytest.raises(ValueError, match="some arrays are in the memory of GPU 0 and some in that of the CPU"):
        copy[(1,)](Tensor(x, "float32", "cuda:0"), x, 4, BLOCK=4)


@pytest.mark.skipif(_native.cuda_device_count() > 0, reason="there is a GPU")
def test_without_a_gpu_its_arrays_are_refused():
    x = np.zeros(4, np.float32)
    with pytest.raises(RuntimeError, match="no CUDA driver|no GPU"):
        copy[(1,)](Tensor(x, "float32", "cuda:0"), Tensor(x, "float32", "cuda:0"), 4, BLOCK=4)
    with pytest.raises(RuntimeError, match="no CUDA driver|no GPU"):
        shoal.device("cuda")
    with pytest.raises(ValueError, match="there is no device `abacus`"):
        shoal.device("abacus")


def test_the_default_device_can_be_chosen():
    x, out = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    with shoal.device("interp"):
        assert shoal.device.current() == "interp"
        copy[(1,)](x, out, 9, BLOCK=16)
    assert shoal.device.current() == "cpu"
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("letter", ["b", "h", "i", "q", "B", "H", "I", "Q", "f", "d"])
def test_arrays_of_the_standard_library(letter):
    x, out = array.array(letter, range(7)), array.array(letter, [0] * 7)
    double[(1,)](x, out, 7, BLOCK=8)
    assert list(out) == [2 * value for value in x]


def test_buffers():
    data = bytearray(range(8))
    out = (ctypes.c_uint8 * 8)()
    copy[(1,)](memoryview(data), out, 8, BLOCK=8)
    assert list(out) == list(range(8))
    with pytest.raises(TypeError, match="read-only"):
        copy[(1,)](b"12345678", out, 8, BLOCK=8)


def test_reinterpreted_memory():
    x = np.arange(16, dtype=np.int8)
    out = np.zeros(16, np.float32)
    copy[(1,)](shoal.reinterpret(x, sl.float8e5), out, 16, BLOCK=16)
    np.testing.assert_array_equal(out, x.view(ml_dtypes.float8_e5m2).astype(np.float32))
    assert shoal.reinterpret(shoal.reinterpret(x, sl.float8e5), x.dtype) is x


@shoal.jit
def transposed_block(source, target, BLOCK: sl.constexpr):
    target.store([0, 0], sl.trans(source.load([0, 0])))


def test_descriptors():
    from shoal.tools.tensor_descriptor import TensorDescriptor

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    out = np.zeros_like(x)
    source, target = (TensorDescriptor.from_tensor(each, [8, 8]) for each in (x, out))
    transposed_block[(1,)](source, target, BLOCK=8)
    np.testing.assert_array_equal(out, x.T)


def test_wrong_descriptors_say_what_is_wrong():
    from shoal.tools.tensor_descriptor import TensorDescriptor

    x = np.zeros((8, 8), np.float32)
    with pytest.raises(ValueError, match="Last dimension must be contiguous"):
        TensorDescriptor.from_tensor(x.T, [8, 8])
    with pytest.raises(ValueError, match="Shape element 1 must be a power of 2: the block has 3"):
        TensorDescriptor.from_tensor(x, [8, 3], round_f32_to_tf32=True)
    with pytest.raises(ValueError, match="needs 128 elements"):
        transposed_block[(1,)](TensorDescriptor(x, [16, 8], [8, 1], [8, 8]), x, BLOCK=8)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "float16", "uint8", "bool"])
def test_torch_tensors(dtype):
    torch = pytest.importorskip("torch")
    x = torch.arange(10).to(getattr(torch, dtype))
    out = torch.zeros(10, dtype=getattr(torch, dtype))
    copy[(1,)](x, out, 10, BLOCK=16)
    assert torch.equal(out, x)


@pytest.mark.torch
def test_torch_parameters_and_views():
    torch = pytest.importorskip("torch")
    x = torch.nn.Parameter(torch.arange(20, dtype=torch.float32))
    out = torch.zeros(5)
    copy_strided[(1,)](x[2::3], out, 3, 5, BLOCK=8, debug=True)
    assert torch.equal(out, x.detach()[2::3][:5])
    with pytest.raises(ValueError, match="on the device `meta`"):
        copy[(1,)](torch.zeros(4, device="meta"), out, 4, BLOCK=4)


@pytest.mark.torch
def test_torch_types_in_warmup():
    torch = pytest.importorskip("torch")
    compiled = copy.warmup(torch.float16, torch.float32, 64, BLOCK=64, grid=(1,))
    assert compiled.signature["x"] == "*fp16:16" and compiled.signature["out"] == "*fp32:16"


@pytest.mark.torch
def test_torch_tensors_without_memory():
    torch = pytest.importorskip("torch")
    out = torch.full((4,), 7.0)
    freed = torch.zeros(4)
    (freed.untyped_storage() if hasattr(freed, "untyped_storage") else freed.storage()).resize_(0)
    with pytest.raises(TypeError, match="the tensor passed for `x` has elements but no memory"):
        copy[(1,)](freed, out, 4, BLOCK=4)
    copy[(1,)](torch.empty(0), out, 0, BLOCK=4)
    assert torch.equal(out, torch.full((4,), 7.0))
    copy.warmup(freed, out, 4, BLOCK=4, grid=(1,))


@shoal.jit
def first(pair, out, HELD: sl.constexpr):
    sl.store(out, pair[0])


def test_arguments_that_contain_themselves():
    out = np.zeros(1, np.int32)
    endless = [1]
    endless.append(endless)
    with pytest.raises(RecursionError, match="argument of a kernel"):
        first[(1,)](endless, out, 0)
    with pytest.raises(RecursionError, match="argument of a kernel"):
        first[(1,)]((1,), out, endless)
    nested = 1
    for _ in range(100):
        nested = (nested,)
    with pytest.raises((TypeError, ValueError), match="nested more than 64 deep"):
        first[(1,)](nested, out, 0)
    first[(1,)]((5,), out, 0)
    assert out[0] == 5
