"""`triton_dist.jit`: kernels that communicate are kernels like all others here."""

from shoal.runtime.jit import JITFunction
from shoal.runtime.jit import JITFunction as TritonDistJITFunction
from shoal.runtime.jit import jit

__all__ = ["JITFunction", "TritonDistJITFunction", "jit"]
