"""What a program puts into a stream: done at once on a CPU, or noted for the graph that is being captured."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_noted: list[Callable[[], Any]] | None = None
"""What the graph that is being captured will do."""


def is_captured() -> bool:
    """Whether a graph is being captured: what is put into streams is done when it is replayed."""
    return _noted is not None


def note_into(work: list[Callable[[], Any]] | None) -> None:
    """From here on work is noted in this list; `None`: it is done at once."""
    global _noted
    _noted = work


def do(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Calls a function now, or with every replay of the graph that is being captured."""
    if _noted is None:
        return function(*args, **named)
    _noted.append(functools.partial(function, *args, **named))
    return None


def in_stream(function: Callable[P, T]) -> Callable[P, T | None]:
    """Marks a function that puts work into a stream. While a graph is captured its calls give `None`."""

    @functools.wraps(function)
    def put(*args: P.args, **named: P.kwargs) -> T | None:
        return do(function, *args, **named)

    return put
