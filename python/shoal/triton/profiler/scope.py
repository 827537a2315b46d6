"""Scopes: names and numbers for what runs in a part of a host program."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from .session import Session, active_sessions
from .tree import TIME, Node

_entered: list[scope] = []


class scope:
    """A scope as a context manager or a decorator: `with scope("step", {"bytes": 4096}):`."""

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        self.name, self.metrics = name, metrics
        self._in: list[list[tuple[Session, Node, float, int]]] = []

    def __enter__(self) -> scope:
        self._in.append([])
        for session in active_sessions():
            node = session.enter(self.name)
            node.add({name: float(value) for name, value in (self.metrics or {}).items()})
            self._in[-1].append((session, node, node.count_kernels(), time.perf_counter_ns()))
        return self

    def __exit__(self, *raised: object) -> None:
        for session, node, kernels, start in self._in.pop():
            passed = time.perf_counter_ns() - start
            if node.count_kernels() == kernels and not node.children:
                node.add({TIME: passed})
            self._timed(node, passed)
            session.leave(node)

    def _timed(self, node: Node, passed: int) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return called


class cpu_timed_scope(scope):
    """A scope with the metric `cpu_time`: how long the host was in it."""

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        if metrics and "cpu_time" in metrics:
            raise ValueError("The metric name 'cpu_time' is reserved.")
        super().__init__(name, metrics)

    def _timed(self, node: Node, passed: int) -> None:
        node.add({"cpu_time (ns)(exc)": passed})


def enter_scope(name: str, *, metrics: Mapping[str, Any] | None = None) -> int:
    """Goes into a scope, which `exit_scope` ends; gives how many are open."""
    _entered.append(scope(name, metrics).__enter__())
    return len(_entered)


def exit_scope(name: str | None = None, *, metrics: Mapping[str, Any] | None = None) -> int:
    """Goes out of the last scope; gives how many were open."""
    opened = len(_entered)
    left = _entered.pop()
    if name is not None and name != left.name:
        raise ValueError(f"Scope name mismatch: {name} != {left.name}")
    for _, node, _, _ in left._in[-1]:
        node.add({key: float(value) for key, value in (metrics or {}).items()})
    left.__exit__()
    return opened
