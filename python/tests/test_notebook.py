"""Kernels that are defined where there is no file: notebook cells, prompts, source made while a program runs."""

from __future__ import annotations

import linecache
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import shoal
import shoal.language as sl

CELL = """
@shoal.jit
def kernel(x, VALUE: sl.constexpr):
    sl.store(x, VALUE)
"""


def run_cell(text, name, scope):
    """Runs a cell as notebooks do: its lines are known under a name that is no file."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)


@pytest.mark.parametrize(
    "name", ["<ipython-input-1-abc>", f"{tempfile.gettempdir()}/ipykernel_1234/567.py", "<generated>"]
)
def test_cells(name):
    scope = {"shoal": shoal, "sl": sl}
    run_cell(CELL, name, scope)
    x = np.zeros(1, np.int32)
    scope["kernel"][(1,)](x, 5)
    assert x[0] == 5


def test_a_cell_that_runs_again_replaces_the_kernel():
    scope = {"shoal": shoal, "sl": sl}
    x = np.zeros(1, np.int32)
    run_cell(CELL, "<cell 1>", scope)
    scope["kernel"][(1,)](x, 5)
    run_cell(CELL.replace("VALUE)", "VALUE + 1)"), "<cell 2>", scope)
    scope["kernel"][(1,)](x, 5)
    assert x[0] == 6


def test_errors_show_the_cell():
    scope = {"shoal": shoal, "sl": sl}
    run_cell(CELL.replace("VALUE)", "VALEU)"), "<ipython-input-7-abc>", scope)
    with pytest.raises(shoal.CompilationError, match="VALEU") as caught:
        scope["kernel"][(1,)](np.zeros(1, np.int32), 5)
    assert "<ipython-input-7-abc>:4" in str(caught.value)


def test_functions_without_source_say_what_to_do():
    scope = {"shoal": shoal, "sl": sl}
    with pytest.raises(ValueError, match="should be defined in a Python file") as caught:
        exec(compile(CELL, "<made up>", "exec"), scope)
    assert "linecache.cache['<made up>']" in str(caught.value)
    with pytest.raises(ValueError, match="a notebook or IPython"):
        exec(compile(CELL, "<string>", "exec"), scope)
    with pytest.raises(TypeError, match="a kernel is a Python function"):
        shoal.jit(len)


def test_lambdas_are_no_kernels():
    with pytest.raises(ValueError, match="kernels are functions with a name"):
        shoal.jit(lambda x: x)


def test_kernels_inside_functions_and_classes():
    class Kernels:
        @staticmethod
        @shoal.jit
        def fill(x, V: sl.constexpr):
            """Text
            that is indented less."""
            sl.store(x, V)

    x = np.zeros(1, np.int32)
    Kernels.fill[(1,)](x, 3)
    assert x[0] == 3


def test_ipython():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_cell("import numpy as np, shoal, shoal.language as sl", store_history=True)
    shell.run_cell(CELL, store_history=True)
    result = shell.run_cell("x = np.zeros(1, np.int32); kernel[(1,)](x, 9); int(x[0])", store_history=True)
    assert result.result == 9


@pytest.mark.skipif(sys.version_info < (3, 13), reason="earlier prompts keep no text")
def test_the_prompt_of_python():
    launch = "x = np.zeros(1, np.int32)\nkernel[(1,)](x, 4)\nprint(x)\n"
    text = f"import numpy as np, shoal, shoal.language as sl\n{CELL}\n{launch}"
    ran = subprocess.run([sys.executable, "-i", "-q"], input=text, capture_output=True, text=True, timeout=120)
    assert "[4]" in ran.stdout, ran.stderr


def test_importing_takes_a_moment_only():
    """NumPy, torch and the modules of the package that are not needed stay where they are."""
    unneeded = ("numpy", "torch", "shoal.testing", "inspect")
    code = f"import sys; before = set(sys.modules); import shoal; print({{*{unneeded}}} & ({{*sys.modules}} - before))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "set()\n", ran.stderr
