"""Python imports this when it starts, in processes that a program of the drop-in starts with the same interpreter.

There, too, `import triton` means Shoal, and torch does what was asked of it. Both happen when these are imported first:
processes that need neither start as they always do. Then the `sitecustomize` that this one hides has its turn.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class Follower:
    """Finds `triton` and `torch` when they are imported first, and does what is to be done then."""

    def find_spec(self, name, path=None, target=None):
        """The module's spec, of which importing it installs what was asked for."""
        if name in ("triton", "triton_dist"):
            _child().install_with([])
            return importlib.util.find_spec(name)
        if name == "torch" and _asked():
            spec = importlib.machinery.PathFinder.find_spec(name)
            if spec is not None and spec.loader is not None:
                spec.loader = TorchLoader(spec.loader)
            return spec
        return None


class TorchLoader:
    """Loads torch, and then installs what was asked of it."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """The module that torch's own loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module):
        """Runs torch as its own loader does."""
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _child().install_with(_asked())


def _asked():
    return os.environ.get("SHOAL_TRITON_OPTIONS", "").split()


def _child():
    return importlib.import_module("shoal.triton._child")


def _give_way():
    """Has the `sitecustomize` imported that this one hides."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
    hidden = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if hidden is not None:
        module = importlib.util.module_from_spec(hidden)
        sys.modules["sitecustomize"] = module
        hidden.loader.exec_module(module)


if "SHOAL_TRITON_OPTIONS" in os.environ and importlib.machinery.PathFinder.find_spec("shoal") is not None:
    sys.meta_path.insert(0, Follower())
_give_way()
