"""Sessions: what is recorded between `start` and `finalize` is written to a file."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal import knobs
from shoal.runtime.driver import driver

from .tree import TIME, Node, write

DEFAULT_PROFILE_NAME = "proton"

_numbers = itertools.count()
_sessions: dict[int, Session] = {}


class Session:
    """A tree that grows while the session is active."""

    def __init__(self, name: str, *, by_metadata: bool) -> None:
        self.name, self.by_metadata, self.active = name, by_metadata, True
        self.root = Node("ROOT")
        self.path = [self.root]
        self.launched_at = 0

    def enter(self, name: str) -> Node:
        """Goes into a scope."""
        self.path.append(self.path[-1].child(name))
        return self.path[-1]

    def leave(self, node: Node) -> None:
        """Goes out of a scope, and of what was not left in it."""
        if node in self.path:
            del self.path[self.path.index(node) :]


def active_sessions() -> list[Session]:
    """Those that record now."""
    return [session for session in _sessions.values() if session.active]


def start(
    name: str | None = None,
    *,
    context: str | None = "shadow",
    data: str | None = "tree",
    backend: str | None = None,
    mode: Any = None,
    hook: str | None = None,
) -> int | None:
    """Begins a session; `finalize` writes it to `name.hatchet`.

    With `hook="triton"` kernels are named and counted as their `launch_metadata` says.
    """
    if knobs.proton.disable:
        return None
    if context != "shadow" or data != "tree" or backend == "instrumentation" or mode is not None:
        raise NotImplementedError(
            "a profile is a tree of scopes here: start it without context, data, backend and mode"
        )
    if hook not in (None, "triton"):
        raise ValueError(f"Unsupported hook: {hook!r}")
    if not _sessions:
        knobs.runtime.launch_enter_hook.add(_launching)
        knobs.runtime.launch_exit_hook.add(_launched)
    number = next(_numbers)
    _sessions[number] = Session(DEFAULT_PROFILE_NAME if name is None else name, by_metadata=hook == "triton")
    return number


def _chosen(session: int | None) -> list[Session]:
    return list(_sessions.values()) if session is None else [_sessions[session]]


def activate(session: int | None = None) -> None:
    """Records again, in one session or all."""
    for chosen in _chosen(session):
        chosen.active = True


def deactivate(session: int | None = None, flushing: bool = False) -> None:
    """Records nothing more for now, in one session or all."""
    for chosen in _chosen(session):
        chosen.active = False


def finalize(session: int | None = None, output_format: str | None = "") -> None:
    """Ends one session or all, and writes their files."""
    if output_format not in (None, "", "hatchet"):
        raise NotImplementedError(f"profiles are written as hatchet's JSON here, not as {output_format}")
    for number in list(_sessions) if session is None else [session]:
        ended = _sessions.pop(number)
        write(ended.root, Path(f"{ended.name}.hatchet"))
    if not _sessions:
        knobs.runtime.launch_enter_hook.remove(_launching)
        knobs.runtime.launch_exit_hook.remove(_launched)


def profile(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator: each call is a session, with the options of `start`."""
    if func is None:
        return functools.partial(profile, **options)

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        session = start(**options)
        try:
            return func(*args, **kwargs)
        finally:
            if session is not None:
                deactivate(session)

    return called


def _launching(metadata: Any) -> None:
    for session in active_sessions():
        session.launched_at = time.perf_counter_ns()


def _launched(metadata: Any) -> None:
    if driver.active.compiled_target().backend == "cuda":
        import torch

        torch.cuda.synchronize()
    now = time.perf_counter_ns()
    for session in active_sessions():
        facts = metadata.get() if session.by_metadata else {"name": metadata.name}
        counted = {key: value for key, value in facts.items() if key == "bytes" or key.startswith("flops")}
        session.path[-1].child(facts["name"]).add({**counted, "count": 1, TIME: now - session.launched_at})
