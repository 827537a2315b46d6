"""What functions marked `extern` or `builtin` find in their parameter `_semantic`.

Triton hands its own machinery to them. Here the compiler evaluates their text, and what they hand on is left out; but
some ask what is compiled for (`_semantic.builder.options.backend_name`), and are told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from shoal.language.core import constexpr

PARAMETER = "_semantic"

STAND_IN = "__s_"
"""The name that stands for the default `None` of the parameter; as long as it, so that all else stays in its place."""


_foreign: ContextVar[str | None] = ContextVar("foreign", default=None)


@contextmanager
def compiling_for(backend: str) -> Iterator[None]:
    """Functions that ask are told this backend, which is not the current device's."""
    before = _foreign.set(backend)
    try:
        yield
    finally:
        _foreign.reset(before)


class _Options:
    @property
    def backend_name(self) -> constexpr:
        from .driver import driver

        return constexpr(_foreign.get() or driver.active.get_current_target().backend)


class _Builder:
    options = _Options()


class Semantic:
    """Triton's machinery, as far as functions ask it."""

    builder = _Builder()


SEMANTIC = Semantic()


def with_machinery(text: str) -> str:
    """The text of a function from `def` on, with the stand-in's name for the default of its parameter."""
    if f"{PARAMETER}." not in text:
        return text
    defined: Any = ast.parse(text).body[0]
    given = defined.args
    positional = [*given.posonlyargs, *given.args]
    defaults = dict(zip([arg.arg for arg in reversed(positional)], reversed(given.defaults)))
    defaults.update((arg.arg, default) for arg, default in zip(given.kwonlyargs, given.kw_defaults))
    default = defaults.get(PARAMETER)
    if not isinstance(default, ast.Constant) or default.value is not None:
        return text
    lines = text.splitlines(keepends=True)
    line = lines[default.lineno - 1].encode()
    start, end = default.col_offset, default.end_col_offset
    lines[default.lineno - 1] = (line[:start] + STAND_IN.encode() + line[end:]).decode()
    return "".join(lines)
