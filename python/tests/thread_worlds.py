"""Worlds whose ranks are threads: of a test itself, and of a program of its own."""

import os
import subprocess
import sys

import shoal


def world(n, **options):
    """With a small heap, and time enough on a busy machine."""
    return shoal.World.threads(n, heap_bytes=1 << 24, timeout=60, **options)


def run_script(text, tmp_path, timeout=120, args=(), **environment):
    """Runs a program and gives how it ended."""
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.run(
        [sys.executable, script, *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )
