"""`triton_dist.jit`: kernels that communicate are kernels like all others here."""

from shoal.runtime.jit import JITFunction, jit

TritonDistJITFunction = JITFunction

__all__ = ["JITFunction", "TritonDistJITFunction", "jit"]
