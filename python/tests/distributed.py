"""Programs of several ranks, started as people start them."""

import os
import subprocess
import sys
from pathlib import Path


def shoal_launch(n: int) -> list[str]:
    """`shoal launch`."""
    return [sys.executable, "-m", "shoal", "launch", "-n", str(n), "--", sys.executable]


def torchrun(n: int) -> list[str]:
    """`torchrun`."""
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n)]


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
