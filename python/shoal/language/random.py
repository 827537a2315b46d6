"""Random numbers that depend on a seed and an offset alone (Philox 4x32)."""

from __future__ import annotations

import builtins

from shoal.language._constexpr import constexpr
from shoal.language._host import library
from shoal.language._values import Int, Value, tensor

__all__ = [
    "N_ROUNDS_DEFAULT",
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]

N_ROUNDS_DEFAULT = constexpr(10)

Four = builtins.tuple[tensor, tensor, tensor, tensor]


@library
def philox_impl(c0: tensor, c1: tensor, c2: tensor, c3: tensor, k0: tensor, k1: tensor, n_rounds: Int = 10) -> Four:
    """Rounds of Philox on a counter of four words, with a key of two."""


@library
def philox(seed: Value, c0: Value, c1: Value, c2: Value, c3: Value, n_rounds: Int = 10) -> Four:
    """Four words of random bits from a seed and a counter of four words."""


@library
def randint(seed: Value, offset: Value, n_rounds: Int = 10) -> tensor:
    """A random 32-bit word for every offset."""


@library
def randint4x(seed: Value, offset: Value, n_rounds: Int = 10) -> Four:
    """Four tiles of random 32-bit words, one of each for every offset."""


@library
def rand(seed: Value, offset: Value, n_rounds: Int = 10) -> tensor:
    """A random float in [0, 1) for every offset."""


@library
def rand4x(seed: Value, offsets: Value, n_rounds: Int = 10) -> Four:
    """Four random floats in [0, 1) for every offset."""


@library
def randn(seed: Value, offset: Value, n_rounds: Int = 10) -> tensor:
    """A normally distributed float for every offset."""


@library
def randn4x(seed: Value, offset: Value, n_rounds: Int = 10) -> Four:
    """Four normally distributed floats for every offset."""


@library
def uint_to_uniform_float(x: tensor) -> tensor:
    """Random bits as a float in [0, 1)."""


@library
def pair_uniform_to_normal(u1: tensor, u2: tensor) -> builtins.tuple[tensor, tensor]:
    """Two uniform floats to two normally distributed ones."""
