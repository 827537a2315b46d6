"""The command `shoal`, as the package has it."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

import shoal

KERNEL = """
import shoal
import shoal.language as sl


@shoal.jit
def twice(x, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(x + at, sl.load(x + at, mask=at < n) * 2, mask=at < n)
"""


def command(*words, **options):
    """Runs the command in another process."""
    return subprocess.run(
        [sys.executable, "-m", "shoal", *words], capture_output=True, text=True, timeout=120, **options
    )


def test_it_says_its_version():
    said = command("--version")
    assert (said.returncode, said.stdout.split()) == (0, ["shoal", shoal.__version__])


def test_it_is_beside_the_python_that_has_the_package():
    beside = Path(sys.executable).with_name("shoal")
    done = subprocess.run([beside, "--version"], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == command("--version").stdout != ""


def test_wrong_words_are_an_error():
    said = command("fly")
    assert said.returncode == 2 and "unrecognized subcommand" in said.stderr


def test_a_library_that_needs_no_python(tmp_path):
    (tmp_path / "twice.py").write_text(KERNEL)
    said = command("compile", "twice.py:twice", "-s", "*fp32, i32, 64", "--emit", "so", cwd=tmp_path)
    assert said.returncode == 0, said.stderr

    class Grid(ctypes.Structure):
        _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]

    library = ctypes.CDLL(str(tmp_path / "libtwice.so"))
    library.twice_launch.argtypes = [Grid, ctypes.c_void_p, ctypes.c_int32]
    x = np.random.default_rng(0).random(100, np.float32)
    wanted = x * 2
    assert library.twice_launch(Grid(2, 1, 1), x.ctypes.data, x.size) == 0
    np.testing.assert_array_equal(x, wanted)


def test_the_doctor_asks_the_python_that_runs_it():
    # A `python3` that comes first on the path is not asked.
    told = command("doctor", env={**os.environ, "PATH": "/nowhere", "SHOAL_BENCH_PYTHON": ""}).stdout
    found = dict(line.split(None, 1) for line in told.splitlines())
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__


def test_a_setting_that_cannot_be_read_is_an_error():
    command = [
        sys.executable,
        "-m",
        "shoal",
        "compile",
        f"{Path(__file__).parents[2]}/examples/add.py:add",
        "--signature",
    ]
    command += ["*kfp32, *kfp32, *fp32, i32, 1024", "--emit", "tile"]
    done = subprocess.run(
        command, env={**os.environ, "SHOAL_DEBUG": "perhaps"}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0 and "SHOAL_DEBUG=perhaps cannot be used: it must be 1 or 0" in done.stderr
