"""Settings: read from variables, set, put back; a kernel that prints and asserts in debug mode."""

import os

import numpy as np
import triton
import triton.language as tl
from triton import knobs

assert knobs.runtime.interpret is False
os.environ["TRITON_PRINT_AUTOTUNING"] = "1"
assert knobs.autotuning.print is True
with knobs.autotuning.scope():
    knobs.autotuning.print = False
    assert os.environ["TRITON_PRINT_AUTOTUNING"] == "0"
assert knobs.autotuning.print is True
del os.environ["TRITON_PRINT_AUTOTUNING"]
knobs.cache.dir = "/nowhere"
assert os.environ["TRITON_CACHE_DIR"] == "/nowhere"
knobs.cache.dir = knobs.env
del os.environ["TRITON_CACHE_DIR"]
assert knobs.cache.dir != "/nowhere"


@triton.jit
def small(x, LIMIT: tl.constexpr):
    tl.device_assert(tl.load(x) < LIMIT, "too large")


small[(1,)](np.array([9.0]), LIMIT=5)  # assertions are off
knobs.runtime.debug = True
small[(1,)](np.array([3.0]), LIMIT=5)
try:
    small[(1,)](np.array([9.0]), LIMIT=5)
except RuntimeError as error:
    assert "too large" in str(error), error
else:
    raise AssertionError("the assertion must fail in debug mode")
knobs.runtime.debug = False

knobs.language.fp32_default = "tf32"
assert os.environ["TRITON_F32_DEFAULT"] == "tf32"
knobs.language.reset()
print("ok")
