"""Where Triton has its compiler."""

from shoal.triton._C import libtriton

__all__ = ["libtriton"]
