"""`@shoal.aggregate`: classes of values that kernels pass around as one."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound=type)


def aggregate(cls: C) -> C:
    """Makes a class whose instances live in kernels.

    Its annotations are its fields (`constexpr` ones are compiled in); its methods are `@jit` functions or
    `@constexpr_function`s, and `__init__`.
    """
    cls.__shoal_aggregate__ = cls  # type: ignore[attr-defined]
    cls.__triton_aggregate__ = True  # type: ignore[attr-defined]
    return cls
