"""Tools around the compiler: kernels as C source, tensor descriptors, disassembly."""

from shoal.tools import tensor_descriptor

__all__ = ["tensor_descriptor"]
