"""Registers something with a module of torch's when a program imports that module, and not before.

`torch._dynamo` takes seconds to import. A program that does not use `torch.compile` shall not pay for it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def when_imported(name: str, act: Callable[[ModuleType], None]) -> None:
    """Calls `act` with the module: now if it has been imported, else as soon as it is."""
    module = sys.modules.get(name)
    if module is not None:
        act(module)
    else:
        sys.meta_path.insert(0, _Watcher(name, act))


class _Watcher(MetaPathFinder):
    """Stands before the other finders until the module is looked for."""

    def __init__(self, name: str, act: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.act = act

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ActingLoader(spec.loader, self.act)
        return spec


class _ActingLoader(Loader):
    """Loads a module as its own loader does, and acts then."""

    def __init__(self, loader: Loader, act: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.act = act

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on the module is its own loader's, for those who ask it for its source.
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.act(module)
