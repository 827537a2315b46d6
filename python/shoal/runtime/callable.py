"""Functions that kernels call, with their source: `@shoal.jit` and `@shoal.constexpr_function`."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import threading
from collections.abc import Callable
from typing import Any

from .source import text_of


class _Hashing:
    """The hashes that a thread is computing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.unfinished: list[JITCallable] = []

    def start_over(self) -> None:
        """In a forked child, which does not have that thread."""
        for function in self.unfinished:
            function.hash = None
        self.lock = threading.RLock()
        self.unfinished = []


_hashing = _Hashing()
os.register_at_fork(after_in_child=_hashing.start_over)


class JITCallable:
    """A function that kernels call: its source, and one word for what it depends on."""

    fn: Callable[..., Any]

    def _take(self, fn: Callable[..., Any]) -> None:
        text = text_of(fn)
        self.fn = fn
        self.signature = inspect.signature(fn)
        self.raw_src = text.lines
        self.starting_line_number = text.first_line
        self.file_name = text.file
        self._src, self.def_file_line_number = text.from_def
        self._fn_name = f"{fn.__module__}.{fn.__qualname__}"
        self.hash: str | None = None
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__globals__ = fn.__globals__
        self.__wrapped__ = fn

    @property
    def src(self) -> str:
        """The source from `def` on."""
        return self._src

    @src.setter
    def src(self, text: str) -> None:
        raise AttributeError(
            "Cannot set attribute 'src' directly: functions that call this one would not know. `_unsafe_update_src` "
            "sets it, and leaves it to you to set `hash` of all those functions to None."
        )

    def _unsafe_update_src(self, new_src: str) -> None:
        """Replaces the source. Functions that call this one keep what they were compiled with."""
        self.hash = None
        self._src = new_src

    @property
    def cache_key(self) -> str:
        """One word for the source, and for that of all functions and values it uses."""
        with _hashing.lock:
            if self.hash is None:
                # A function that calls itself finds this.
                self.hash = f"recursion:{self._fn_name}"
                _hashing.unfinished.append(self)
                facts = [self._src, str(self.starting_line_number), *map(repr, self._dependencies())]
                self.hash = hashlib.sha256("\0".join(facts).encode()).hexdigest()
                _hashing.unfinished.remove(self)
            return self.hash

    def _dependencies(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for name, value in sorted(self.get_capture_scope().items()):
            if isinstance(value, JITCallable):
                found.append((name, value.cache_key))
            elif isinstance(value, (bool, int, float, str, tuple)) or type(value).__name__ in ("constexpr", "dtype"):
                found.append((name, repr(value)))
        return found

    def get_capture_scope(self) -> dict[str, Any]:
        """The names of the function that are defined outside, and what they stand for now."""
        code = self.fn.__code__
        scope = {name: self.__globals__[name] for name in code.co_names if name in self.__globals__}
        for name, cell in zip(code.co_freevars, self.fn.__closure__ or (), strict=True):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
        return scope

    def parse(self) -> ast.Module:
        """The source as Python's syntax tree."""
        return ast.parse(self._src)

    def __reduce__(self) -> str:
        # By name, as functions are: other processes have their own.
        return self.__qualname__

    def __hash__(self) -> int:
        return hash(self._fn_name)

    def __eq__(self, other: object) -> bool:
        return self is other


class ConstexprFunction(JITCallable):
    """A function that runs in Python when a kernel that calls it is compiled; made by `shoal.constexpr_function`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._take(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..language.core import _unwrap_if_constexpr as unwrap

        kwargs.pop("_semantic", None)
        return self.fn(*map(unwrap, args), **{name: unwrap(value) for name, value in kwargs.items()})

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _Bound(self, instance)

    def __repr__(self) -> str:
        return f"ConstexprFunction({self.__module__}:{self.__qualname__})"


class _Bound:
    """A method of an instance that runs when a kernel is compiled."""

    def __init__(self, function: ConstexprFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Makes a function that kernels call with values known at compile time. It runs in Python, and may do all that
    Python can; its result is compiled in.
    """
    return ConstexprFunction(fn)
