"""The modules of Gluon: names of the language where it has them, and others that do nothing."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_MODULES = (
    *("language", "language.core", "language.extra", "language.nvidia", "language.nvidia.ampere"),
    *("language.nvidia.hopper", "language.nvidia.blackwell", "language.amd", "language.amd.cdna3"),
    *("language.amd.cdna4", "language.amd.gfx1250", "nvidia", "nvidia.ampere", "nvidia.hopper", "nvidia.blackwell"),
    *("amd", "amd.gfx1250"),
)
_OF_TRITON = {"": "shoal.triton", "language": "shoal.language", "language.extra": "shoal.language.extra"}


class _Names(type):
    """Names have names in them."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Names(f"{cls.__name__}.{name}", (Unavailable,), {})


class Unavailable(metaclass=_Names):
    """What only kernels of Gluon use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def find(module: str, name: str) -> Any:
    """What a module of Gluon has under a name."""
    if name.startswith("_"):
        raise AttributeError(f"there is no {name} in triton.experimental.gluon")
    below = f"{module}.{name}" if module else name
    if below in _MODULES:
        return importlib.import_module(f"{__package__}.{below}")
    place = _OF_TRITON.get(module)
    if place is not None and hasattr(found := importlib.import_module(place), name):
        return getattr(found, name)
    return _Names(name, (Unavailable,), {})


class _Module(ModuleType):
    tail = ""

    def __getattr__(self, name: str) -> Any:
        return find(self.tail, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    package = __package__

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        known = fullname.startswith(self.package + ".") and fullname[len(self.package) + 1 :] in _MODULES
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.tail = spec.name[len(self.package) + 1 :]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


_finder: Any = _Finder()
sys.meta_path.append(_finder)
