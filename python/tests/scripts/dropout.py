"""Dropout from a seed: the same seed drops the same elements, without a mask in memory."""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    random = tl.rand(seed, offsets)
    keep = random > p
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x, p, seed):
    output = np.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.size, meta["BLOCK_SIZE"]),)  # noqa: E731
    seeded_dropout[grid](x, output, x.size, p, seed, BLOCK_SIZE=1024)
    return output


x = np.random.default_rng(0).random(10000, dtype=np.float32) + 1
first, again, other = dropout(x, 0.5, 123), dropout(x, 0.5, 123), dropout(x, 0.5, 512)
np.testing.assert_array_equal(first, again)
assert (first != other).any()
np.testing.assert_allclose(first[first != 0], 2 * x[first != 0], rtol=1e-6)
assert 0.45 < np.mean(first == 0) < 0.55
print("ok")
