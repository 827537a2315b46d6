"""Tests that need an NVIDIA GPU: where there is none, all of them are skipped, with one line that says so."""

import importlib.util

import pytest

from shoal import _native


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips everything here without a GPU."""
    here = [item for item in items if "gpu" in item.path.parts]
    if _native.cuda_device_count() == 0:
        skip = pytest.mark.skip(reason="there is no NVIDIA GPU here")
    elif importlib.util.find_spec("torch") is None:
        skip = pytest.mark.skip(reason="torch is not installed")
    else:
        return
    for item in here:
        item.add_marker(skip)
