# lower: k(i32)
# lower: missing()
# lower: k(8, 9)
import triton
import triton.language as tl


@triton.jit
def k(n):
    return n


def missing():
    pass

# ---
# error: the kernel `k` returns a value
#  --> kernel_returns.py:9:5
#   |
# 9 | def k(n):
#   |     ^ kernels return nothing
#   |
#   = help: write results to memory with `tl.store`
# error: `missing` is not a kernel
#   --> kernel_returns.py:13:5
#    |
# 13 | def missing():
#    |     ^^^^^^^ this function has no `@triton.jit` decorator
#    |
#    = help: decorate it with `@triton.jit`
# error: wrong signature for `k`
#  --> kernel_returns.py:9:5
#   |
# 9 | def k(n):
#   |     ^ this kernel
#   |
#   = note: it has 1 parameters
