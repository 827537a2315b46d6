"""A kernel in the interpreter (TRITON_INTERPRET=1), which checks every access."""

import os

assert os.environ["TRITON_INTERPRET"] == "1"

import numpy as np  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton._internal_testing import is_interpreter  # noqa: E402
from triton.runtime.interpreter import InterpretedFunction  # noqa: E402


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


assert is_interpreter()
assert isinstance(add_one, InterpretedFunction)
x = np.zeros(100, dtype=np.float32)
add_one[(2,)](x, 100, BLOCK=64)
np.testing.assert_array_equal(x, np.ones(100, dtype=np.float32))

# Plain globals are what they are when they are read.
WEIGHT = 3


@triton.jit
def weigh(x):
    tl.store(x, WEIGHT)


weigh[(1,)](x)
assert x[0] == 3
print("ok")
