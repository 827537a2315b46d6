"""Where the runtime of kernels that are compiled ahead of time lies."""

from __future__ import annotations

from pathlib import Path

from shoal import _native


def folders() -> list[str]:
    """Beside this file in a wheel, beside the native module in a build."""
    return [str(Path(__file__).parent / "lib"), str(Path(_native.__file__).resolve().parent)]
