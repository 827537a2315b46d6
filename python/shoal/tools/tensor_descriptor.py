"""Tensor descriptors made on the host: a tensor that a kernel reads and writes in blocks of a fixed shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class TensorDescriptor:
    """A view of a tensor in blocks.

    `strides` count elements, and the last one is 1. Reading beyond the edge of the tensor gives zeros, or NaN with
    `padding="nan"`. `round_f32_to_tf32` changes nothing: products round what they take, so loads may give all bits.
    """

    base: Any
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if rank == 0:
            raise ValueError("a tensor descriptor has at least one dimension")
        for name, given in (("strides", self.strides), ("block_shape", self.block_shape)):
            if len(given) != rank:
                raise ValueError(f"`{name}` has {len(given)} dimensions, the shape has {rank}")
        for at, side in enumerate(self.block_shape):
            if side < 1 or side & (side - 1):
                raise ValueError(f"Shape element {at} must be a power of 2: the block has {side}")
        if self.strides[-1] != 1:
            raise ValueError(f"Last dimension must be contiguous: its stride is {self.strides[-1]}, not 1")
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"padding is 'zero' or 'nan', not {self.padding!r}")

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: list[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        """A view of a whole tensor: of NumPy, torch, or another with a shape and strides."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else None
        if strides is None:
            strides = [stride // tensor.itemsize for stride in tensor.strides]
        shape = list(tensor.shape)
        return TensorDescriptor(tensor, shape, list(strides), list(block_shape), padding, round_f32_to_tf32)
