"""The values of kernels, as host code can name them: in annotations, with `isinstance`, to look up methods."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.language import _compound_types, _dtype
from shoal.language._compound_types import tuple_type
from shoal.language._constexpr import base_value, constexpr, unwrap
from shoal.language._host import ClassPath, refuse

F = TypeVar("F", bound=Callable[..., Any])


class tensor(base_value):
    """A tile of numbers or pointers, or a single one. It exists only inside kernels."""

    __shoal_path__ = ClassPath()

    dtype: _dtype.dtype
    shape: builtins.tuple[constexpr, ...]
    numel: constexpr

    if TYPE_CHECKING:
        # Methods that are functions of the language too; `member` adds them.
        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> tensor: ...
        def __radd__(self, other: Any) -> tensor: ...
        def __sub__(self, other: Any) -> tensor: ...
        def __rsub__(self, other: Any) -> tensor: ...
        def __mul__(self, other: Any) -> tensor: ...
        def __rmul__(self, other: Any) -> tensor: ...
        def __truediv__(self, other: Any) -> tensor: ...
        def __rtruediv__(self, other: Any) -> tensor: ...
        def __floordiv__(self, other: Any) -> tensor: ...
        def __rfloordiv__(self, other: Any) -> tensor: ...
        def __mod__(self, other: Any) -> tensor: ...
        def __rmod__(self, other: Any) -> tensor: ...
        def __lshift__(self, other: Any) -> tensor: ...
        def __rlshift__(self, other: Any) -> tensor: ...
        def __rshift__(self, other: Any) -> tensor: ...
        def __rrshift__(self, other: Any) -> tensor: ...
        def __and__(self, other: Any) -> tensor: ...
        def __rand__(self, other: Any) -> tensor: ...
        def __or__(self, other: Any) -> tensor: ...
        def __ror__(self, other: Any) -> tensor: ...
        def __xor__(self, other: Any) -> tensor: ...
        def __rxor__(self, other: Any) -> tensor: ...
        def __lt__(self, other: Any) -> tensor: ...
        def __le__(self, other: Any) -> tensor: ...
        def __gt__(self, other: Any) -> tensor: ...
        def __ge__(self, other: Any) -> tensor: ...
        def __eq__(self, other: Any) -> tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> tensor: ...  # type: ignore[override]
        def __neg__(self) -> tensor: ...
        def __invert__(self) -> tensor: ...

    def __init__(self, handle: Any, type: _dtype.dtype) -> None:
        refuse("shoal.language.tensor")

    @property
    def T(self) -> tensor:
        """The matrix with rows and columns exchanged."""
        refuse("shoal.language.tensor.T")

    def to(self, dtype: Type, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
        """The elements at another type, see `cast`."""
        refuse("shoal.language.tensor.to")

    def __getitem__(self, slices: Any) -> tensor:
        """Adds dimensions of one element: `x[:, None]`."""
        refuse("shoal.language.tensor[]")

    def logical_and(self, other: Value) -> tensor:
        """Whether both are not zero."""
        refuse("shoal.language.tensor.logical_and")

    def logical_or(self, other: Value) -> tensor:
        """Whether one of both is not zero."""
        refuse("shoal.language.tensor.logical_or")


def _operator(name: str, operands: int) -> Callable[..., tensor]:
    def unary(self: tensor) -> tensor:
        refuse(f"shoal.language.tensor.{name}")

    def binary(self: tensor, other: Value) -> tensor:
        refuse(f"shoal.language.tensor.{name}")

    operator = unary if operands == 1 else binary
    operator.__name__ = name
    return operator


for _name in "add sub mul truediv floordiv mod lshift rshift and or xor".split():
    setattr(tensor, f"__{_name}__", _operator(f"__{_name}__", 2))
    setattr(tensor, f"__r{_name}__", _operator(f"__r{_name}__", 2))
for _name in "eq ne lt le gt ge".split():
    setattr(tensor, f"__{_name}__", _operator(f"__{_name}__", 2))
for _name in "neg invert not".split():
    setattr(tensor, f"__{_name}__", _operator(f"__{_name}__", 1))

# What an operation takes where it says "value": a tile, or a number that is spread over one.
Value = tensor | constexpr | int | float | bool
# What it takes where the compiler must know the value.
Int = int | constexpr
Bool = bool | constexpr
Text = str | constexpr
Type = _dtype.dtype | constexpr


def member(fn: F) -> F:
    """Makes a function of the language a method of tiles too: `x.sum()` is `sum(x)`."""
    setattr(tensor, fn.__name__, fn)
    return fn


class tensor_descriptor_base(base_value):
    """A tensor in memory that is read and written tile by tile. It exists only inside kernels."""

    __shoal_path__ = ClassPath()

    dtype: _dtype.dtype
    block_shape: builtins.tuple[constexpr, ...]
    block_type: _compound_types.block_type

    def __init__(self, handle: Any, block_type: _compound_types.block_type) -> None:
        refuse("shoal.language.tensor_descriptor_base")

    def load(self, offsets: Sequence[Value]) -> tensor:
        """The tile at these offsets; what lies outside the tensor is padding."""
        refuse("shoal.language.tensor_descriptor.load")

    def store(self, offsets: Sequence[Value], value: tensor) -> None:
        """Writes a tile at these offsets; what lies outside the tensor is left out."""
        refuse("shoal.language.tensor_descriptor.store")

    def gather(self, x_offsets: tensor, y_offset: Value) -> tensor:
        """Rows at the given places, from one column on."""
        refuse("shoal.language.tensor_descriptor.gather")

    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Value) -> None:
        """Writes rows at the given places, from one column on."""
        refuse("shoal.language.tensor_descriptor.scatter")

    def atomic_add(self, offsets: Sequence[Value], value: tensor) -> None:
        """Adds a tile to the tensor."""
        refuse("shoal.language.tensor_descriptor.atomic_add")

    def atomic_min(self, offsets: Sequence[Value], value: tensor) -> None:
        """Keeps the lesser of the tensor's elements and a tile's."""
        refuse("shoal.language.tensor_descriptor.atomic_min")

    def atomic_max(self, offsets: Sequence[Value], value: tensor) -> None:
        """Keeps the greater of the tensor's elements and a tile's."""
        refuse("shoal.language.tensor_descriptor.atomic_max")

    def atomic_and(self, offsets: Sequence[Value], value: tensor) -> None:
        """Bitwise and of the tensor's elements and a tile's."""
        refuse("shoal.language.tensor_descriptor.atomic_and")

    def atomic_or(self, offsets: Sequence[Value], value: tensor) -> None:
        """Bitwise or of the tensor's elements and a tile's."""
        refuse("shoal.language.tensor_descriptor.atomic_or")

    def atomic_xor(self, offsets: Sequence[Value], value: tensor) -> None:
        """Bitwise exclusive or of the tensor's elements and a tile's."""
        refuse("shoal.language.tensor_descriptor.atomic_xor")


class tensor_descriptor(tensor_descriptor_base):
    """A tensor in memory with a base, a shape and strides, see `make_tensor_descriptor`."""

    __shoal_path__ = ClassPath()

    shape: builtins.tuple[tensor, ...]
    strides: builtins.tuple[tensor, ...]


class tuple(builtins.tuple, base_value):  # type: ignore[type-arg]
    """A tuple of values; on the host it is a Python tuple that knows the types of its items."""

    __shoal_path__ = ClassPath()

    def __new__(cls, args: Iterable[Any] = (), type: tuple_type | None = None) -> tuple:
        self = super().__new__(cls, args)
        self.type = type if type is not None else tuple_type([getattr(item, "type", None) for item in self])
        return self

    @property
    def values(self) -> list[Any]:
        """The items."""
        return list(self)

    def __getitem__(self, index: Any) -> Any:
        index = unwrap(index)
        items = super().__getitem__(index)
        return tuple(items) if isinstance(index, builtins.slice) else items

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__["type"].fields if "type" in self.__dict__ else None
        if fields is not None and name in fields:
            return self[fields.index(name)]
        raise AttributeError(name)

    def __add__(self, other: Iterable[Any]) -> tuple:
        return tuple([*self, *other])

    def __mul__(self, times: Any) -> tuple:
        return tuple(super().__mul__(unwrap(times)))


class slice:
    """The bounds of a slice."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step


class PropagateNan(enum.Enum):
    """What the lesser or greater of two numbers is when one of them is NaN."""

    NONE = 0
    """The other one."""
    ALL = 0xFFFF
    """NaN."""


def must_use_result(x: Any, s: bool | str = True) -> Any:
    """Says of a function that calling it and dropping the result is a mistake."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x
