"""Triton's language for GPU layouts, which Shoal does not have.

Libraries import it whether or not they use it. The module is there for them; whoever takes something from it is told,
as an `ImportError`, which those that can do without it catch.
"""

from __future__ import annotations

from typing import NoReturn

from shoal.triton.experimental.gluon import language

__all__ = ["language"]


def __getattr__(name: str) -> NoReturn:
    language.refuse(f"triton.experimental.gluon.{name}", name)
