"""Triton's names for errors of launches."""

from shoal.errors import AutotunerError, InterpreterError, OutOfResources
from shoal.errors import ShoalError as TritonError

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError", "TritonError"]


class PTXASError(TritonError):
    """NVIDIA's assembler failed. It is never called for CPUs; the name is here for code that catches it."""
