"""Each tutorial runs on four ranks, as threads and as processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "examples" / "tutorials").glob("[0-9]*.py"))


def run(command, folder):
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.parametrize("ranks", ["threads", "processes"])
def test_tutorial(tutorial, ranks, tmp_path):
    command = [sys.executable, str(tutorial)]
    if ranks == "processes":
        command = [sys.executable, "-m", "shoal", "launch", "-n", "4", "--", *command]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok: " in done.stdout, done.stdout + done.stderr


def test_there_are_tutorials():
    assert len(TUTORIALS) == 6
