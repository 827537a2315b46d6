"""Triton's place for compiling in the background."""

from shoal.compiler.asynchronous import AsyncCompileMode, FutureKernel, active_mode

__all__ = ["AsyncCompileMode", "FutureKernel", "active_mode"]
