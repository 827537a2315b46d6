"""The exceptions of Shoal. Their texts are the compiler's diagnostics: the place in the source, and a way out."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class ShoalError(Exception):
    """What all errors of Shoal have in common."""

    error_message: str | None = None

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message or ""


class CompilationError(ShoalError):
    """A kernel is wrong. The text shows the line; `error_message` is the first message alone, with Triton's words below
    where the drop-in is installed.
    """

    def __init__(self, src: str | None, node: ast.AST | None = None, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.src = src
        self.node = node
        self.message = self._format_message()

    def _format_message(self) -> str:
        line = getattr(self.node, "lineno", None)
        if self.src is None or line is None:
            shown = self.src or " <source unavailable>"
        else:
            column = getattr(self.node, "col_offset", 0)
            lines = self.src.split("\n")[:line][-12:]
            shown = "\n".join([f"at {line}:{column}:", *lines, " " * column + "^"])
        return f"{shown}\n{self.error_message}" if self.error_message else shown

    def _note_if(self, word: str, note: str) -> None:
        """Adds a note, if the text has a word in it."""
        if word in self.message:
            self.message = f"{self.message}\n   = note: {note}"

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, self.__dict__)


class CompileTimeAssertionFailure(CompilationError):
    """A `static_assert` does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    """A statement or an expression that Python has and kernels have not."""


class OutOfResources(ShoalError):
    """The machine has not enough of something for a kernel."""

    def __init__(self, required: Any, limit: Any, name: str) -> None:
        super().__init__(
            f"out of resource: {name}, Required: {required}, Hardware limit: {limit}. "
            "Smaller blocks or a lower `num_stages` need less."
        )
        self.required = required
        self.limit = limit
        self.name = name

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, self.__dict__)


class KernelFault(ShoalError, RuntimeError):
    """A program of a launch failed: `program` is its id, `file` and `line` the place, where they are known."""

    kernel: str | None = None
    program: tuple[int, int, int] | None = None
    file: str | None = None
    line: int | None = None


class InterpreterError(ShoalError):
    """The interpreter cannot go on."""


class InterpreterFault(InterpreterError, KernelFault):
    """A program failed while the interpreter ran it: an access out of bounds, an assert, a deadlock."""


class WorldError(ShoalError, RuntimeError):
    """A world has failed, or cannot be what was asked for.

    `rank` is the one that failed, where there is one; `differs`: what it did is not what the others did; `waits` says
    what ranks waited for when that happened, those at fault first.
    """

    rank: int | None = None
    differs: bool = False
    waits: list[str] = []


class DeadlockError(KernelFault, WorldError):
    """Ranks wait for each other in vain; `waits` says, for every rank, what for.

    `rank` is the one at fault, as far as that shows.
    """


class AutotunerError(ShoalError):
    """No configuration of a kernel can be used."""

    def __str__(self) -> str:
        return f"Autotuner error: {self.error_message or ''}"


def _rebuild(kind: type[ShoalError], args: tuple[Any, ...], state: dict[str, Any]) -> ShoalError:
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made


other_words: Callable[[str], tuple[str, Exception | None]] | None = None
"""Set by the drop-in for Triton: adds what Triton says to a diagnostic, and gives what Triton raises."""


def with_other_words(text: str) -> tuple[str, Exception | None]:
    """A diagnostic with a note of what Triton says where the drop-in is installed, and what Triton raises."""
    return (text, None) if other_words is None else other_words(text)


def from_native(kind: str, text: str, **facts: Any) -> ShoalError:
    """An exception of this module with a rendered diagnostic as its text, and attributes."""
    found: type[ShoalError] = globals()[kind]
    cause = None
    if issubclass(found, CompilationError):
        text, cause = with_other_words(text)
    elif other_words is not None and issubclass(found, KernelFault) and text.endswith("(device_assert)"):
        text = f"{text}\n  = note: CUDA says: device-side assert triggered"
    made = found.__new__(found, text)
    made.__cause__ = cause
    made.__dict__.update({"error_message": text, "message": text, "src": None, "node": None, **facts})
    if cause is not None and not isinstance(cause, CompilationError):
        made.error_message = f"{made.error_message}\n{cause}"
    if isinstance(made, OutOfResources):
        made.__dict__.update({"required": None, "limit": None, "name": text})
    return made
