"""`@shoal.aggregate`: classes of values that kernels pass around as one."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from shoal.language import core

C = TypeVar("C", bound=type)


def aggregate(cls: C) -> C:
    """Makes a class whose instances live in kernels.

    Its annotations are its fields (`constexpr` ones are compiled in), after those of the aggregates it inherits from;
    its methods are `@jit` functions, `@constexpr_function`s or plain ones, and `__init__`. Without an `__init__` it
    takes its fields as arguments. Instances do not change: `aggregate_replace` makes others.
    """
    made: Any = cls
    made.__aggregate_annotations__, made.__aggregate_defaults__ = _fields(cls)
    made.__aggregate_fields__ = tuple(made.__aggregate_annotations__)
    written = vars(cls).get("__init__")
    made.__init__ = _locking(cls, written if written is not None else _taking_fields(cls))
    made.__setattr__ = _assigning(cls)
    made.__shoal_made__ = {"__setattr__": None, "__init__": written}
    made.__shoal_aggregate__ = cls
    made.__triton_aggregate__ = True
    return cls


def _fields(cls: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Annotations and defaults of a class and of the aggregates above it."""
    annotations: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for base in cls.__bases__:
        if base is object:
            continue
        if not getattr(base, "__triton_aggregate__", False):
            raise TypeError(f"Aggregates can only inherit from other aggregates, but got non-aggregate base: {base}")
        annotations.update(base.__aggregate_annotations__)  # type: ignore[attr-defined]
        defaults.update(base.__aggregate_defaults__)  # type: ignore[attr-defined]
    own = inspect.get_annotations(cls)
    try:
        own = {name: typing.get_type_hints(cls)[name] for name in own}
    except (NameError, TypeError):
        pass  # names of a function's scope: kernels resolve them, and host code gets no checks
    annotations.update(own)
    defaults.update({name: vars(cls)[name] for name in own if name in vars(cls)})
    return annotations, defaults


def _taking_fields(cls: Any) -> Callable[..., None]:
    """An `__init__` whose parameters are the fields."""

    def take(self: Any, *args: Any, **named: Any) -> None:
        names, defaults = cls.__aggregate_fields__, cls.__aggregate_defaults__
        if len(args) > len(names):
            raise TypeError(
                f"{cls.__name__}.__init__() takes {len(names) + 1} positional arguments but {len(args) + 1} were given"
            )
        for name in [*names[: len(args)], *named]:
            if name not in names:
                raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument '{name}'")
            if name in named and name in names[: len(args)]:
                raise TypeError(f"{cls.__name__}.__init__() got multiple values for argument '{name}'")
        values = {**defaults, **dict(zip(names, args)), **named}
        for name in names:
            if name not in values:
                raise TypeError(f"{cls.__name__}.__init__() missing required argument: '{name}'")
            setattr(self, name, _as_value(values[name]))

    return take


def _as_value(value: Any) -> Any:
    """A Python value as one of the language."""
    if isinstance(value, tuple):
        items = [_as_value(item) for item in value]
        fields = getattr(value, "_fields", None)
        types = core.tuple_type([getattr(item, "type", None) for item in items], fields and list(fields))
        return core.tuple(items, types)
    return value if isinstance(value, core.base_value) else core.constexpr(value)


def _locking(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """An `__init__` after which an instance has all fields and does not change."""

    @functools.wraps(init)
    def initialise(self: Any, *args: Any, **named: Any) -> None:
        init(self, *args, **named)
        for name in cls.__aggregate_fields__:  # type: ignore[attr-defined]
            if not hasattr(self, name):
                raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
        if type(self) is cls:
            object.__setattr__(self, "_aggregate_init_complete", True)

    return initialise


def _assigning(cls: Any) -> Callable[..., None]:
    def assign(self: Any, name: str, value: Any) -> None:
        if name not in cls.__aggregate_annotations__:
            raise AttributeError(f"{cls.__name__} has no attribute '{name}'")
        expected = cls.__aggregate_annotations__[name]
        if isinstance(expected, type) and not isinstance(value, expected):
            raise TypeError(f"Expected {expected} for attribute '{name}', got {type(value)}")
        if getattr(self, "_aggregate_init_complete", False):
            raise AttributeError(
                f"cannot assign to field '{name}' on immutable aggregate {cls.__name__}; "
                f"use aggregate_replace() to construct a modified copy"
            )
        object.__setattr__(self, name, value)

    return assign


def replaced(instance: Any, changes: dict[str, Any]) -> Any:
    """The same aggregate with other values in some fields."""
    kind = type(instance)
    if not getattr(kind, "__triton_aggregate__", False):
        raise TypeError(f"aggregate_replace() expects an aggregate instance, got {kind}")
    for name in changes:
        if name not in kind.__aggregate_fields__:
            raise TypeError(f"{kind.__name__} has no field '{name}'")
    return kind(**{**{name: getattr(instance, name) for name in kind.__aggregate_fields__}, **changes})
