"""What is compiled: a kernel with the types of its arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from shoal.backends.compiler import Language


class ASTSource:
    """A kernel, the types of its parameters, and what is known of their values.

    `signature` has a type for each parameter by name: `*fp32`, `i32`, `constexpr`. `constexprs` has values by name or
    by path: the parameter's number in a tuple, and further numbers for what is inside a tuple. `attrs` has promises by
    path: `[["tt.divisibility", 16]]`.
    """

    language = Language.TRITON
    ext = "ttir"

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, Any],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[tuple[int, ...], list[list[Any]]] | None = None,
    ) -> None:
        for name in signature:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")
        self.fn = fn
        self.name: str = fn.__name__
        self.signature = dict(signature)
        self.constants: dict[tuple[int, ...], Any] = {}
        for place, value in (constexprs or {}).items():
            path = (fn.arg_names.index(place),) if isinstance(place, str) else tuple(place)
            self.constants[path] = value
        self.attrs = dict(attrs or {})

    def hash(self) -> str:
        """Everything that the compiled code depends on, as one word."""
        constants = [(path, getattr(value, "cache_key", str(value))) for path, value in sorted(self.constants.items())]
        facts = (self.fn.cache_key, str(self.attrs), sorted(self.signature.items()), constants)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def parse_options(self) -> dict[str, Any]:
        """Options that the source itself sets."""
        return {}

    def __repr__(self) -> str:
        return f"ASTSource({self.name}, {self.signature})"


class IRSource:
    """A file of IR. Triton compiles such files; Shoal compiles kernels from their source only."""

    def __init__(self, path: Any, context: Any = None, backend: Any = None) -> None:
        raise NotImplementedError(
            f"{path}: kernels are compiled from their Python source, not from files of IR. "
            "Pass an ASTSource, or look at the IR of a compiled kernel with `kernel.asm`."
        )
