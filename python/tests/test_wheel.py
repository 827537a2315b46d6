"""The wheel: it installs on a machine that has nothing but a C library, works there, and is small."""

import os
import re
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

WHEEL = os.environ.get("SHOAL_WHEEL")
pytestmark = pytest.mark.skipif(WHEEL is None, reason="no wheel was built: make wheel builds one and runs these tests")

# What every Linux machine with a Python of its own has.
ALLOWED = {
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libz.so.1",
}
MOST_BYTES = 150_000_000

PROGRAM = """
import numpy as np, shoal, shoal.language as tl

@shoal.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
out = np.empty_like(x)
add[(shoal.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
assert (out == x + y).all()
print(shoal.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of a new environment that has the wheel and nothing else."""
    place = tmp_path_factory.mktemp("wheel") / "env"
    venv.create(place, with_pip=True)
    pip = [str(place / "bin" / "python3"), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", WHEEL]
    subprocess.run(pip, check=True)
    return next(place.glob("lib/python3*/site-packages"))


def test_its_name_says_which_c_library_it_needs():
    tag = re.search(r"-cp310-abi3-manylinux_2_(\d+)_x86_64(\.\w+)?\.whl$", WHEEL)
    assert tag and int(tag[1]) <= 36, WHEEL


def test_it_is_small(installed: Path):
    record = next(installed.glob("shoal-*.dist-info/RECORD"))
    files = [installed / line.split(",")[0] for line in record.read_text().splitlines()]
    size = sum(file.stat().st_size for file in files if file.exists() and "__pycache__" not in file.parts)
    print(f"installed: {size / 1e6:.1f} MB")
    assert size <= MOST_BYTES


def test_it_needs_no_other_libraries(installed: Path):
    libraries = list(installed.glob("shoal*/**/*.so*"))
    assert libraries
    for library in libraries:
        dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        inside = {other.name for other in libraries}
        assert needed <= ALLOWED | inside, library


def test_it_has_types_and_texts(installed: Path):
    assert (installed / "shoal" / "py.typed").exists()
    assert (installed / "shoal" / "_native.pyi").exists()
    assert not list(installed.glob("shoal/**/tests"))


def test_it_compiles_and_runs_a_kernel(installed: Path, tmp_path: Path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    python = installed.parents[2] / "bin" / "python3"
    # NumPy comes from this environment, which finds the package through a path file; that counts for nothing there.
    env = {"PYTHONPATH": sysconfig.get_path("purelib"), "PATH": "/usr/bin:/bin", "SHOAL_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([python, str(script)], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(installed / "shoal" / "__init__.py")
