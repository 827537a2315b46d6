"""`triton.runtime`: kernels as host code holds them, tuning, and the driver."""

from shoal.errors import InterpreterError, OutOfResources
from shoal.runtime import autotuner, cache, jit
from shoal.runtime.autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from shoal.runtime.cache import RedisRemoteCacheBackend, RemoteCacheBackend
from shoal.runtime.driver import driver
from shoal.runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
from shoal.triton.runtime import errors, interpreter

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "RedisRemoteCacheBackend",
    "RemoteCacheBackend",
    "TensorWrapper",
    "autotune",
    "autotuner",
    "cache",
    "driver",
    "errors",
    "heuristics",
    "interpreter",
    "jit",
    "reinterpret",
]
