"""`constexpr`: a value that the compiler knows."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from shoal.language._host import ClassPath


class base_type:
    """What all types of the language have in common."""

    def mangle(self) -> str:
        """The type as a part of a symbol's name."""
        raise NotImplementedError(f"{type(self).__name__} has no short name")


class base_value:
    """What all values of the language have in common."""

    type: base_type


class constexpr_type(base_type):
    """The type of a `constexpr`: its value."""

    __shoal_path__ = ClassPath()

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"

    def mangle(self) -> str:
        return "c" + (self.value.mangle() if hasattr(self.value, "mangle") else repr(self.value))


class constexpr(base_value):
    """A value known at compile time.

    As an annotation it makes a parameter one: `BLOCK: constexpr`. As a call it makes a global that kernels may use:
    `LOG2E = constexpr(1.44269504)`. On the host it computes like the value it holds, and gives `constexpr` again.
    """

    __shoal_path__ = ClassPath()
    value: Any

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __reduce__(self) -> builtins.tuple[Any, ...]:
        return constexpr, (self.value,)

    def __hash__(self) -> int:
        return hash((self.value, self.type))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return self.value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.value[unwrap(index)]

    def __add__(self, other: Any) -> constexpr:
        return constexpr(self.value + unwrap(other))

    def __radd__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) + self.value)

    def __sub__(self, other: Any) -> constexpr:
        return constexpr(self.value - unwrap(other))

    def __rsub__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) - self.value)

    def __mul__(self, other: Any) -> constexpr:
        return constexpr(self.value * unwrap(other))

    def __rmul__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) * self.value)

    def __truediv__(self, other: Any) -> constexpr:
        return constexpr(self.value / unwrap(other))

    def __rtruediv__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) / self.value)

    def __floordiv__(self, other: Any) -> constexpr:
        return constexpr(self.value // unwrap(other))

    def __rfloordiv__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) // self.value)

    def __mod__(self, other: Any) -> constexpr:
        return constexpr(self.value % unwrap(other))

    def __rmod__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) % self.value)

    def __pow__(self, other: Any) -> constexpr:
        return constexpr(self.value ** unwrap(other))

    def __rpow__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) ** self.value)

    def __lshift__(self, other: Any) -> constexpr:
        return constexpr(self.value << unwrap(other))

    def __rlshift__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) << self.value)

    def __rshift__(self, other: Any) -> constexpr:
        return constexpr(self.value >> unwrap(other))

    def __rrshift__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) >> self.value)

    def __and__(self, other: Any) -> constexpr:
        return constexpr(self.value & unwrap(other))

    def __rand__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) & self.value)

    def __or__(self, other: Any) -> constexpr:
        return constexpr(self.value | unwrap(other))

    def __ror__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) | self.value)

    def __xor__(self, other: Any) -> constexpr:
        return constexpr(self.value ^ unwrap(other))

    def __rxor__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) ^ self.value)

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __eq__(self, other: Any) -> constexpr:  # type: ignore[override]
        return constexpr(self.value == unwrap(other))

    def __ne__(self, other: Any) -> constexpr:  # type: ignore[override]
        return constexpr(self.value != unwrap(other))

    def __lt__(self, other: Any) -> constexpr:
        return constexpr(self.value < unwrap(other))

    def __le__(self, other: Any) -> constexpr:
        return constexpr(self.value <= unwrap(other))

    def __gt__(self, other: Any) -> constexpr:
        return constexpr(self.value > unwrap(other))

    def __ge__(self, other: Any) -> constexpr:
        return constexpr(self.value >= unwrap(other))

    def __not__(self) -> constexpr:
        return constexpr(not self.value)

    def logical_and(self, other: Any) -> constexpr:
        """`self and other`"""
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        """`self or other`"""
        return constexpr(self.value or unwrap(other))


def unwrap(value: Any) -> Any:
    """The value inside a `constexpr`, also in lists and tuples; anything else as it is."""
    if isinstance(value, constexpr):
        return value.value
    if isinstance(value, list):
        return [unwrap(item) for item in value]
    if isinstance(value, builtins.tuple):
        items = [unwrap(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class const:
    """As an annotation: a pointer that the kernel only reads."""

    __shoal_path__ = ClassPath()
