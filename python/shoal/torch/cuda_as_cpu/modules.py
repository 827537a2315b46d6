"""Modules that are made because the libraries that have them are not installed, or could not start without a GPU."""

from __future__ import annotations

import importlib.machinery
import sys
from types import ModuleType


def made_module(name: str) -> ModuleType:
    """A module and the packages that it is in, of which those that exist stay."""
    above, _, last = name.rpartition(".")
    if name in sys.modules:
        return sys.modules[name]
    parent = made_module(above) if above else None
    module = ModuleType(name, "Stands for the library of this name, where CUDA is played by the CPU.")
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    if parent is not None:
        setattr(parent, last, module)
    return module
