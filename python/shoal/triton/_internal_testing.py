"""What tests of Triton-based code import: lists of types, random data, questions about the device.

Works with NumPy alone; torch tensors are made and taken where torch is there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from shoal import knobs
from shoal._settings import set_environment
from shoal.language import core as tl
from shoal.runtime.driver import driver
from shoal.runtime.jit import TensorWrapper, reinterpret
from shoal.triton._processes import (  # noqa: F401 - tests import them from here
    ProcessResult,
    ReplenishingProcessPool,
    is_compile_warmup,
    run_in_process,
    use_process_pool,
)
from shoal.triton._utils import type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter() -> bool:
    """Whether kernels are interpreted."""
    return knobs.runtime.interpret


def get_current_target() -> Any:
    """What kernels are compiled for; None where they are interpreted."""
    return None if is_interpreter() else driver.active.compiled_target()


def get_arch() -> str:
    """The model of the device, as text."""
    target = get_current_target()
    return "" if target is None else str(target.arch)


def _is_backend(name: str) -> bool:
    target = get_current_target()
    return target is not None and target.backend == name


def is_cpu() -> bool:
    """Whether kernels run on a CPU."""
    return _is_backend("cpu")


def is_cuda() -> bool:
    """Whether kernels run on an NVIDIA GPU."""
    return _is_backend("cuda")


def is_hip() -> bool:
    """Whether kernels run on an AMD GPU."""
    return _is_backend("hip")


def is_xpu() -> bool:
    """Whether kernels run on an Intel GPU."""
    return _is_backend("xpu")


def _no_gpu() -> bool:
    """Whether kernels run on one particular GPU: they do not."""
    return False


is_ampere_or_newer = is_hopper = is_hopper_or_newer = _no_gpu
is_blackwell = is_blackwell_ultra = is_rubin = is_sm12x = _no_gpu
is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_cdna3_or_newer = _no_gpu
is_hip_rdna = is_hip_rdna3 = is_hip_rdna4 = is_hip_rdna4m = is_hip_gfx1250 = _no_gpu
supports_ws = supports_clc = _no_gpu


def get_hip_lds_size() -> int:
    """The shared memory of an AMD GPU, in bytes."""
    return 65536


def supports_tma(byval_only: bool = False) -> bool:
    """Whether tensor descriptors work, which they do."""
    return True


def tma_skip_msg(byval_only: bool = False) -> str:
    """Why a test of tensor descriptors is left out."""
    return "needs tensor descriptors"


def skip_if_unsupported_cluster_size(num_ctas: int) -> None:
    """Leaves a test out where programs cannot be grouped like this; on a CPU groups mean nothing."""


def requires_tma(test: Any) -> Any:
    """Leaves a test out where there are no tensor descriptors."""
    return test


def numpy_random(shape: Any, dtype_str: str, rs: Any = None, low: Any = None, high: Any = None) -> Any:
    """Random data of a type. Integers are never zero, so that they can be divided by."""
    import numpy as np

    rs = np.random.RandomState(seed=17) if rs is None else rs
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype_str in integral_dtypes:
        bounds = np.iinfo(dtype_str)
        low = bounds.min if low is None else max(low, bounds.min)
        high = bounds.max if high is None else min(high, bounds.max)
        data = rs.randint(low, high, shape, dtype=np.dtype(dtype_str))
        data[data == 0] = 1
        return data
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return rs.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = rs.normal(0, 1, shape).astype("float32").view("uint32") & np.uint32(0xFFFF0000)
        return bits.view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def _torch() -> Any:
    """torch, if it is there."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def to_triton(x: Any, device: Any = "cpu", dst_type: str | None = None) -> Any:
    """A NumPy array as a kernel's argument, at another type if one is named.

    It is a torch tensor, wrapped where torch has no such type; without torch, an array.
    """
    import numpy as np

    torch = _torch()
    name = x.dtype.name
    if torch is None:
        if dst_type == "bfloat16" and name == "float32":
            import ml_dtypes

            return x.astype(ml_dtypes.bfloat16)
        return reinterpret(x.copy(), getattr(tl, dst_type)) if dst_type and "float8" in dst_type else x.copy()
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(getattr(np, name.lstrip("u"))), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def to_numpy(x: Any) -> Any:
    """A kernel's argument as a NumPy array; `bfloat16` as `float32`."""
    import numpy as np

    if isinstance(x, TensorWrapper):
        base = x.base if isinstance(x.base, np.ndarray) else x.base.cpu().numpy()
        return base.astype(getattr(np, torch_dtype_name(x.dtype)))
    if isinstance(x, np.ndarray):
        return x.astype(np.float32) if x.dtype.name == "bfloat16" else x
    torch = _torch()
    if torch is not None and isinstance(x, torch.Tensor):
        return x.cpu().float().numpy() if x.dtype is torch.bfloat16 else x.cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def torch_dtype_name(dtype: Any) -> str:
    """The name of a type of torch or of the language."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    found = re.match(r"^torch\.(\w+)$", str(dtype))
    if found is None:
        raise TypeError(f"not a triton or torch dtype: {type(dtype)}")
    return found.group(1)


def str_to_triton_dtype(x: str) -> tl.dtype:
    """The type of the language with this name."""
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def unwrap_tensor(t: Any) -> Any:
    """The tensor inside a wrapper."""
    return t.base if isinstance(t, TensorWrapper) else t


def default_alloc_fn(size: int, align: int, _: Any) -> Any:
    """Memory for a kernel that asks for some."""
    torch = _torch()
    if torch is not None:
        return torch.empty(size, dtype=torch.int8, device="cpu")
    import numpy as np

    return np.empty(size, dtype=np.int8)


def random_int(low: int, high: int, *, warmup_value: int | None = None, **named: Any) -> int:
    """A random integer below `high`, of torch's generators."""
    import torch

    if is_compile_warmup():
        return low if warmup_value is None else warmup_value
    return int(torch.randint(low, high, size=(), **named).item())


def random_float(*, warmup_value: float = 0.5, **named: Any) -> float:
    """A random float in [0, 1), of torch's generators."""
    import torch

    return warmup_value if is_compile_warmup() else float(torch.rand((), **named).item())


@contextlib.contextmanager
def fresh_knobs() -> Iterator[Any]:
    """All settings as they are by default, for a while."""
    fresh, reset = _fresh_knobs_impl()
    try:
        yield fresh()
    finally:
        reset()


def _fresh_knobs_impl(skipped_attr: set[str] | None = None) -> tuple[Callable[[], Any], Callable[[], None]]:
    groups = {
        name: group
        for name, group in vars(knobs).items()
        if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())
    }
    keys = [knob.key for group in groups.values() for knob in group.knob_descriptors.values()]
    before = {key: os.environ.get(key) for key in keys}
    propagated = knobs.propagate_env

    def fresh() -> Any:
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
        set_environment(dict.fromkeys(keys))
        knobs.propagate_env = True
        return knobs

    def reset() -> None:
        for name, group in groups.items():
            setattr(knobs, name, group)
        set_environment(before)
        knobs.propagate_env = propagated

    return fresh, reset
