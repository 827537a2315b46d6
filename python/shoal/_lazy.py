"""Names of a package that are imported when they are asked for, so that importing the package takes a moment only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from typing import Any


def lazily(package: dict[str, Any], homes: Mapping[str, str], modules: Collection[str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package with this namespace: names come from their `homes`, `modules` are its own."""

    def find(name: str) -> Any:
        if name in homes:
            package[name] = getattr(importlib.import_module(homes[name]), name)
            return package[name]
        if name in modules:
            return importlib.import_module(f"{package['__name__']}.{name}")
        raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")

    return find
