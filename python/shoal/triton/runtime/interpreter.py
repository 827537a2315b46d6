"""Triton's names for kernels that are interpreted."""

from shoal.runtime.jit import InterpretedFunction

__all__ = ["InterpretedFunction"]
