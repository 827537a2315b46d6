"""`triton_dist.tma_utils`: memory for tensor maps that kernels make themselves."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

TENSORMAP_SIZE_BYTES = 128


def create_tmap_scratch(num_ctas: int, num_descs_per_cta: int = 1) -> torch.Tensor:
    """Room for the tensor maps of a grid."""
    for name, count in (("num_ctas", num_ctas), ("num_descs_per_cta", num_descs_per_cta)):
        if count <= 0:
            raise ValueError(f"create_tmap_scratch: {name} must be positive, not {count}")
    return torch.zeros(num_ctas * num_descs_per_cta * TENSORMAP_SIZE_BYTES, dtype=torch.uint8)


def create_tensormap_2d(*args: Any, **named: Any) -> NoReturn:
    """A tensor map, which only a GPU's driver makes."""
    raise NotImplementedError(
        "a tensor map is made by a GPU's driver: pass `triton.tools.tensor_descriptor.TensorDescriptor` to the kernel"
    )
