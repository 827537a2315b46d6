"""Which tensors a kernel writes.

Torch looks for stores in Triton's IR. Here a kernel writes through those parameters that it cannot be compiled with as
`tl.const`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_known: dict[tuple[Any, ...], frozenset[str]] = {}


def written_parameters(function: Any, types: Mapping[str, Any], constants: Mapping[Any, Any]) -> frozenset[str]:
    """The pointers that a kernel writes through, all of them if it cannot be compiled for these types and values.

    Types and values are those of a `shoal.compiler.ASTSource`.
    """
    key = (function.cache_key, repr(sorted(types.items())), repr(constants))
    if key not in _known:
        pointers = [name for name, ty in types.items() if isinstance(ty, str) and ty.startswith("*")]
        _known[key] = frozenset(
            name for name in pointers if not _compiles(function, {**types, name: _const(types[name])}, constants)
        )
    return _known[key]


def _const(pointer: str) -> str:
    return pointer if pointer.startswith("*k") else f"*k{pointer[1:]}"


def _compiles(function: Any, types: Mapping[str, Any], constants: Mapping[Any, Any]) -> bool:
    from shoal.compiler import ASTSource, compile
    from shoal.errors import CompilationError

    try:
        compile(ASTSource(function, types, constants))
    except CompilationError:
        return False
    return True
