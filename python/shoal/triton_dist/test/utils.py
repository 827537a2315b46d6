"""Comparing results in tests."""

from __future__ import annotations

import sys
from typing import Any

import torch

from shoal.triton._install import installed_attribute


def assert_allclose(
    x: torch.Tensor, y: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-8, verbose: bool = True
) -> None:
    """Raises unless all elements are close; NaN and infinite ones never are."""
    if x.shape != y.shape:
        raise AssertionError(f"the shapes differ: {tuple(x.shape)} and {tuple(y.shape)}")
    for name, tensor in (("the first", x), ("the second", y)):
        wrong = ~torch.isfinite(tensor.float())
        if wrong.any():
            raise AssertionError(f"{name} tensor has {int(wrong.sum())} elements that are NaN or infinite")
    if torch.allclose(x.double(), y.double(), rtol=rtol, atol=atol):
        return
    difference = (x.double() - y.double()).abs()
    far = difference > atol + rtol * y.double().abs()
    text = f"{int(far.sum())} of {x.numel()} elements differ, at most by {float(difference.max()):.6g}"
    if verbose:
        at = torch.nonzero(far)[:5].tolist()
        print(f"{text}; first at {at}:\n{x[far][:5]}\n{y[far][:5]}", file=sys.stderr)
    raise AssertionError(text)


def __getattr__(name: str) -> Any:
    """Shapes of layers and the like, of a Triton-distributed that is installed."""
    return installed_attribute("triton_dist.test.utils", name)
