"""Triton's tests of its IR's text. Shoal has another IR: such a test fails when it runs, and not its whole file."""

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


def run_parser(kernel_fn: Any, args: Any = (), kwargs: Any = None, target: Any = stub_target) -> Any:
    """The IR of a kernel."""
    _refuse()


def run_filecheck_test(kernel_fn: Any) -> None:
    """Compares the IR of a kernel with the comments in its text."""
    _refuse()


def filecheck_test(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a test of a kernel with comments in its text."""

    @functools.wraps(fn)
    def test(*args: Any, **kwargs: Any) -> None:
        _refuse()

    return test
