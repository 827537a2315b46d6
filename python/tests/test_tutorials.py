"""Each tutorial runs on four ranks, as threads, as processes and under `oshrun`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from distributed import needs_oshrun, oshrun

TUTORIALS = sorted((Path(__file__).parents[2] / "examples" / "tutorials").glob("[0-9]*.py"))


def run(command, folder):
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.parametrize("ranks", ["threads", "processes", pytest.param("openshmem", marks=needs_oshrun)])
def test_tutorial(tutorial, ranks, tmp_path):
    command = [sys.executable, str(tutorial)]
    if ranks == "processes":
        command = [sys.executable, "-m", "shoal", "launch", "-n", "4", "--", *command]
    elif ranks == "openshmem":
        command = [*oshrun(4), str(tutorial)]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # One world of four, of which rank 0 tells.
    assert done.stdout.count("ok: ") == 1, done.stdout + done.stderr


def test_there_are_tutorials():
    assert len(TUTORIALS) == 6


def test_the_first_tutorial_is_clean_and_races_when_it_is_launched_twice(tmp_path):
    check = [sys.executable, "-m", "shoal", "check", "--ranks", "2"]
    done = run([*check, str(TUTORIALS[0])], tmp_path)
    assert done.returncode == 0 and "check: clean: 2 ranks" in done.stdout, done.stdout + done.stderr
    # As docs/tutorials.md tells to change it.
    kernel, harness = TUTORIALS[0].read_text().split("@shoal.harness")
    twice = "    for launch in range(world.launches):\n        pass_on["
    (tmp_path / "twice.py").write_text(kernel + "@shoal.harness" + harness.replace("    pass_on[", twice))
    done = run([*check, "twice.py"], tmp_path)
    assert done.returncode == 1 and "data race" in done.stdout, done.stdout + done.stderr
