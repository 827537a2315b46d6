"""Arrays over memory that somebody else owns: NumPy's, or torch's where the element type is one of torch's."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# Types of the language that NumPy calls otherwise.
_NUMPY_NAMES = {
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "bf16": "bfloat16",
    "int1": "bool",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}


@dataclass(frozen=True)
class Layout:
    """Where the elements of an array are."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    itemsize: int
    dtype: Any
    device: Any = None
    """The device of torch, if it is a GPU."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize

    @property
    def is_dense(self) -> bool:
        """Whether the elements follow each other in the order of rows."""
        expected = self.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != expected:
                return self.nbytes == 0
            expected *= size
        return True


def is_torch_dtype(dtype: Any) -> bool:
    """Whether this is an element type of torch."""
    return type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype"


def is_tensor(array: Any) -> bool:
    """Whether this is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def element_type(dtype: Any) -> Any:
    """An element type as torch has it, if it is torch's, else as NumPy has it. `None` is `float32`."""
    if is_torch_dtype(dtype):
        return dtype
    numpy = _numpy()
    if dtype is None:
        return numpy.dtype(numpy.float32)
    name = getattr(dtype, "name", dtype)
    name = _NUMPY_NAMES.get(name, name) if isinstance(name, str) else dtype
    if isinstance(name, str) and (name == "bfloat16" or name.startswith("float8")):
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"NumPy has no `{name}`: install `ml_dtypes`, or pass a dtype of torch") from None
        return numpy.dtype(getattr(ml_dtypes, name))
    found = numpy.dtype(name)
    if found.kind in "OSUMm" or found.names is not None:
        raise TypeError(f"symmetric memory holds numbers, and `{found}` is no type of such")
    return found


def gpu_type(dtype: Any) -> Any:
    """An element type as torch has it, which arrays of a GPU are of. `None` is `float32`."""
    if is_torch_dtype(dtype):
        return dtype
    torch = gpu_torch()
    name = "float32" if dtype is None else getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype
    found = getattr(torch, _NUMPY_NAMES.get(name, name), None) if isinstance(name, str) else None
    if not is_torch_dtype(found):
        raise TypeError(f"arrays of a GPU are tensors of torch, which has no element type `{dtype}`")
    return found


def gpu_torch() -> Any:
    """torch, which arrays of a GPU are tensors of."""
    try:
        import torch
    except ImportError:
        raise ImportError("symmetric memory of a GPU is shown as tensors of torch; install it") from None
    return torch


def named_type(name: str) -> Any:
    """An element type by name: NumPy's, or torch's where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        import torch

        return getattr(torch, name)
    return numpy.dtype(name)


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple of sizes, none of which is negative."""
    given = (shape,) if hasattr(shape, "__index__") else shape
    given = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(hasattr(size, "__index__") for size in given):
        raise TypeError(f"a shape is a whole number or several, not {shape!r}")
    sizes = tuple(int(size.__index__()) for size in given)
    if any(size < 0 for size in sizes):
        raise ValueError(f"a shape has no negative sizes: {sizes}")
    return sizes


def number(value: Any, name: str, end: int, start: int = 0) -> int:
    """A number from `start` on that is less than `end`: of a rank, a member, a place."""
    found = int(value.__index__()) if hasattr(value, "__index__") else None
    if found is None or not start <= found < end:
        raise ValueError(f"`{name}` is {value!r}; it must be a number from {start} to {end - 1}")
    return found


def view(
    address: int,
    shape: Sequence[int],
    dtype: Any,
    keep: Any,
    strides: Sequence[int] | None = None,
    device: Any = None,
) -> Any:
    """An array over memory at an address, which `keep` keeps. Strides are in bytes; without them it is dense.

    `device` is the device of torch if the memory is a GPU's.
    """
    shape = tuple(shape)
    empty = 0 in shape
    if device is not None:
        dtype = gpu_type(dtype)
    if is_torch_dtype(dtype):
        import torch

        if empty:
            return torch.empty(shape, dtype=dtype, device=device or "cpu")
        nbytes = _reach(shape, strides, dtype.itemsize)
        if device is None:
            flat = torch.frombuffer(_buffer(address, nbytes, keep), dtype=dtype)
        else:
            flat = torch.as_tensor(_GpuBytes(address, nbytes, keep), device=device).view(dtype)
        if strides is None:
            return flat.view(shape)
        return flat.as_strided(shape, [stride // dtype.itemsize for stride in strides])
    numpy = _numpy()
    dtype = numpy.dtype(dtype)
    # Also an empty array has its place, which kernels may ask for on other ranks.
    nbytes = 0 if empty else _reach(shape, strides, dtype.itemsize)
    return numpy.ndarray(shape, dtype, buffer=_buffer(address, nbytes, keep), strides=None if empty else strides)


def layout(array: Any) -> Layout:
    """Where an array's elements are: of NumPy, of torch, or of whatever speaks DLPack on the CPU."""
    if is_tensor(array):
        if array.device.type not in ("cpu", "cuda"):
            raise ValueError(
                f"the tensor is on the device `{array.device}`; symmetric memory is on the CPU or on a GPU"
            )
        size = array.element_size()
        strides = tuple(stride * size for stride in array.stride())
        device = array.device if array.device.type == "cuda" else None
        # Of a part without elements torch has no address; its memory's tells whose part it is.
        address = array.data_ptr() or array.untyped_storage().data_ptr()
        return Layout(address, tuple(array.shape), strides, size, array.dtype, device)
    numpy = _numpy()
    if not isinstance(array, numpy.ndarray):
        if not hasattr(array, "__dlpack__"):
            raise TypeError(f"a {type(array).__name__} is no array; pass one of NumPy, of torch, or with DLPack")
        array = numpy.from_dlpack(array)
    return Layout(array.ctypes.data, array.shape, array.strides, array.itemsize, array.dtype)


def dense(array: Any, what: str) -> Layout:
    """Where an array's elements are, which must follow each other."""
    found = layout(array)
    if not found.is_dense:
        raise ValueError(f"{what} must be contiguous; it has the shape {found.shape} and the strides {found.strides}")
    return found


def writable(array: Any, what: str) -> Layout:
    """The same for an array that will be written."""
    found = dense(array, what)
    flags = getattr(array, "flags", None)
    if flags is not None and not flags.writeable:
        raise ValueError(f"{what} is read-only")
    return found


def _reach(shape: Sequence[int], strides: Sequence[int] | None, itemsize: int) -> int:
    """Bytes from the first element to the end of the last."""
    if strides is None:
        return math.prod(shape) * itemsize
    if any(stride < 0 for stride in strides):
        raise ValueError("arrays with negative strides have no counterpart on other ranks; reverse the copy instead")
    return sum((size - 1) * stride for size, stride in zip(shape, strides)) + itemsize


class _GpuBytes:
    """Bytes of a GPU's memory, for packages that take them by the CUDA array interface; they keep this object."""

    def __init__(self, address: int, nbytes: int, keep: Any) -> None:
        self.keep = keep
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
        }


def _buffer(address: int, nbytes: int, keep: Any) -> Any:
    buffer = (ctypes.c_ubyte * nbytes).from_address(address)
    buffer.keep = keep  # type: ignore[attr-defined] # whoever holds the buffer holds this
    return buffer


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError("arrays of this element type need NumPy; install it, or pass a dtype of torch") from None
    return numpy
