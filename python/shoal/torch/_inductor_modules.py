"""Inductor's own modules around Triton, loaded a second time on top of Shoal.

Inductor binds Triton when it is imported. A process may want both: the backend "inductor" with the Triton that is
installed, and the backend "shoal". So what is bound to Triton is kept twice, and Shoal's copies are put into
`sys.modules` while one of its graphs is compiled or launched for the first time. Others never see them.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

from shoal.torch._cpu_blocks import choose_for_cpu
from shoal.torch._tuned_on_copies import tune_on_copies

# Modules of Inductor that hold on to objects of Triton's.
_RUNTIME = "torch._inductor.runtime"
_BOUND = tuple(
    f"{_RUNTIME}.{name}"
    for name in (
        "triton_compat",
        "triton_helpers",
        "triton_heuristics",
        "triton_lazy_compile",
        "static_triton_launcher",
        "coordinate_descent_tuner",
    )
)

_lock = threading.RLock()
_depth = 0
_ours: dict[str, ModuleType] = {}
_theirs: dict[str, ModuleType] = {}


def _belongs(name: str) -> bool:
    return name == "triton" or name.startswith("triton.") or name in _BOUND


def _take_out() -> dict[str, ModuleType]:
    """Takes the modules out of `sys.modules`, and out of the package that has them as attributes."""
    taken = {name: module for name, module in sys.modules.items() if _belongs(name)}
    package = sys.modules.get(_RUNTIME)
    for name in taken:
        del sys.modules[name]
        if name in _BOUND and package is not None:
            vars(package).pop(name.rpartition(".")[2], None)
    return taken


def _put_in(modules: dict[str, ModuleType]) -> None:
    sys.modules.update(modules)
    package = sys.modules.get(_RUNTIME)
    for name, module in modules.items():
        if name in _BOUND and package is not None:
            setattr(package, name.rpartition(".")[2], module)


def _forget_answers() -> None:
    """Torch remembers what it found out about Triton."""
    from torch.utils import _triton

    for value in vars(_triton).values():
        clear = getattr(value, "cache_clear", None)
        if clear is not None:
            clear()


@contextlib.contextmanager
def shoal_as_triton() -> Iterator[None]:
    """While it lasts, Inductor's Triton is Shoal. One thread at a time."""
    global _depth, _ours, _theirs
    from shoal.triton import _install

    with _lock:
        if _depth == 0:
            outside = not _install.is_installed()
            _theirs = _take_out()
            if outside:
                _install.install()
            _put_in(_ours)
            _forget_answers()
            heuristics = importlib.import_module(f"{_RUNTIME}.triton_heuristics")
            choose_for_cpu(heuristics)
            tune_on_copies(heuristics)
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if _depth == 0:
                _ours = _take_out()
                if outside:
                    _install.uninstall()
                _take_out()
                _put_in(_theirs)
                _forget_answers()
