"""The types of numbers, with what host code asks of them."""

from __future__ import annotations

import enum
from typing import ClassVar

from shoal.language._constexpr import base_type, unwrap
from shoal.language._host import ClassPath

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

    package: ClassVar[str] = "shoal.language"
    """What the language is called where types are written out; the drop-in says `triton.language`."""

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
        return f"{self.package}.{self.codegen_name()}"


_ALL_NAMES = (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES, *dtype.OTHER_TYPES)


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


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of this width."""
    # Nothing but `dtype` is named here: torch's Inductor copies this text into programs that use it.
    bits, with_sign = getattr(bitwidth, "value", bitwidth), bool(getattr(signed, "value", signed))
    name = f"{'int' if with_sign or bits == 1 else 'uint'}{bits}"
    if name not in (dtype.SINT_TYPES if with_sign else dtype.UINT_TYPES):
        raise ValueError(f"Unsupported bitwidth {bits} and signedness {with_sign}")
    return dtype(name)
