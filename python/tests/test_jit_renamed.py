"""Functions that a program gave another name than their `def` has."""

import numpy as np

import shoal
import shoal.language as tl


def filling(value, name):
    def fill(x):
        tl.store(x, twice(VALUE))

    def twice(v):
        return v * 2

    VALUE = tl.constexpr(value)
    fill.__name__ = fill.__qualname__ = name
    twice.__name__ = f"twice_for_{name}"
    twice = shoal.jit(twice)
    return shoal.jit(fill)


def test_a_renamed_kernel_and_its_renamed_helper_run():
    x = np.zeros(1, np.float32)
    for value in (3.0, 4.0):
        kernel = filling(value, f"fill_{value:.0f}")
        assert kernel.__name__ == f"fill_{value:.0f}"
        kernel[(1,)](x)
        assert x[0] == 2 * value
