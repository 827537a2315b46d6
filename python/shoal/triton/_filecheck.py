"""Triton's tests of its front end: kernels are compiled. Those of the IR's text fail when run: Shoal has another IR."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from shoal.backends.compiler import GPUTarget

stub_target = GPUTarget("cuda", 100, 32)


class MatchError(ValueError):
    """A text is not as expected."""

    def __init__(self, message: str, module_str: str) -> None:
        super().__init__(message)
        self.module_str = module_str


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "this test compares the text of Triton's IR, and Shoal has another: `kernel.asm` and shoal's own file tests"
    )


def run_filecheck(name: str, module_str: str, check_template: str) -> None:
    """Compares the text of a module with a template."""
    _refuse()


class Module:
    """The IR of a kernel: Shoal's."""

    def __init__(self, text: str) -> None:
        self.text = text

    def str_nodebug(self) -> str:
        """Its text."""
        return self.text

    def __str__(self) -> str:
        return self.text


def run_parser(kernel_fn: Any, args: Any = (), kwargs: Any = None, target: Any = stub_target) -> Module:
    """Compiles a kernel for arguments, whatever the target; gives its IR."""
    return Module(kernel_fn.warmup(*args, grid=(1,), **(kwargs or {})).asm["ttir"])


def run_filecheck_test(kernel_fn: Any, args: Any = (), kwargs: Any = None, target: Any = stub_target) -> None:
    """Compares the IR of a kernel with the comments in its text."""
    _refuse()


def filecheck_test(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a test of a kernel with comments in its text."""

    @functools.wraps(fn)
    def test(*args: Any, **kwargs: Any) -> None:
        _refuse()

    return test
