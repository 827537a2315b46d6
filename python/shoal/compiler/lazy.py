"""Facts about a launch that are only computed if somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LazyDict:
    """A dictionary and functions that will add to it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = []

    def get(self) -> dict[str, Any]:
        """The whole dictionary."""
        for function, args in self.extras:
            self.data = self.data | function(*args)
        self.extras.clear()
        return self.data

    def add(self, func: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> None:
        """Has a function add to it, when it is needed."""
        self.extras.append((func, args))
