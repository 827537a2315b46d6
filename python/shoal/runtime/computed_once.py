"""Properties that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class computed_once(Generic[T]):  # noqa: N801 - a decorator
    """A property that is computed when it is first read, and kept in the object's `__dict__`.

    Unlike `functools.cached_property` before Python 3.12 it holds no lock meanwhile, which a forked child would find
    locked for ever. Two threads may both compute it.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value] # what a class shows is for tools that read its documentation
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
