"""Tests written for Triton run with Shoal: `pytest -p shoal.triton.pytest_plugin --shoal-triton`.

`--cuda-as-cpu` lets those that say "cuda" to torch run on the CPU, and implies the former.
"""

from __future__ import annotations

from typing import Any

import pytest

from shoal.triton import _child
from shoal.triton._install import install


def pytest_addoption(parser: Any) -> None:
    """The options."""
    group = parser.getgroup("shoal", "Triton's names for Shoal")
    group.addoption("--shoal-triton", action="store_true", help="`import triton` means Shoal")
    group.addoption("--cuda-as-cpu", action="store_true", help="the same, and the device `cuda` means the CPU")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Installs the drop-in before anything of the tests is imported."""
    asked = early_config.known_args_namespace
    if asked.shoal_triton or asked.cuda_as_cpu:
        install(cuda_as_cpu=asked.cuda_as_cpu)
        _child.follow(["--cuda-as-cpu"] if asked.cuda_as_cpu else [])
