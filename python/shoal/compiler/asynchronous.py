"""Compiling in the background.

with shoal.AsyncCompileMode(ThreadPoolExecutor()):
    a = first.warmup(...)       # returns at once
    b = second.warmup(...)
# both are compiled here
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, as_completed
from contextvars import ContextVar
from typing import Any

active_mode: ContextVar[AsyncCompileMode | None] = ContextVar("shoal_async_compile_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled. Asking it anything waits for it."""

    def __init__(
        self,
        finalize_compile: Callable[[Any], Any],
        cleanup_compile: Callable[[FutureKernel], Any],
        future: Future[Any],
    ) -> None:
        self.finalize_compile = finalize_compile
        self.cleanup_compile = cleanup_compile
        self.kernel: Any = None
        self.future: Future[Any] | None = future

    def result(self, ignore_errors: bool = False) -> Any:
        """The compiled kernel; None if it could not be compiled and errors are ignored."""
        if self.future is None:
            return self.kernel
        future, self.future = self.future, None
        try:
            self.kernel = future.result()
        except Exception:
            self.cleanup_compile(self)
            if ignore_errors:
                return None
            raise
        self.finalize_compile(self.kernel)
        return self.kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result(), name)

    def __getitem__(self, grid: Any) -> Any:
        return self.result()[grid]


class AsyncCompileMode:
    """While it is entered, kernels are compiled by an executor; on leaving it, all of them are ready."""

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.raw_futures: dict[Future[Any], FutureKernel] = {}
        self.future_kernels: dict[Any, FutureKernel] = {}

    def submit(
        self,
        key: Any,
        compile_fn: Callable[[], Any],
        finalize_fn: Callable[[Any], Any] = lambda kernel: None,
        cleanup_fn: Callable[[FutureKernel], Any] = lambda future: None,
    ) -> FutureKernel:
        """Has a kernel compiled, unless one with this key is on its way."""
        known = self.future_kernels.get(key)
        if known is not None:
            return known
        future = self.executor.submit(compile_fn)
        kernel = FutureKernel(finalize_fn, cleanup_fn, future)
        self.raw_futures[future] = kernel
        self.future_kernels[key] = kernel
        return kernel

    def __enter__(self) -> AsyncCompileMode:
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *_: Any) -> None:
        active_mode.set(None)
        try:
            for future in as_completed(self.raw_futures):
                self.raw_futures[future].result(self.ignore_errors)
        finally:
            self.raw_futures, self.future_kernels = {}, {}
