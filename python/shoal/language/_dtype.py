"""The types of the language, with what host code asks of them."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Iterator, Sequence
from typing import Any

from shoal.language._constexpr import base_type, constexpr_type, unwrap
from shoal.language._host import ClassPath

TRITON_MAX_TENSOR_NUMEL = 1048576

# name: (bits, bits of the mantissa, bias of the exponent)
_FLOATS = {
    "fp8e4b15": (8, 3, 15),
    "fp8e4nv": (8, 3, 7),
    "fp8e4b8": (8, 3, 8),
    "fp8e5": (8, 2, 15),
    "fp8e5b16": (8, 2, 16),
    "fp16": (16, 10, 15),
    "bf16": (16, 7, 127),
    "fp32": (32, 23, 127),
    "fp64": (64, 52, 1023),
}


class dtype(base_type):
    """The type of a number: `float32`, `int8`, … Its `name` is the short one of signatures for floats (`fp32`)."""

    __shoal_path__ = ClassPath()

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = list(_FLOATS)
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        """Whether an integer type has a sign."""

        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        """What kind of number a type is of; a higher kind wins when types meet."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    name: str
    primitive_bitwidth: int
    itemsize: int
    int_bitwidth: int
    int_signedness: SIGNEDNESS
    fp_mantissa_width: int
    exponent_bias: int

    def __init__(self, name: str) -> None:
        name = unwrap(name)
        if not dtype.is_dtype(name):
            raise ValueError(f"there is no type `{name}`; the names are {', '.join(_ALL_NAMES)}")
        self.name = name
        if name in _FLOATS:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name == "void":
            self.primitive_bitwidth = 0
        else:
            self.primitive_bitwidth = self.int_bitwidth = int(name.lstrip("uint"))
            signed = name in self.SINT_TYPES
            self.int_signedness = self.SIGNEDNESS.SIGNED if signed else self.SIGNEDNESS.UNSIGNED
        self.itemsize = self.primitive_bitwidth // 8

    @staticmethod
    def is_dtype(type_str: object) -> bool:
        """Whether this is the name of a type."""
        return type_str in _ALL_NAMES

    def is_fp8(self) -> bool:
        """Whether it is one of the 8-bit floats."""
        return self.name.startswith("fp8")

    def is_fp8e4nv(self) -> bool:
        return self.name == "fp8e4nv"

    def is_fp8e4b8(self) -> bool:
        return self.name == "fp8e4b8"

    def is_fp8e4b15(self) -> bool:
        return self.name == "fp8e4b15"

    def is_fp8e5(self) -> bool:
        return self.name == "fp8e5"

    def is_fp8e5b16(self) -> bool:
        return self.name == "fp8e5b16"

    def is_fp16(self) -> bool:
        return self.name == "fp16"

    def is_bf16(self) -> bool:
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        return self.name == "fp32"

    def is_fp64(self) -> bool:
        return self.name == "fp64"

    def is_int1(self) -> bool:
        return self.name == "int1"

    def is_int8(self) -> bool:
        return self.name == "int8"

    def is_int16(self) -> bool:
        return self.name == "int16"

    def is_int32(self) -> bool:
        return self.name == "int32"

    def is_int64(self) -> bool:
        return self.name == "int64"

    def is_uint8(self) -> bool:
        return self.name == "uint8"

    def is_uint16(self) -> bool:
        return self.name == "uint16"

    def is_uint32(self) -> bool:
        return self.name == "uint32"

    def is_uint64(self) -> bool:
        return self.name == "uint64"

    def is_floating(self) -> bool:
        return self.name in self.FP_TYPES

    def is_standard_floating(self) -> bool:
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self) -> bool:
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self) -> bool:
        """Whether it is an integer without a sign; `int1` counts as one."""
        return self.name in self.UINT_TYPES

    def is_int(self) -> bool:
        return self.is_int_signed() or self.is_int_unsigned()

    def is_bool(self) -> bool:
        return self.is_int1()

    def is_void(self) -> bool:
        return self.name == "void"

    def is_block(self) -> bool:
        """Whether it is the type of a tile."""
        return False

    def is_ptr(self) -> bool:
        """Whether it is the type of a pointer."""
        return False

    def is_const(self) -> bool:
        """Whether it is a pointer that is only read through."""
        return False

    def kind(self) -> dtype.KIND:
        """The kind of number."""
        if self.is_bool():
            return self.KIND.BOOLEAN
        if self.is_int():
            return self.KIND.INTEGRAL
        if self.is_floating():
            return self.KIND.FLOATING
        raise TypeError(f"`{self}` is not a type of numbers")

    def get_int_max_value(self) -> int:
        """The greatest integer of this type."""
        return 2 ** (self._int_bits() - self.is_int_signed()) - 1

    def get_int_min_value(self) -> int:
        """The least integer of this type."""
        return -(2 ** (self._int_bits() - 1)) if self.is_int_signed() else 0

    def _int_bits(self) -> int:
        if not self.is_int():
            raise TypeError(f"`{self}` is not a type of integers")
        return self.int_bitwidth

    @property
    def scalar(self) -> dtype:
        """The type of one element."""
        return self

    @property
    def cache_key_part(self) -> str:
        """The type as a part of a cache key."""
        return self.name

    def with_element_ty(self, element_ty: dtype) -> dtype:
        """The same shape with other elements."""
        return element_ty

    def codegen_name(self) -> str:
        """The name in `shoal.language`: `float32`."""
        return (
            self.name.replace("fp", "float", 1) if self.name.startswith("fp") else self.name.replace("bf", "bfloat", 1)
        )

    def mangle(self) -> str:
        if self.is_int():
            return ("i" if self.is_int_signed() else "u") + str(self.int_bitwidth)
        return "V" if self.is_void() else self.name

    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.name,))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"shoal.language.{self.codegen_name()}"


_ALL_NAMES = (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES, *dtype.OTHER_TYPES)


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


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

_INTS = {(ty.int_bitwidth, ty.is_int_signed()): ty for ty in map(dtype, dtype.SINT_TYPES + dtype.UINT_TYPES[1:])}
_SIGNATURE_NAMES = {ty.mangle(): ty for ty in map(dtype, _ALL_NAMES) if ty.name != "void"} | {"i1": int1, "B": int1}


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of this width."""
    bits, with_sign = unwrap(bitwidth), bool(unwrap(signed))
    if bits == 1 and not with_sign:
        return int1
    if (bits, with_sign) not in _INTS:
        raise ValueError(f"Unsupported bitwidth {bits} and signedness {with_sign}")
    return _INTS[bits, with_sign]


def str_to_ty(name: Any, c: Any = None) -> Any:
    """The type that a signature's string names: `*fp32`, `i32`, `tensordesc<fp16[128, 64]>`, `constexpr`."""
    if isinstance(name, builtins.tuple):
        return tuple_type([str_to_ty(item, c) for item in name], getattr(name, "_fields", None))
    if name.startswith("*"):
        const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2 if const else 1 :], c), const=const)
    if name.startswith("tensordesc"):
        element, shape = name[name.index("<") + 1 :].rstrip(">").split("[", maxsplit=1)
        extents = [int(extent) for extent in shape.split("]")[0].split(",")]
        tile = block_type(str_to_ty(element), extents)
        return tensor_descriptor_type(tile, tuple_type([int32] * len(extents)), tuple_type([int64] * len(extents)))
    if name.startswith("constexpr"):
        return constexpr_type(c)
    return _SIGNATURE_NAMES[name]
