"""Fused softmax
=============

Softmax in NumPy walks over memory five times: the maximum, the difference, the exponential, the sum, the quotient. A
kernel that keeps a row at hand reads it once and writes it once.

What to see here: one program per row, reductions, and what fusion is worth.
"""

import sys

import numpy as np

import shoal
import shoal.language as tl


def softmax_numpy(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@shoal.jit
def softmax_kernel(out, x, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    # A tile's size is a power of two, a row's length need not be. What lies beyond counts as minus infinity: it is never
    # the maximum, and its exponential is zero.
    values = tl.load(x + row * row_stride + at, mask=at < columns, other=-float("inf"))
    # Without the maximum the exponential would overflow.
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * row_stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def softmax(x: np.ndarray) -> np.ndarray:
    rows, columns = x.shape
    out = np.empty_like(x)
    # The whole row is one tile.
    softmax_kernel[(rows,)](out, x, columns, columns, BLOCK=shoal.next_power_of_2(columns))
    return out


random = np.random.default_rng(0)
x = random.standard_normal((183, 781), dtype=np.float32)
np.testing.assert_allclose(softmax(x), softmax_numpy(x.astype(np.float64)), rtol=1e-5, atol=1e-7)
print("softmax_kernel and NumPy agree on", x.shape)


@shoal.testing.perf_report(
    shoal.testing.Benchmark(
        x_names=["columns"],
        x_vals=[256, 1024] if "--quick" in sys.argv else [256 * i for i in range(1, 32, 3)],
        line_arg="provider",
        line_vals=["shoal", "numpy"],
        line_names=["Shoal", "NumPy"],
        ylabel="GB/s",
        plot_name="softmax",
        args={"rows": 256 if "--quick" in sys.argv else 2048},
    )
)
def benchmark(rows, columns, provider):
    x = random.standard_normal((rows, columns), dtype=np.float32)
    call = (lambda: softmax(x)) if provider == "shoal" else (lambda: softmax_numpy(x))
    how = {"warmup": 2, "rep": 5} if "--quick" in sys.argv else {}
    return 2 * x.nbytes * 1e-6 / shoal.testing.do_bench(call, **how)


folder = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
benchmark.run(print_data=True, show_plots=False, save_path=folder)
