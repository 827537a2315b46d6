"""Parameters of a kernel that are computed from its other arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .jit import KernelInterface


def names_of_arguments(fn: Any, decorator: str) -> Sequence[str]:
    """The names of a kernel's arguments, for a decorator that takes a kernel."""
    names = getattr(fn, "arg_names", None)
    if names is None:
        raise TypeError(
            f"@{decorator} takes a kernel, and this is of type {type(fn).__name__}: write @{decorator}(...) above @jit"
        )
    return names


class Heuristics(KernelInterface):
    """A kernel some of whose parameters are computed at each launch."""

    def __init__(self, fn: KernelInterface, arg_names: Sequence[str], values: Mapping[str, Callable[..., Any]]) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = dict(values)
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__

    def _computed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        known = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, value in self.values.items():
            kwargs[name] = known[name] = value(known)
        return kwargs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the parameters in their order, each from those before it, and launches."""
        return self.fn.run(*args, **self._computed(args, kwargs))

    def warmup(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles for these arguments without running."""
        return self.fn.warmup(*args, **self._computed(args, kwargs))


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[KernelInterface], Heuristics]:
    """Computes parameters of a kernel from its arguments, which each function gets as a dict by name.

    @shoal.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @shoal.jit
    def add(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr): ...
    """
    return lambda fn: Heuristics(fn, names_of_arguments(fn, "heuristics"), values)
