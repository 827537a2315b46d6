"""Kernels that are long: compile time grows with their length, not with the number of paths through them."""

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def doubled(x, STEPS: tl.constexpr):
    at = x + tl.arange(0, 64)
    value = tl.load(at)
    for _ in tl.static_range(STEPS):
        value = tl.sqrt(value * value + value * value)
    tl.store(at, value)


def test_a_value_that_is_used_twice_at_each_of_many_steps_is_compiled_once():
    # Twice at each of 60 steps: 2^60 paths lead from the store to the load.
    x = np.ones(64, np.float32)
    doubled[(1,)](x, 60)
    assert np.allclose(x, 2.0**30, rtol=1e-3)


def test_a_chain_of_many_operations_needs_no_deep_stack():
    x = np.ones(64, np.float32)
    doubled[(1,)](x, 1200)
    assert np.isinf(x).all()
