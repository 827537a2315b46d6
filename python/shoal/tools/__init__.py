"""Tools around the compiler: kernels as C source, tensor descriptors, linear layouts, disassembly."""

from shoal.tools import tensor_descriptor
from shoal.tools.linear_layout import LinearLayout

__all__ = ["LinearLayout", "tensor_descriptor"]
