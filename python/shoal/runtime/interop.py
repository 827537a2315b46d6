"""Stand-ins for tensors: with another element type, or with none of their memory."""

from __future__ import annotations

from typing import Any


class MockTensor:
    """A tensor that is not there: `kernel.warmup(MockTensor(torch.float32), grid=(1,))`."""

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else shape

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """A stand-in for a dtype; anything else as it is."""
        if type(arg).__name__ == "dtype" and type(arg).__module__ in ("torch", "numpy"):
            return MockTensor(arg)
        return arg

    def stride(self) -> tuple[int, ...]:
        """Strides of a dense tensor of this shape, in elements."""
        strides = [1]
        for size in reversed(self.shape[1:]):
            strides.insert(0, strides[0] * size)
        return tuple(strides)

    @staticmethod
    def data_ptr() -> int:
        """An address that is a multiple of everything."""
        return 0

    @staticmethod
    def ptr_range() -> int:
        """The size of its memory: none."""
        return 0


class TensorWrapper:
    """A tensor whose memory is looked at with another element type."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype
        self.shape = base.shape
        self.data = base.data
        self.device = getattr(base, "device", "cpu")

    def data_ptr(self) -> int:
        """The address of its first element."""
        base = self.base
        return base.data_ptr() if hasattr(base, "data_ptr") else base.__array_interface__["data"][0]

    def stride(self, *args: Any) -> Any:
        """Its strides, in elements."""
        if hasattr(self.base, "stride"):
            return self.base.stride(*args)
        strides = tuple(stride // self.base.itemsize for stride in self.base.strides)
        return strides[args[0]] if args else strides

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.base.element_size() if hasattr(self.base, "element_size") else self.base.itemsize

    def cpu(self) -> TensorWrapper:
        """The same on the CPU."""
        return TensorWrapper(self.base.cpu() if hasattr(self.base, "cpu") else self.base, self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        """Takes over the elements of another."""
        if hasattr(self.base, "copy_"):
            self.base.copy_(other.base)
        else:
            self.base[...] = other.base

    def clone(self) -> TensorWrapper:
        """A copy."""
        return TensorWrapper(self.base.clone() if hasattr(self.base, "clone") else self.base.copy(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        """The same on another device."""
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        """A new one with another shape."""
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """The same memory with another element type: `reinterpret(x, sl.float8e5)` of an array of 8-bit integers."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr") or hasattr(tensor, "__array_interface__"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
