"""Triton's names for errors."""

from shoal.errors import ShoalError as TritonError

__all__ = ["TritonError"]
