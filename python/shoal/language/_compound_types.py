"""Types that are made of other types: pointers, tiles, tuples, tensor descriptors."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from shoal.language._constexpr import base_type, unwrap
from shoal.language._dtype import dtype, int32
from shoal.language._host import ClassPath

TRITON_MAX_TENSOR_NUMEL = 1048576


class pointer_type(dtype):
    """A pointer to elements of a type."""

    __shoal_path__ = ClassPath()

    def __init__(self, element_ty: dtype, address_space: str = "global", const: bool = False) -> None:
        element_ty = unwrap(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = bool(const)
        self.primitive_bitwidth, self.itemsize = 64, 8
        self.name = f"{'const_' if self.const else ''}pointer<{element_ty}>"

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def mangle(self) -> str:
        return f"P{self.element_ty.mangle()}"

    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return isinstance(other, pointer_type) and (self.name, self.address_space) == (other.name, other.address_space)

    __hash__ = dtype.__hash__

    def __repr__(self) -> str:
        return self.name


class block_type(dtype):
    """The type of a tile: its elements and its shape."""

    __shoal_path__ = ClassPath()

    def __init__(self, element_ty: dtype, shape: Sequence[Any]) -> None:
        self.element_ty = element_ty
        self.shape = builtins.tuple(int(unwrap(extent)) for extent in shape)
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = _tile_size(self.shape)
        self.primitive_bitwidth, self.itemsize = element_ty.primitive_bitwidth, element_ty.itemsize
        self.name = f"<{self.shape}, {element_ty}>"

    def is_block(self) -> bool:
        return True

    def get_block_shapes(self) -> builtins.tuple[int, ...]:
        """The shape."""
        return self.shape

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        """The size of the tile in bytes."""
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_type(element_ty, self.shape)

    def mangle(self) -> str:
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (other.element_ty, other.shape)

    __hash__ = dtype.__hash__

    def __repr__(self) -> str:
        return self.name


def _tile_size(shape: builtins.tuple[int, ...]) -> int:
    size = 1
    for at, extent in enumerate(shape):
        if extent < 1 or extent & (extent - 1):
            raise ValueError(f"Shape element {at} must be a power of 2, not {extent}")
        size *= extent
    if size > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({size}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return size


class tuple_type(base_type):
    """The type of a tuple: the types of its items, and their names if it has some."""

    def __init__(self, types: Sequence[Any], fields: Sequence[str] | None = None) -> None:
        self.types = types
        self.fields = fields

    @property
    def name(self) -> str:
        """The types in brackets."""
        parts = self.types if self.fields is None else [f"{k}:{v}" for k, v in zip(self.fields, self.types)]
        return "[" + ",".join(map(str, parts)) + "]"

    def mangle(self) -> str:
        return "T" + "_".join(ty.mangle() for ty in self.types) + "T"

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and list(self.types) == list(other.types) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class slice_type(dtype):
    """The type of a slice."""

    def __init__(self) -> None:
        self.name = "slice_type"
        self.primitive_bitwidth = self.itemsize = 0


class tensor_descriptor_type(base_type):
    """The type of a tensor descriptor: the tile it loads, and the types of its shape and strides."""

    def __init__(self, block_type: block_type, shape_type: tuple_type, strides_type: tuple_type) -> None:
        self.block_type = block_type
        self.shape_type = shape_type
        self.strides_type = strides_type

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and self.block_type == other.block_type

    def __hash__(self) -> int:
        return hash(self.block_type)

    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"


pi32_t = pointer_type(int32)
