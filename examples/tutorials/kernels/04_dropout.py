"""Dropout without a mask in memory
================================

Dropout sets elements to zero at random and must do the same again in the backward pass. Instead of a mask as large as
the data, a kernel keeps one number, the seed: random numbers here are a function of a seed and an index, so they can be
computed again.

What to see here: `rand`, and results that do not depend on how programs are cut.
"""

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + at, mask=inside)
    # A number in [0, 1) for each element, from the seed and the element's index alone.
    kept = tl.rand(seed, at) > p
    # What is kept is scaled up, so that the mean stays the same.
    tl.store(out + at, tl.where(kept, values / (1 - p), 0.0), mask=inside)


def dropout(x: np.ndarray, p: float, seed: int, block: int = 1024) -> np.ndarray:
    out = np.empty_like(x)
    dropout_kernel[(shoal.cdiv(x.size, block),)](x, out, x.size, p, seed, BLOCK=block)
    return out


x = np.ones(100_000, np.float32)
once = dropout(x, 0.25, seed=123)
print(f"kept {np.mean(once != 0):.3f} of the elements; their mean is {once.mean():.3f}")
assert abs(np.mean(once != 0) - 0.75) < 0.01 and abs(once.mean() - 1) < 0.02

# The same seed gives the same elements, also from programs of another size; another seed gives others.
np.testing.assert_array_equal(once, dropout(x, 0.25, seed=123, block=256))
assert (once != dropout(x, 0.25, seed=321)).any()
print("the same seed gives the same mask")
