"""Tile kernels in Triton's Python syntax, compiled to native code.

    import numpy as np, shoal, shoal.language as sl

    @shoal.jit
    def double(x, n, BLOCK: sl.constexpr):
        at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
        sl.store(x + at, sl.load(x + at, mask=at < n) * 2, mask=at < n)

    x = np.ones(1000, np.float32)
    double[(shoal.cdiv(1000, 256),)](x, 1000, BLOCK=256)
"""

from shoal._native import __version__

__all__ = ["__version__"]
