"""Looking at machine code."""

from __future__ import annotations

from typing import Any


def get_sass(cubin_asm: Any, fun: str | None = None) -> str:
    """The assembly of an NVIDIA GPU, of which there is none for CPUs."""
    raise NotImplementedError('there is no SASS: the kernel is code for a CPU. Its assembly is kernel.asm["asm"].')


def path_to_cuobjdump() -> str:
    """Where NVIDIA's disassembler is."""
    raise NotImplementedError("NVIDIA's disassembler is not used: kernels are code for a CPU")
