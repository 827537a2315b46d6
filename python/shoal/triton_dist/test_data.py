"""Seeds and random tensors for tests."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

# Whole ranges of values; torch's generator takes bounds of 64 bits.
_INTEGERS = {
    torch.int8: (-(2**7), 2**7),
    torch.int16: (-(2**15), 2**15),
    torch.int32: (-(2**31), 2**31),
    torch.uint8: (0, 2**8),
    torch.uint16: (0, 2**16),
    torch.uint32: (0, 2**32),
}


def init_seed(seed: int = 0) -> None:
    """Makes random numbers, and torch's algorithms, the same in every run."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.set_printoptions(precision=2)
    torch.manual_seed(3 + seed)
    random.seed(3 + seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(3 + seed)


@contextlib.contextmanager
def with_torch_deterministic(mode: bool, warn_only: bool = True) -> Iterator[None]:
    """Torch's deterministic algorithms, on or off for a while."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(mode, warn_only=warn_only)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


def is_fp8_dtype(dtype: torch.dtype) -> bool:
    """Whether this is a float of eight bits."""
    return dtype.itemsize == 1 and dtype.is_floating_point


def get_dtype_size(dtype: torch.dtype) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def _on_cpu(device: Any) -> Any:
    """Tensors of a program that runs here are on the CPU, whatever its tests were written for."""
    from shoal.torch.cuda_as_cpu.devices import on_cpu

    return on_cpu(device)


def rand_tensor(shape: Any, dtype: torch.dtype, device: Any = "cuda") -> torch.Tensor:
    """Random numbers: floats from -1 to 1, integers of the whole range of their type."""
    device = _on_cpu(device)
    if dtype in _INTEGERS:
        low, high = _INTEGERS[dtype]
        return torch.randint(low, high, _sizes(shape), dtype=torch.int64, device=device).to(dtype)
    if dtype in (torch.float16, torch.bfloat16, torch.float32):
        return torch.rand(shape, dtype=dtype, device=device) * 2 - 1
    if is_fp8_dtype(dtype):
        return (torch.rand(shape, dtype=torch.bfloat16, device=device) * 2 - 1).to(dtype)
    raise ValueError(f"rand for {dtype} not implemented")


def generate_data(configs: Sequence[Any]) -> Iterator[Iterator[Any]]:
    """Endless rounds of tensors, one for each `(shape, dtype, (scale, bias), device)`; `None` for no configuration."""
    while True:
        yield (_made(*config) if config else None for config in configs)


def _made(shape: Any, dtype: torch.dtype, init_args: tuple[Any, Any], device: Any = "cuda") -> torch.Tensor:
    sizes = _sizes(shape)
    scale, bias = init_args
    device = _on_cpu(device)
    if dtype == torch.int8:
        return torch.randint(-scale, scale, sizes, dtype=dtype, device=device) + bias
    if is_fp8_dtype(dtype):
        return ((torch.rand(sizes, dtype=torch.float16, device=device) * 2 - 1) * scale + bias).to(dtype)
    if dtype in (torch.float16, torch.bfloat16, torch.float32):
        return (torch.rand(sizes, dtype=dtype, device=device) * 2 - 1) * scale + bias
    raise ValueError(f"unsupported dtype {dtype}")


def _sizes(shape: Any) -> tuple[int, ...]:
    """Sizes, each of which may be a function that gives it."""
    shape = shape() if callable(shape) else shape
    if isinstance(shape, int):
        return (shape,)
    return tuple(size() if callable(size) else size for size in shape)
