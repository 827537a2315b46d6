"""Histograms of whole numbers: `torch.histc` has them for CUDA only."""

from __future__ import annotations

from typing import Any

import torch

_kept: list[torch.library.Library] = []


def install() -> None:
    """Registers them for the CPU, beside those of floats and the refusals of other types."""
    if not hasattr(torch.library, "get_kernel"):  # before torch 2.9 the CPU's own cannot be kept
        return
    of_floats = torch.library.get_kernel("aten::histc", "CPU")

    def histc(keys: Any, values: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
        if values.is_floating_point() or values.is_complex() or values.dtype == torch.bool:
            return of_floats.call_boxed(keys, values, bins, min, max)
        return _counted(values, bins, int(min), int(max))

    library = torch.library.Library("aten", "IMPL", "CPU")
    library.impl("histc", histc, with_keyset=True, allow_override=True)
    _kept.append(library)  # what is registered goes with it


def _counted(values: torch.Tensor, bins: int, low: int, high: int) -> torch.Tensor:
    """How many values fall into each of `bins` equal parts of `[low, high]`; if empty, of the values' own range."""
    wide = values.reshape(-1).long()
    if low == high and wide.numel() > 0:
        low, high = int(wide.min()), int(wide.max())
    if low == high:
        low, high = low - 1, high + 1
    if bins <= 0 or low > high:
        raise RuntimeError(f"torch.histc(): expected bins above 0 and max no less than min, got {bins}, {high}, {low}")
    within = wide[(wide >= low) & (wide <= high)]
    bin_of = ((within - low) * bins // (high - low)).clamp(max=bins - 1)
    return torch.bincount(bin_of, minlength=bins).to(values.dtype)
