"""Checking kernels of several ranks: races, deadlocks, stray accesses."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def check(
    target: str | Callable[..., Any],
    *,
    ranks: Iterable[int] = (2, 3, 4),
    schedules: int = 200,
    launches: int = 2,
    seed: int = 1,
    resident: int | None = None,
    device: str | None = None,
    params: Mapping[str, Any] | None = None,
    replay: str | None = None,
) -> dict[str, Any]:
    """Runs `shoal check`, and gives what it says as a dictionary.

    `target` is a harness (a function with the decorator `@shoal.harness`), `"FILE.py"`, `"FILE.py:NAME"` or the name
    of a kernel of the library. Raises `AssertionError` with the report if anything is found: a test is one call.
    `replay` is the token of a report: that run alone is made again.
    """
    name = target if isinstance(target, str) else f"{inspect.getsourcefile(target)}:{target.__name__}"
    words = [name, "--json", f"--ranks={','.join(map(str, ranks))}", f"--schedules={schedules}"]
    words += [f"--launches={launches}", f"--seed={seed}"]
    words += [f"--resident={resident}"] if resident is not None else []
    words += [f"--device={device}"] if device is not None else []
    words += [f"--set={key}={value!r}" for key, value in (params or {}).items()]
    words += [f"--replay={replay}"] if replay is not None else []
    done = subprocess.run([sys.executable, "-m", "shoal", "check", *words], capture_output=True, text=True)
    if not done.stdout.strip():
        raise ValueError(done.stderr.strip() or f"shoal check ended with status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise ValueError(answer["error"])
    if not answer["clean"]:
        results = [result for harness in answer["harnesses"] for result in harness["results"]]
        raise AssertionError("\n".join(result["report"] for result in results if not result["clean"]))
    return answer
