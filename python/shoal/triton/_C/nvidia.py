"""What host programs take from Triton's compiler for NVIDIA GPUs: products of matrices to compare with."""

from __future__ import annotations

from typing import Any


class CublasLt:
    """Products `a @ b.T` by torch, whatever computes them there."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """Writes the product to `c`."""
        c.copy_(a.float() @ b.float().T)

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """Writes `alpha * (a @ b.T) + beta * c` to `d`."""
        d.copy_(alpha * (a.float() @ b.float().T) + beta * c.float())


class cublas:
    """Triton's name for the place of it."""

    CublasLt = CublasLt
