"""The parameters of a kernel, as its signature declares them."""

from __future__ import annotations

import inspect
from typing import Any


class KernelParam:
    """A parameter of a kernel."""

    def __init__(
        self,
        num: int,
        param: inspect.Parameter,
        do_not_specialize: bool,
        do_not_specialize_on_alignment: bool,
    ) -> None:
        self.num = num
        self._param = param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @property
    def name(self) -> str:
        """Its name."""
        return self._param.name

    @property
    def annotation(self) -> str:
        """Its annotation as a text; empty without one."""
        found = self._param.annotation
        if found is inspect.Parameter.empty:
            return ""
        return found if isinstance(found, str) else getattr(found, "__name__", None) or str(found)

    @property
    def annotation_type(self) -> str:
        """The type that its annotation fixes, as in signatures: `i32`, `*fp32`; empty if it fixes none."""
        from ..language._signature import short_name, written
        from ..language.core import dtype

        found = self._param.annotation
        if isinstance(found, dtype):
            return short_name(written(found)) or ""
        pointer = self.annotation.strip().removeprefix("const ")
        short = short_name(pointer.split(".")[-1]) or ""
        return f"*k{short[1:]}" if pointer != self.annotation.strip() and short.startswith("*") else short

    @property
    def is_constexpr(self) -> bool:
        """Whether it is compiled in."""
        return "constexpr" in self.annotation

    @property
    def is_const(self) -> bool:
        """Whether it is a pointer that is only read."""
        return "const" in self.annotation and not self.is_constexpr

    @property
    def default(self) -> Any:
        """Its default; `inspect.Parameter.empty` without one."""
        return self._param.default

    @property
    def has_default(self) -> bool:
        """Whether it has a default."""
        return self._param.default is not inspect.Parameter.empty

    def __repr__(self) -> str:
        return f"<parameter {self._param}>"
