"""The source of live functions: from files, from notebook cells, from whatever Python keeps the lines of."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_DEF = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """The lines of a function as they stand in their file, and where they begin."""

    lines: list[str]
    first_line: int
    file: str

    @property
    def from_def(self) -> tuple[str, int]:
        """The text from `def` on, without the indentation of that line, and the line it begins on."""
        indent = self.lines[0][: len(self.lines[0]) - len(self.lines[0].lstrip())]
        text = "".join(line[len(indent) :] if line.startswith(indent) else line for line in self.lines)
        found = _DEF.search(text)
        if found is None:
            place = f"{self.file}:{self.first_line}"
            raise ValueError(f"{place}: no `def` was found here; kernels are functions with a name")
        return text[found.start() :], self.first_line + text.count("\n", 0, found.start())


def name_in(text: str, otherwise: str) -> str:
    """The name that a text from `def` on defines: programs may have given the function another one since."""
    found = _DEF.match(text)
    return otherwise if found is None else found[1]


def text_of(fn: Callable[..., Any]) -> Text:
    """The lines of a function.

    Raises ValueError, with what to do about it, if Python does not have them.
    """
    code = getattr(fn, "__code__", None)
    if code is None:
        raise TypeError(f"a kernel is a Python function, but this is of type {type(fn).__name__}")
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError, IndexError):
        raise ValueError(_no_source(fn.__name__, code.co_filename)) from None
    return Text(lines, max(first, 1), code.co_filename)


def _no_source(name: str, file: str) -> str:
    text = (
        f"the source of `{name}` cannot be found ({file}), and without it there is nothing to compile. "
        "@jit functions should be defined in a Python file"
    )
    if file in ("<stdin>", "<string>") or file.startswith("<python-input"):
        newer = "" if sys.version_info >= (3, 13) else ", or the interactive prompt of Python 3.13 or later"
        return f"{text}, a notebook or IPython{newer}: Python keeps no text of what comes from `{file}`."
    if file.startswith("<"):
        return (
            f"{text}. For source that is made while the program runs, register it before: "
            f"`linecache.cache[{file!r}] = (len(text), None, text.splitlines(True), {file!r})`."
        )
    return f"{text}; look whether {file} is still there and can be read."
