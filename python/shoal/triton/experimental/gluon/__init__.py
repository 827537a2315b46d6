"""Triton's language for the inside of GPUs, which Shoal does not have.

Libraries import it and define kernels with it, whether or not they launch them. So its modules and names are there;
a kernel says what it is when it is launched.
"""

from __future__ import annotations

from typing import Any

from shoal.runtime.jit import JITFunction
from shoal.triton.experimental.gluon import _names

__all__ = ["GluonJITFunction", "jit"]


class GluonJITFunction(JITFunction[Any]):
    """A kernel that cannot run here."""

    def is_gluon(self) -> bool:
        return True

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses."""
        raise NotImplementedError(
            f"`{self.__name__}` is written in Gluon, a language for the inside of GPUs, which is not part of Shoal. "
            "Kernels written with triton.language run on any device."
        )

    warmup = run

    def __getitem__(self, grid: Any) -> Any:
        return self.run


def jit(fn: Any = None, **options: Any) -> Any:
    """Takes a kernel as `triton.jit` does."""
    return (lambda fn: GluonJITFunction(fn, **options)) if fn is None else GluonJITFunction(fn, **options)


def __getattr__(name: str) -> Any:
    return _names.find("", name)
