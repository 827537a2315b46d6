"""Runs a program written for Triton: `python -m shoal.triton script.py args…`; also `-m module`, `-c code`, `-`.

Options before it: `--cuda-as-cpu` (what says "cuda" to torch runs on the CPU) and `--symmetric-memory`
(`torch.distributed._symmetric_memory` works on CPU tensors; part of the former).

The program sees what it would see under plain `python`: its own `sys.argv`, itself as `__main__`, its folder first in
`sys.path`; its errors end it with its own traceback.
"""

from __future__ import annotations

import builtins
import io
import linecache
import os
import runpy
import sys
from types import CodeType, ModuleType

from shoal.triton import _child

USAGE = (
    "usage: python -m shoal.triton [--cuda-as-cpu] [--symmetric-memory] "
    "(script.py | -m module | -c code | -) [arguments…]"
)


def _run_as_main(code: CodeType, file: str | None) -> None:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    if file is not None:
        main.__file__ = file
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _text(text: str, name: str) -> None:
    """Runs a text that is in no file; Python finds the lines of its kernels, and of its errors, in the line cache."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    sys.path[0] = ""
    _run_as_main(compile(text, name, "exec", dont_inherit=True), None)


def _script(path: str, arguments: list[str]) -> None:
    if os.path.isdir(path) or path.endswith(".zip"):
        sys.argv = [path, *arguments]
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    _run_as_main(compile(text, path, "exec", dont_inherit=True), path)


def main(arguments: list[str]) -> None:
    """Runs what the command line names."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE if not arguments else f"{USAGE}\n\n{__doc__}", file=sys.stderr if not arguments else sys.stdout)
        raise SystemExit(0 if arguments else 2)
    asked = []
    while arguments and arguments[0] in _child.OPTIONS:
        asked.append(arguments.pop(0))
    if not arguments:
        print(USAGE, file=sys.stderr)
        raise SystemExit(2)
    try:
        _child.install_with(asked)
    except RuntimeError as error:
        print(f"shoal.triton: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    _child.follow(asked)
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c"):
        if not rest:
            print(USAGE, file=sys.stderr)
            raise SystemExit(2)
        sys.argv = [first, *rest[1:]]
        if first == "-m":
            sys.path[0] = os.getcwd()
            sys.argv[0] = rest[0]
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            _text(rest[0], "<string>")
    elif first == "-":
        sys.argv = arguments
        _text(sys.stdin.read(), "<stdin>")
    else:
        _script(first, rest)


def _without_our_frames(error: BaseException) -> None:
    """Leaves what the program itself did in an error's traceback."""
    traceback = error.__traceback__
    ours = {__file__, runpy.__file__, "<frozen runpy>"}
    while traceback is not None and traceback.tb_frame.f_code.co_filename in ours:
        traceback = traceback.tb_next
    error.__traceback__ = traceback


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SystemExit:
        raise
    except BaseException as error:
        _without_our_frames(error)
        sys.last_value = error  # as plain Python leaves it, for those who look when the process ends
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)
