"""What a compiled kernel shows, kernels compiled without arguments, and a kernel whose source is replaced."""

import numpy as np
import triton
import triton.language as tl
from triton.compiler import ASTSource, CompiledKernel


@triton.jit
def scale(x, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


x = np.ones(64, dtype=np.float32)
kernel = scale[(1,)](x, 64, 3.0, BLOCK=64)
assert isinstance(kernel, CompiledKernel)
np.testing.assert_array_equal(x, np.full(64, 3, dtype=np.float32))
assert "scale" in kernel.asm["llir"]
assert "scale" in kernel.asm["asm"]
assert "llir" in kernel.asm and "ptx" not in kernel.asm
assert kernel.metadata.name == kernel.name and "scale" in kernel.name
assert kernel.metadata.num_warps == 4 and kernel.metadata.target.backend == "cpu"
assert len(kernel.hash) >= 32 and kernel.metadata.hash == kernel.hash
assert kernel.src.fn is scale

source = ASTSource(
    fn=scale,
    signature={"x": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"},
    constexprs={"BLOCK": 64},
    attrs={(0,): [["tt.divisibility", 16]]},
)
ahead = triton.compile(source, options={"num_warps": 2})
assert isinstance(ahead, CompiledKernel) and ahead.metadata.num_warps == 2
assert "scale" in ahead.asm["llir"]
ahead[(1, 1, 1)](x, 64, 2.0, 64)
np.testing.assert_array_equal(x, np.full(64, 6, dtype=np.float32))

before = scale.cache_key
assert len(before) >= 32
scale._unsafe_update_src(scale.src.replace("* factor", "* factor + 1"))
assert scale.cache_key != before
scale[(1,)](x, 64, 1.0, BLOCK=64)
np.testing.assert_array_equal(x, np.full(64, 7, dtype=np.float32))
try:
    scale.src = "def scale(): pass"
except AttributeError as error:
    assert "_unsafe_update_src" in str(error) or "Cannot set attribute 'src'" in str(error), error
else:
    raise AssertionError("the source of a kernel must not be set by chance")

# Types stand for pointers where nothing is launched.
only_types = scale.warmup(np.float32, 64, 1.0, BLOCK=64, grid=(1,))
assert "fp32" in str(only_types.src.signature) and only_types.asm["llir"]
print("ok")
