#!/usr/bin/env python3
"""Writes the pages of the book that are generated: docs/language.md from the functions of the language, and
docs/tile-ir.md from the operations' documentation.

    target/python/bin/python3 scripts/reference.py [--check]

With --check nothing is written: the pages must be what would be written. The functions' names and parameters are held
against the compiler's table by python/tests/test_language.py.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
MADE = "<!-- Made by scripts/reference.py: do not edit. -->\n"

# The chapters of the language: a title, what it is about, and the module whose functions it lists.
CHAPTERS = [
    (
        "Programs, control and hints",
        "The place of a program in its grid, loops, products, and what the compiler may assume.",
        "shoal.language._program",
    ),
    (
        "Memory",
        "Reading, writing and combining what pointers point to; blocks of tensors through descriptors.",
        "shoal.language._memory",
    ),
    ("Tiles", "Making tiles, changing their shape and type, choosing and comparing.", "shoal.language._tiles"),
    ("Mathematics", "Element by element.", "shoal.language.math"),
    ("Reductions, scans and sorting", "Along one dimension or all.", "shoal.language.standard"),
    (
        "Random numbers",
        "A function of a seed and an index: the same everywhere, in any order.",
        "shoal.language.random",
    ),
    (
        "Between ranks",
        "The other members of the world: see [distributed kernels](distributed-kernels.md).",
        "shoal.language._distributed",
    ),
    (
        "Single threads",
        "Code that speaks of one thread at a time: see [threads](threads.md).",
        "shoal.language._simt",
    ),
]


def shown(function: object, name: str) -> str:
    """A function's signature, without the types: they are Python's, for editors."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return name + str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def functions_of(module: ModuleType, public: dict[str, object]) -> list[tuple[str, object]]:
    """The functions that a module defines and the language has, by name."""
    own = {id(value) for value in vars(module).values()}
    wrapped = {
        name: value
        for name, value in public.items()
        if inspect.isfunction(value)
        and id(value) in own
        and getattr(value, "__shoal_path__", "").startswith("shoal.language.")
    }
    return sorted(wrapped.items())


def entry(name: str, function: object) -> str:
    text = inspect.cleandoc(function.__doc__ or "")
    return f"### `{name}`\n\n```text\n{shown(function, name)}\n```\n\n{text}\n"


def language() -> str:
    """The page of the language's functions."""
    import importlib

    import shoal.language as tl

    public = {name: value for name, value in vars(tl).items() if callable(value) and not name.startswith("_")}
    parts = [
        MADE,
        "# The language\n",
        "Kernels are Python functions decorated with `@shoal.jit`. What follows is `shoal.language`, usually imported "
        "as `tl`. Many functions are also methods of tiles: `x.sum(0)` is `tl.sum(x, 0)`.\n",
        "## Types\n",
        "| type | bits |\n|---|---|",
    ]
    types = {value for value in vars(tl).values() if type(value) is tl.dtype and value.primitive_bitwidth}
    order = sorted(types, key=lambda ty: (ty.is_floating(), ty.primitive_bitwidth, ty.name))
    names = {value.name: name for name, value in vars(tl).items() if type(value) is tl.dtype}
    parts += [f"| `{names[ty.name]}` | {ty.primitive_bitwidth} |" for ty in order]
    parts.append(
        "\nConversions to 8-bit floats saturate: infinities and what is too large become the largest finite number, "
        "and NaN stays NaN where the format has one. This is so on every target and in the interpreter.\n"
    )
    seen: set[str] = set()
    for title, about, path in CHAPTERS:
        found = [pair for pair in functions_of(importlib.import_module(path), public) if pair[0] not in seen]
        seen |= {name for name, _ in found}
        if found:
            parts += [f"## {title}\n", f"{about}\n", *(entry(*pair) for pair in found)]
    from shoal.language.extra import libdevice

    names = sorted(f"`{name}`" for name, value in vars(libdevice).items() if hasattr(value, "__shoal_path__"))
    parts += [
        "## libdevice\n",
        "`from shoal.language.extra import libdevice`; each works element by element on tiles and scalars.\n",
        ", ".join(names) + ".\n",
    ]
    return "\n".join(parts)


def operations() -> str:
    """The page of the tile IR's operations, from the documentation of `OpKind`."""
    source = (ROOT / "crates/shoal-ir/src/op/mod.rs").read_text()
    body = source[source.index("pub enum OpKind {") :]
    body = body[: body.index("\n}\n")]
    printed = (ROOT / "crates/shoal-ir/src/print.rs").read_text()
    parsed = (ROOT / "crates/shoal-ir/src/parse/kind.rs").read_text()
    arms = re.findall(r"\"(\w+)\" => OpKind::(\w+)", parsed)
    kinds = [kind for _, kind in arms]
    mnemonics = {kind: name for name, kind in arms if kinds.count(kind) == 1}
    mnemonics |= dict(re.findall(r"OpKind::(\w+)[^=]*=> (?:plain\(|\(|atomic\()?\s*\"(\w+)\"", printed))
    parts = [
        MADE,
        "# The tile IR\n",
        "What kernels become before they become code: operations on scalars and tiles with structured control flow. "
        "`shoal compile --emit tile` shows it, `shoal opt` runs passes on its text. Each entry gives an operation's "
        "operands, its result and what it means.\n",
    ]
    doc: list[str] = []
    for line in body.splitlines()[1:]:
        text = line.strip()
        if line.startswith("    // "):
            parts.append(f"## {text[3:].rstrip('.')}\n")
        elif line.startswith("    /// "):
            doc.append(text[4:])
        elif match := re.match(r"    (\w+)(?:\(|,| \{|$)", line):
            kind = match.group(1)
            if doc:
                heading = mnemonics.get(kind, kind)
                told = re.sub(r"\[`([^`\]]*)`\]", r"`\1`", " ".join(doc))
                parts.append(f"### `{heading}`\n\n{told}\n")
            doc = []
    return "\n".join(parts)


def main() -> None:
    check = "--check" in sys.argv
    for page, text in {"language.md": language(), "tile-ir.md": operations()}.items():
        path = ROOT / "docs" / page
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            raise SystemExit(f"docs/{page} is out of date: run scripts/reference.py")


if __name__ == "__main__":
    main()
