"""Symmetric tensors that are allocated together, once their total size is known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from shoal.triton_dist.world import nvshmem_create_tensor, nvshmem_free_tensor_sync


@dataclasses.dataclass
class LazyTensorSpec:
    """A tensor to be."""

    name: str
    shape: list[int]
    dtype: torch.dtype
    fill_value: float | None = None
    """What it is filled with, if it is."""

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel * self.dtype.itemsize


class LazyTensor:
    """A tensor that is there after `LazyAllocator.sync`; until then only its size is."""

    def __init__(self, spec: LazyTensorSpec, allocator: LazyAllocator) -> None:
        self.spec = spec
        self._allocator = allocator
        self._tensor: torch.Tensor | None = None

    @property
    def is_materialized(self) -> bool:
        """Whether it is there."""
        return self._tensor is not None

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor, which must be there."""
        if self._tensor is None:
            raise RuntimeError(f"the tensor `{self.spec.name}` is not there yet: call sync() of its allocator first")
        return self._tensor

    def get_underlying_tensor(self) -> torch.Tensor | None:
        """The tensor, if it is there."""
        return self._tensor

    @property
    def shape(self) -> torch.Size:
        """Its sizes."""
        return torch.Size(self.spec.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The type of its elements."""
        return self.spec.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.spec.nbytes

    def numel(self) -> int:
        """The number of elements."""
        return self.spec.numel

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.spec.shape)

    def size(self, dim: int | None = None) -> Any:
        """Its sizes, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def fill_(self, value: float) -> LazyTensor:
        """Fills it: now, or when it is there."""
        if self._tensor is None:
            self.spec.fill_value = value
        else:
            self._tensor.fill_(value)
        return self

    def zero_(self) -> LazyTensor:
        """Fills it with zeros: now, or when it is there."""
        return self.fill_(0)

    def _materialize(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor
        if self.spec.fill_value is not None:
            tensor.fill_(self.spec.fill_value)

    def __getitem__(self, key: Any) -> Any:
        return self.tensor[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[key] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.tensor, name)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def plain(value: Any) -> Any:
            if isinstance(value, LazyTensor):
                return value.tensor
            if isinstance(value, (list, tuple)):
                return type(value)(map(plain, value))
            return value

        return func(*plain(args), **{name: plain(value) for name, value in (kwargs or {}).items()})

    def __repr__(self) -> str:
        state = "there" if self.is_materialized else "to be"
        return f"LazyTensor({self.spec.name}, {self.spec.shape}, {self.spec.dtype}, {state})"


class LazyAllocator:
    """Makes tensors at once, or all together in `sync` if it is lazy."""

    def __init__(
        self,
        create_tensor_fn: Callable[[list[int], torch.dtype], torch.Tensor],
        free_tensor_fn: Callable[[torch.Tensor], None] | None = None,
        lazy: bool = False,
    ) -> None:
        self._create, self._free = create_tensor_fn, free_tensor_fn
        self.lazy = lazy
        self._tensors: list[LazyTensor] = []
        self._synced = not lazy

    @property
    def is_materialized(self) -> bool:
        """Whether new tensors are there at once."""
        return self._synced

    def create_tensor(
        self, name: str, shape: Sequence[int], dtype: torch.dtype, fill_value: float | None = None
    ) -> LazyTensor:
        """A tensor, there now or after `sync`."""
        made = LazyTensor(LazyTensorSpec(name, list(shape), dtype, fill_value), self)
        self._tensors.append(made)
        if self._synced:
            made._materialize(self._create(made.spec.shape, dtype))
        return made

    def sync(self) -> None:
        """Allocates all tensors that are not there yet."""
        for tensor in self._tensors:
            if not tensor.is_materialized:
                tensor._materialize(self._create(tensor.spec.shape, tensor.spec.dtype))
        self._synced = True

    materialize = sync

    def free_tensor(self, tensor_or_lazy: Any) -> None:
        """Gives a tensor back."""
        tensor = get_underlying_tensor(tensor_or_lazy)
        if tensor is not None and self._free is not None:
            self._free(tensor)

    def get_total_size(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.nbytes for tensor in self._tensors)

    def get_total_size_mb(self) -> float:
        """MiB of all tensors."""
        return self.get_total_size() / 2**20

    def get_total_size_gb(self) -> float:
        """GiB of all tensors."""
        return self.get_total_size() / 2**30

    def get_tensor_breakdown(self) -> dict[str, int]:
        """Bytes of each tensor, by name."""
        return {tensor.spec.name: tensor.nbytes for tensor in self._tensors}

    def print_memory_breakdown(self) -> None:
        """Prints the size of each tensor, the largest first."""
        for name, nbytes in sorted(self.get_tensor_breakdown().items(), key=lambda item: -item[1]):
            print(f"{nbytes:>16,}  {name}")
        print(f"{self.get_total_size():>16,}  all")

    def __len__(self) -> int:
        return len(self._tensors)


def get_underlying_tensor(tensor_or_lazy: Any) -> Any:
    """A tensor itself, whether it is lazy or not; None if it is not there."""
    return tensor_or_lazy.get_underlying_tensor() if isinstance(tensor_or_lazy, LazyTensor) else tensor_or_lazy


def nvshmem_free_lazy_tensor(tensor_or_lazy: Any) -> None:
    """Gives a symmetric tensor back, whether it is lazy or not. Collective over all ranks."""
    tensor = get_underlying_tensor(tensor_or_lazy)
    if tensor is not None:
        nvshmem_free_tensor_sync(tensor)


class NVSHMEMLazyAllocator(LazyAllocator):
    """A lazy allocator of symmetric tensors."""

    def __init__(self, lazy: bool = False) -> None:
        super().__init__(nvshmem_create_tensor, nvshmem_free_tensor_sync, lazy)

    get_total_nvshmem_size = LazyAllocator.get_total_size
    get_total_nvshmem_size_gb = LazyAllocator.get_total_size_gb
    get_total_nvshmem_size_mb = LazyAllocator.get_total_size_mb
