"""What all tests share: a kernel cache of their own, and no test that needs torch where there is none."""

import importlib.util
import os
import tempfile

import pytest

# The compiler reads this once, so it is set before anything is imported.
_cache = tempfile.TemporaryDirectory(prefix="shoal-tests-")
os.environ["SHOAL_CACHE_DIR"] = _cache.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with the mark `torch` are skipped, and say so, if there is no torch."""
    if importlib.util.find_spec("torch") is not None:
        return
    skip = pytest.mark.skip(reason="torch is not installed")
    for item in items:
        if item.get_closest_marker("torch"):
            item.add_marker(skip)
