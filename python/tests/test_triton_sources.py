"""`python -m shoal.triton`: programs that come as a text, and scripts that are in no package."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def fill(x, VALUE: tl.constexpr):
    tl.store(x, VALUE)

x = np.zeros(1, np.float32)
fill[(1,)](x, 4.5)
print(x[0], sys.argv[1:])

@triton.jit
def wrong(x):
    tl.lod(x)

wrong[(1,)](x)
"""


def run(*arguments, stdin=None):
    command = [sys.executable, "-m", "shoal.triton", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("arguments", "stdin", "name"),
    [(("-c", PROGRAM), None, "string"), (("-",), PROGRAM, "stdin")],
)
def test_kernels_in_a_program_without_a_file_are_compiled_and_shown_in_errors(arguments, stdin, name):
    done = run(*arguments, "a", "b", stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "4.5 ['a', 'b']\n"), done.stderr
    assert f"--> <{name}>:17:8" in done.stderr
    assert "tl.lod(x)" in done.stderr


def test_a_script_is_in_no_package(tmp_path):
    (tmp_path / "script.py").write_text("from .runtime import driver\n")
    done = run(tmp_path / "script.py")
    assert done.returncode == 1
    assert "ImportError: attempted relative import with no known parent package" in done.stderr


def test_modules_of_triton_are_run_by_name(tmp_path):
    (tmp_path / "add_one.py").write_text(
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef add_one(x, N: tl.constexpr):\n    at = x + tl.arange(0, N)\n"
        "    tl.store(at, tl.load(at) + 1)\n"
    )
    kernel = (tmp_path / "add_one.py", "--kernel-name", "add_one", "--signature", "*fp32, 16", "--grid", "1, 1, 1")
    done = run("-m", "triton.tools.compile", *kernel, "--out-path", tmp_path / "add_one")
    assert done.returncode == 0, done.stderr
    assert "add_one_launch" in (tmp_path / "add_one.h").read_text()
