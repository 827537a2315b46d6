"""What `importlib.metadata` says about `triton` where the drop-in is installed."""

from __future__ import annotations

import importlib.metadata
import pathlib
from typing import Any

from shoal.triton._install import NAME, VERSION


class Distribution(importlib.metadata.Distribution):
    """A package with a name and a version."""

    def read_text(self, filename: str) -> str | None:
        """The package's facts."""
        return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        """Where a file of the package is."""
        return pathlib.Path(__file__).parent / path
