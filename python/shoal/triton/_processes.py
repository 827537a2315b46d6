"""Running a test's function in a process of its own: what it raised, and what went to standard error below Python.

A child is a fresh interpreter, so the drop-in is installed in it before anything of the test is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

_warming_up: ContextVar[bool] = ContextVar("shoal_compile_warmup", default=False)
_pool: ReplenishingProcessPool | None = None


@dataclass
class ProcessResult:
    """What became of a function in another process."""

    exc: BaseException | None
    driver_stderr_output: str


def is_compile_warmup() -> bool:
    """Whether tests only compile, without running anything."""
    return _warming_up.get()


def _call(function: Callable[..., Any], args: Any, kwargs: Any, env: Any, stderr_file: str) -> BaseException | None:
    os.environ.update(env or {})
    with open(stderr_file, "w+b") as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            function(*args, **kwargs)
        except Exception as error:
            return error
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
    return None


def _child(pipe: Any, preload_module: str | None) -> None:
    """Answers calls until the pipe is closed or one fails: a process whose test failed is not used again."""
    import shoal.triton

    shoal.triton.install()
    if preload_module is not None:
        importlib.import_module(preload_module)
    while True:
        try:
            call = pipe.recv()
        except EOFError:
            return
        before = dict(os.environ)
        error = _call(*call)
        os.environ.clear()
        os.environ.update(before)
        pipe.send(error)
        if error is not None:
            return


class _Process:
    """A child and the way to it."""

    def __init__(self, preload_module: str | None) -> None:
        context = multiprocessing.get_context("forkserver")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_child, args=(theirs, preload_module), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any, env: Any) -> ProcessResult:
        limit = os.environ.get("TRITON_TEST_PROCESS_TIMEOUT")
        with tempfile.TemporaryDirectory() as folder:
            stderr_file = os.path.join(folder, "err.log")
            self.pipe.send((function, args, kwargs, env, stderr_file))
            if not self.pipe.poll(None if limit is None else float(limit)):
                self.close()
                raise TimeoutError(f"test subprocess {function.__name__} exceeded its {limit}-second timeout")
            try:
                error = self.pipe.recv()
            except EOFError:
                self.process.join()
                raise RuntimeError(
                    f"child process exited with code {self.process.exitcode} without returning a result"
                ) from None
            with open(stderr_file, errors="replace") as file:
                return ProcessResult(error, file.read())

    def close(self) -> None:
        """Ends the child."""
        self.pipe.close()
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class ReplenishingProcessPool:
    """A process that runs functions one after the other, with another one ready to take its place when one fails."""

    def __init__(self, preload_module: str) -> None:
        self.preload_module = preload_module
        self.worker: _Process | None = None
        self.spare: _Process | None = None

    def start(self) -> None:
        """Starts both processes."""
        if self.worker is None:
            self.worker, self.spare = _Process(self.preload_module), _Process(self.preload_module)

    def close(self) -> None:
        """Ends both processes."""
        for process in (self.worker, self.spare):
            if process is not None:
                process.close()
        self.worker = self.spare = None

    def run(
        self, client_fn: Callable[..., Any], args: Any = (), kwargs: Any = None, env: Mapping[str, str] | None = None
    ) -> ProcessResult:
        """Calls a function in the process."""
        self.start()
        worker = self.worker
        assert worker is not None
        usable = False
        try:
            result = worker.run(client_fn, args, kwargs or {}, env)
            usable = result.exc is None
            return result
        finally:
            if not usable:
                worker.close()
                self.worker, self.spare = self.spare, _Process(self.preload_module)


@contextlib.contextmanager
def use_process_pool(preload_module: str) -> Iterator[ReplenishingProcessPool]:
    """While it lasts, `run_in_process` uses processes that have imported a module already."""
    global _pool
    pool = ReplenishingProcessPool(preload_module)
    pool.start()
    _pool = pool
    try:
        yield pool
    finally:
        _pool = None
        pool.close()


def run_in_process(
    client_fn: Callable[..., Any], args: Any = (), kwargs: Any = None, env: Mapping[str, str] | None = None
) -> Any:
    """Calls a function in another process and says what became of it."""
    if is_compile_warmup() or os.environ.get("DISABLE_SUBPROCESS"):
        return client_fn(*args, **(kwargs or {}))
    if _pool is not None:
        return _pool.run(client_fn, args, kwargs, env)
    process = _Process(None)
    try:
        return process.run(client_fn, args, kwargs or {}, env)
    finally:
        process.close()
