"""What distributed programs import as `triton_dist`, on the CPU: the drop-in's names for Shoal's worlds and language.

`triton_dist.language` is `shoal.language`. Host functions are in `utils`; they need torch, and ranks that are
processes. Kernels, layers and models of Triton-distributed are not part of Shoal; they are found where
Triton-distributed is installed or on the path, and run on this package's functions.
"""

from shoal import language
from shoal.triton_dist.jit import jit

__all__ = ["jit", "language"]
