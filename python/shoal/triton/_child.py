"""The drop-in in processes that a program of it starts.

Those of the same interpreter import `_startup/sitecustomize.py` when they start.
"""

import os

from shoal.triton._install import install

ASKED = "SHOAL_TRITON_OPTIONS"
OPTIONS = {"--cuda-as-cpu": "cuda_as_cpu", "--symmetric-memory": "symmetric_memory"}
"""What can be asked of the drop-in besides."""


def install_with(asked: list[str]) -> None:
    """Installs the drop-in with these options."""
    install(**{OPTIONS[option]: True for option in asked})


def follow(asked: list[str]) -> None:
    """Installs the drop-in with these options in the processes of this interpreter that this one starts."""
    os.environ[ASKED] = " ".join(asked)
    folder = os.path.join(os.path.dirname(__file__), "_startup")
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *paths])
