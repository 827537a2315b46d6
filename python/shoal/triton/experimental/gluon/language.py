"""What kernels of Gluon take from their language: nothing, here."""

from __future__ import annotations

from typing import NoReturn


def refuse(what: str, name: str) -> NoReturn:
    """Says that there is no such thing."""
    if name.startswith("_"):
        raise AttributeError(f"there is no {what}")
    raise ImportError(
        f"{what}: Gluon is a language for the inside of GPUs and is not part of Shoal. Kernels written with "
        "triton.language run on any device.",
        name="triton.experimental.gluon",
    )


def __getattr__(name: str) -> NoReturn:
    refuse(f"triton.experimental.gluon.language.{name}", name)
