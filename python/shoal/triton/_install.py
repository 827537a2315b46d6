"""Makes `import triton` mean this package, and undoes it.

A finder at the front of `sys.meta_path` answers for `triton` and everything below it. `triton.a.b` is the module
`shoal.triton.a.b` where there is one, else `shoal.a.b`: the same module object under a second name, so that what is set
in one is seen in the other. `triton_dist`, by which distributed programs import theirs, is `shoal.triton_dist`, and
`triton_dist.language` the language again. What those have not, Triton-distributed's kernels, layers and models among
them, is taken from a Triton-distributed that is installed or on the path, unchanged.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

from shoal import errors
from shoal.knobs import cache_knobs
from shoal.language._constexpr import constexpr
from shoal.language._dtype import dtype
from shoal.language._host import name_package
from shoal.triton import _inner_names
from shoal.triton.messages import with_note

NAME = "triton"
VERSION = "3.9.0"
PLACES = ("shoal.triton", "shoal")

# What distributed programs import, and the packages that stand for it.
DISTRIBUTED = {
    "triton_dist.language.distributed_ops": "shoal.language",
    "triton_dist.language.extra.cuda.tma_language": "shoal.triton_dist.shared_memory",
    "triton_dist.language.simt_ops": "shoal.language",
    "triton_dist.language.smem_ops": "shoal.triton_dist.shared_memory",
    "triton_dist.language.tma": "shoal.triton_dist.shared_memory",
    "triton_dist.language": "shoal.language",
    "triton_dist": "shoal.triton_dist",
}


class _Finder:
    """Finds the modules of `triton`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module with this name, if it is one of Triton's."""
        root = fullname.partition(".")[0]
        if root not in (NAME, "triton_dist"):
            return None
        real = _real_name(fullname[len(NAME) :]) if root == NAME else _distributed_name(fullname)
        if real is None and root != NAME:
            spec = _installed_spec(fullname)
            if spec is not None:
                return spec
        if real is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: Shoal's drop-in has none of this name", name=fullname
            )
        spec = importlib.util.find_spec(real)
        package = spec is not None and spec.submodule_search_locations is not None
        origin = spec.origin if spec is not None else None
        return importlib.machinery.ModuleSpec(fullname, _Loader(real), origin=origin, is_package=package)

    def find_distributions(self, context: Any) -> list[Any]:
        """The package's name and version, for those who ask `importlib.metadata` about it."""
        from shoal.triton._metadata import Distribution

        return [Distribution()] if context.name in (None, NAME) else []


class _Loader(importlib.abc.Loader):
    """Gives a module a second name."""

    def __init__(self, real: str) -> None:
        self.real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """A module that `exec_module` replaces."""

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the real module, for `python -m`."""
        spec = importlib.util.find_spec(self.real)
        return spec.loader.get_code(self.real) if spec is not None else None

    def exec_module(self, module: ModuleType) -> None:
        """Puts the real module in the place of the new one."""
        alias = module.__name__
        sys.modules[alias] = importlib.import_module(self.real)
        if alias.startswith(NAME + "."):
            _inner_names.give(sys.modules[alias], alias[len(NAME) :])
        # Modules that are loaded already must not be loaded again under the second name: that would bind them in their
        # package once more, over what the package itself may have under that name (`triton.runtime.driver`,
        # `triton_dist.jit`).
        for name, loaded in list(sys.modules.items()):
            if alias == "triton_dist" and name.startswith(self.real + "."):
                sys.modules.setdefault(alias + name[len(self.real) :], loaded)
            tail = next((name[len(place) :] for place in PLACES if name.startswith(place + ".")), None)
            if tail is not None and f"{NAME}{tail}".startswith(alias + ".") and _real_name(tail) == name:
                sys.modules.setdefault(NAME + tail, loaded)
                _inner_names.give(loaded, tail)


_finder = _Finder()


def _real_name(tail: str) -> str | None:
    """The module that stands for `triton` + `tail`."""
    if not tail:
        return PLACES[0]
    for place in PLACES:
        name = place + tail
        if name in sys.modules:
            return name
        try:
            if importlib.util.find_spec(name) is not None:
                return name
        except ModuleNotFoundError:
            continue
    return None


def _distributed_name(fullname: str) -> str | None:
    """The module that stands for one of `triton_dist`."""
    for alias, place in DISTRIBUTED.items():
        if fullname == alias or fullname.startswith(alias + "."):
            name = place + fullname[len(alias) :]
            try:
                return name if name in sys.modules or importlib.util.find_spec(name) is not None else None
            except ModuleNotFoundError:
                return None
    return None


def _installed_spec(fullname: str) -> importlib.machinery.ModuleSpec | None:
    """A module of the Triton-distributed that is installed, which Shoal has none for."""
    root, *below, _ = fullname.split(".")
    package = importlib.machinery.PathFinder.find_spec(root)
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    return importlib.machinery.PathFinder.find_spec(fullname, [os.path.join(folder, *below) for folder in folders])


@functools.cache
def _installed_module(fullname: str) -> ModuleType | None:
    spec = _installed_spec(fullname)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installed_attribute(fullname: str, name: str) -> Any:
    """What a module of the Triton-distributed that is installed has, and Shoal's own of this name has not."""
    module = _installed_module(fullname) if not name.startswith("__") else None
    if module is None or not hasattr(module, name):
        raise AttributeError(f"module {fullname!r} has no attribute {name!r}")
    return getattr(module, name)


def is_installed() -> bool:
    """Whether `import triton` means this package."""
    return _finder in sys.meta_path


def install(*, cuda_as_cpu: bool = False, symmetric_memory: bool = False) -> None:
    """Makes `import triton` mean this package, also where Triton itself is installed, until `uninstall`.

    - `cuda_as_cpu`: programs that say "cuda" to torch run on the CPU, for the rest of the process;
    - `symmetric_memory`: `torch.distributed._symmetric_memory` works on CPU tensors; part of `cuda_as_cpu`.

    Raises RuntimeError when Triton itself was imported already: a program cannot use both.
    """
    _install_finder()
    from shoal.torch import kernels_in_graphs

    kernels_in_graphs.register()
    if cuda_as_cpu:
        from shoal.torch import install_cuda_as_cpu

        install_cuda_as_cpu()
    if symmetric_memory:
        from shoal.torch import install_symmetric_memory

        install_symmetric_memory()


def _install_finder() -> None:
    if is_installed():
        return
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        raise RuntimeError(
            f"Triton itself is in use: `triton` was imported from {getattr(loaded, '__file__', 'somewhere else')}. "
            "Call shoal.triton.install() before anything imports triton, or run the program with "
            "`python -m shoal.triton`."
        )
    # The compiler reads its own variable for the place of its cache, once.
    if os.environ.get("TRITON_CACHE_DIR") and not os.environ.get("SHOAL_CACHE_DIR"):
        os.environ["SHOAL_CACHE_DIR"] = os.path.join(os.environ["TRITON_CACHE_DIR"], "shoal")
    finder: Any = _finder
    sys.meta_path.insert(0, finder)
    errors.other_words = with_note
    dtype.package = f"{NAME}.language"
    cache_knobs.for_triton = True
    # Inductor writes imports of what kernels use, and annotations of globals, by these names.
    name_package(NAME)
    constexpr.__module__ = dtype.__module__ = f"{NAME}.language.core"


def uninstall() -> None:
    """Gives `import triton` its own meaning back. Modules that were imported under this name stay usable."""
    if not is_installed():
        return
    finder: Any = _finder
    sys.meta_path.remove(finder)
    errors.other_words = None
    dtype.package = "shoal.language"
    cache_knobs.for_triton = False
    name_package("shoal")
    constexpr.__module__ = "shoal.language._constexpr"
    dtype.__module__ = "shoal.language._dtype"
    _inner_names.take_back()
    for name in [name for name in sys.modules if name.partition(".")[0] in (NAME, "triton_dist")]:
        del sys.modules[name]
