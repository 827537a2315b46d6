"""A configuration of a kernel: what the autotuner tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")


class Config:
    """One configuration to try: values for the kernel's constexpr parameters, and launch options.

    `pre_hook(arguments)` runs before each launch with this configuration; it gets all arguments by name and may change
    what they refer to.
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def options(self) -> dict[str, Any]:
        """The launch options that are set."""
        return {name: value for name in OPTIONS if (value := getattr(self, name)) is not None}

    def all_kwargs(self) -> dict[str, Any]:
        """Everything this configuration adds to a launch."""
        return {**self.kwargs, **self.options()}

    def _identity(self) -> tuple[Any, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        shown = {**self.kwargs, **{name: getattr(self, name) for name in OPTIONS}}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    def __repr__(self) -> str:
        return f"Config({self})"
