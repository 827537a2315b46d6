"""Which tensors a kernel writes.

Torch looks for stores in Triton's IR. Here a kernel writes through those parameters that it cannot be compiled with as
`tl.const`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_known: dict[tuple[Any, ...], frozenset[str]] = {}


def written_parameters(
    function: Any, types: Mapping[str, Any], configurations: Sequence[Mapping[Any, Any]]
) -> frozenset[str]:
    """The pointers that a kernel writes through in any of its configurations; all of them if one cannot be compiled.

    Types, and the values of each configuration, are those of a `shoal.compiler.ASTSource`.
    """
    key = (function.cache_key, repr(sorted(types.items())), repr(configurations))
    if key not in _known:
        _known[key] = _written(function, types, configurations)
    return _known[key]


def _written(function: Any, types: Mapping[str, Any], configurations: Iterable[Mapping[Any, Any]]) -> frozenset[str]:
    unwritten = [name for name, ty in types.items() if isinstance(ty, str) and ty.startswith("*")]
    written: set[str] = set()
    for constants in configurations:

        def is_written(*names: str, constants: Mapping[Any, Any] = constants) -> bool:
            return not _compiles(function, {**types, **{name: _const(types[name]) for name in names}}, constants)

        # Most configurations write what the first does.
        if unwritten and is_written(*unwritten):
            written.update(name for name in unwritten if is_written(name))
            unwritten = [name for name in unwritten if name not in written]
    return frozenset(written)


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
