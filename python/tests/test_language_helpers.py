"""Helpers of the standard functions that kernels of others import by name."""

import numpy as np

import shoal
import shoal.language as tl
from shoal.language.standard import _argmax_combine_tie_break_left, _elementwise_max, _log2, _sum_combine


@shoal.jit
def reductions(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(out, tl.reduce(value, 0, _sum_combine))
    tl.store(out + 1, tl.reduce(value, 0, _elementwise_max))
    greatest, place = tl.reduce((value, at), 0, _argmax_combine_tie_break_left)
    tl.store(out + 2, place)
    bits: tl.constexpr = _log2(N)
    tl.store(out + 3, bits)
    tl.store(out + 4, tl.reduce(value, 0, tl.standard._elementwise_min))


def test_kernels_use_them():
    x = np.array([3, -1, 7, 2, 7, 0, 1, 4], np.float32)
    out = np.zeros(5, np.float32)
    reductions[(1,)](x, out, 8)
    assert out.tolist() == [23, 7, 2, 3, -1]
