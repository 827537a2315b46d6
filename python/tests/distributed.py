"""Programs of several ranks, started as people start them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def shoal_launch(n: int) -> list[str]:
    """`shoal launch`."""
    return [sys.executable, "-m", "shoal", "launch", "-n", str(n), "--", sys.executable]


def torchrun(n: int) -> list[str]:
    """`torchrun`."""
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n)]


def oshrun(n: int) -> list[str]:
    """Open MPI's `oshrun`."""
    engine = ["--engine", "openshmem"]
    return [sys.executable, "-m", "shoal", "launch", *engine, "-n", str(n), "--", sys.executable]


needs_oshrun = pytest.mark.skipif(
    shutil.which("oshrun") is None, reason="Open MPI's oshrun is not installed (Debian: openmpi-bin libopenmpi-dev)"
)


def start(command: list[str], script: str, folder: Path, **environment: str) -> "subprocess.Popen[str]":
    """Starts a program, whatever becomes of it."""
    path = folder / "script.py"
    path.write_text(script)
    return subprocess.Popen(
        [*command, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "SHOAL_TIMEOUT": "60", **environment},
    )


def run(command: list[str], text: str, folder: Path, *options: str, timeout: int = 240) -> str:
    """Runs a program, as a module's argument where `options` name one; it must end well. Gives what it printed."""
    script = folder / "program.py"
    script.write_text(text)
    done = subprocess.run(
        [*command, *options, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        cwd=folder,
        env={**os.environ, "SHOAL_TIMEOUT": "90", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
