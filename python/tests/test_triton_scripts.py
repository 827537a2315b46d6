"""Programs written for Triton, unchanged: in a Python of their own, and in this one."""

import importlib.util
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import shoal.triton

SCRIPTS = Path(__file__).parent / "scripts"
ENVIRONMENT = {"interpreted": {"TRITON_INTERPRET": "1"}}


def parameters():
    for path in sorted(SCRIPTS.glob("*.py")):
        needs_torch = path.stem.endswith("_torch")
        absent = needs_torch and importlib.util.find_spec("torch") is None
        marks = [pytest.mark.torch, pytest.mark.skipif(absent, reason="needs torch")] if needs_torch else []
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("script", list(parameters()))
def test_in_a_python_of_its_own(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "shoal.triton", str(script), *arguments(script, tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **ENVIRONMENT.get(script.stem, {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "ok"


@pytest.mark.parametrize("script", list(parameters()))
def test_in_this_python(script, tmp_path, monkeypatch, capsys):
    for name, value in ENVIRONMENT.get(script.stem, {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", [str(script), *arguments(script, tmp_path)])
    from shoal.triton._internal_testing import fresh_knobs

    # torch's compiler, which other tests use, imports the Triton that came with it.
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
        monkeypatch.delitem(sys.modules, name)
    shoal.triton.install()
    try:
        with fresh_knobs() as knobs:
            for name, value in ENVIRONMENT.get(script.stem, {}).items():
                monkeypatch.setenv(name, value)
            runpy.run_path(str(script), run_name="__main__")
            assert knobs is shoal.knobs
    finally:
        shoal.triton.uninstall()
    assert capsys.readouterr().out.splitlines()[-1] == "ok"


def arguments(script, folder):
    return [str(folder)] if script.stem == "benchmark" else []
