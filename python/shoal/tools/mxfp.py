"""Numbers of the OCP microscaling (MX) formats on torch tensors: elements of four bits, and scales of groups.

Both classes hold one code for each number in `data`, a tensor of bytes. They make test data and references for
`tl.dot_scaled`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

# The magnitudes of the eight codes without a sign.
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127
_NOT_A_NUMBER = 255


def _only_float32(dtype: torch.dtype, what: str) -> None:
    if dtype != torch.float32:
        raise AssertionError(f"Currently only float32 is supported for {what} to float conversion")


class _Codes:
    """What both formats have in common: made from numbers, or of a size and then filled at random."""

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        self.device = device
        if data is not None:
            if not isinstance(data, torch.Tensor):
                raise AssertionError("Parameter data must be a torch tensor")
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("Either parameter data or size must be provided")

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def _random_codes(self, low: int, high: int) -> torch.Tensor:
        return torch.randint(low, high, size=self.size, dtype=torch.uint8, device=self.device)


class MXFP4Tensor(_Codes):
    """Numbers of four bits: a sign, two exponent bits, one mantissa bit. There is neither infinity nor NaN."""

    def random(self) -> MXFP4Tensor:
        """Fills the tensor with random codes."""
        self.data = self._random_codes(0, 16)
        return self

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The numbers as `float32`."""
        _only_float32(dtype, "fp4e2m1")
        magnitudes = torch.tensor(_MAGNITUDES, dtype=dtype, device=self.data.device)[(self.data & 7).long()]
        return torch.where(self.data & 8 != 0, -magnitudes, magnitudes)

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        """The nearest codes; ties go to the even one, what is too large or not finite to the largest."""
        magnitude = torch.nan_to_num(values.float().abs(), nan=math.inf, posinf=math.inf)
        code = torch.zeros_like(values, dtype=torch.uint8)
        for at, (below, above) in enumerate(zip(_MAGNITUDES, _MAGNITUDES[1:])):
            middle = (below + above) / 2
            # Code `at + 1` is even where `at` is odd: then it gets the tie.
            reached = magnitude >= middle if at % 2 else magnitude > middle
            code += reached.to(torch.uint8)
        return code | (torch.signbit(values).to(torch.uint8) << 3)

    def to_packed_tensor(self, dim: int) -> torch.Tensor:
        """Two numbers in each byte along a dimension, the first in the lower half; an odd one is followed by zero."""
        if not 0 <= dim < self.data.ndim:
            raise AssertionError("The dimension to pack along is not within the range of tensor dimensions")
        data = self.data
        if data.size(dim) % 2:
            shape = list(data.shape)
            shape[dim] = 1
            data = torch.cat([data, data.new_zeros(shape)], dim)
        pairs = data.unflatten(dim, (-1, 2))
        return pairs.select(dim + 1, 0) | (pairs.select(dim + 1, 1) << 4)

    def unpack_packed_tensor(self, packed_tensor: torch.Tensor, dim: int, original_shape: Any) -> torch.Tensor:
        """The codes of a packed tensor, one in each byte."""
        pairs = torch.stack((packed_tensor & 0xF, packed_tensor >> 4 & 0xF), dim + 1)
        return pairs.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).to(torch.uint8)


def fp8e8m0_to_float32(scale: torch.Tensor) -> torch.Tensor:
    """Scales, given as bytes, as numbers: powers of two, and NaN for the greatest byte."""
    codes = scale.view(torch.uint8)
    numbers = torch.ldexp(torch.ones_like(codes, dtype=torch.float64), codes.int() - _BIAS).float()
    return numbers.masked_fill(codes == _NOT_A_NUMBER, math.nan)


class MXScaleTensor(_Codes):
    """Scales of eight bits: the exponents of powers of two."""

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Fills the tensor with random scales between two numbers; never with NaN."""
        least = 0 if low is None else max(0, int(math.log2(low)) + _BIAS)
        greatest = 254 if high is None else min(254, max(0, int(math.log2(high)) + _BIAS))
        if least > greatest:
            raise AssertionError("Low must be less than or equal to high")
        self.data = self._random_codes(least, greatest + 1)
        return self

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The scales as `float32`."""
        _only_float32(dtype, "f8e8m0")
        return fp8e8m0_to_float32(self.data)

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        """The next power of two below; NaN for what is not positive and finite."""
        good = torch.isfinite(values) & (values > 0)
        _, exponent = torch.frexp(torch.where(good, values, torch.ones_like(values)))
        codes = (exponent - 1 + _BIAS).clamp(0, 254).to(torch.uint8)
        return codes.masked_fill(~good, _NOT_A_NUMBER)
