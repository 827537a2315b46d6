"""The shared libraries of a kernel that torch's AOTInductor packs, called as torch calls them."""

import ctypes
import re

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal.runtime.kernel import Forms

# Names of C's, of the runtime's and of the libraries' own functions.
TAKEN = ["exp", "memcpy", "double", "kernel_launch", "kernel_error", "run_from_nativert", "shoal_aot_launch"]


def _repr(specialization):
    return specialization.constants["NAME"]


@shoal.jit(repr=_repr)
def grow(x, factor, n, BLOCK: sl.constexpr, NAME: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(x + at, factor * sl.exp(sl.load(x + at, mask=at < n)), mask=at < n)


@pytest.mark.parametrize("name", TAKEN)
def test_a_kernel_may_have_any_name(tmp_path, name):
    x = np.random.default_rng(0).random(100, np.float32)
    compiled = grow.warmup(x, 2.0, x.size, 64, name, grid=(2,))
    assert compiled.name == name
    for form in ("so", "launcher.so"):
        (tmp_path / form).write_bytes(compiled.asm[form])
    found = ctypes.c_char.in_dll(ctypes.CDLL(str(tmp_path / "so")), name)
    run = ctypes.CDLL(str(tmp_path / "launcher.so")).run_from_nativert
    factor, n = ctypes.c_float(2), ctypes.c_int64(x.size)
    arguments = (ctypes.c_void_p * 5)(x.ctypes.data, ctypes.addressof(factor), ctypes.addressof(n), None, None)
    wanted = 2 * np.exp(x)
    run.argtypes = [ctypes.c_uint32] * 3 + [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    run(2, 1, 1, 1, ctypes.addressof(arguments), ctypes.addressof(found))
    np.testing.assert_allclose(x, wanted, rtol=1e-6)


def forms(target):
    return Forms("grow", grow.src, grow._compile_foreign("*fp32, fp32, i32, 64, 'grow'", {}, target), {})


def needed(target):
    """What the code in the launcher asks of a CPU."""
    description = re.search(rb"shoal-kernel [^\0]*", forms(target)["launcher.so"])
    assert description is not None
    return description[0].decode()


def test_they_are_for_the_cpu_that_the_kernel_is_compiled_for():
    assert "avx512f" in needed("x86-64-v4")
    assert "avx2" in needed("x86-64-v3") and "avx512f" not in needed("x86-64-v3")


def test_kernels_for_gpus_have_none():
    gpu = forms("sm_90a")
    assert "so" not in gpu and "launcher.so" not in gpu
    with pytest.raises(KeyError):
        gpu["so"]
    with pytest.raises(shoal.errors.ShoalError, match="kernels for CPUs, not for sm_90a"):
        gpu._native.torch_libraries("grow", [])
