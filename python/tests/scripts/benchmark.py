"""Measuring: one call, quantiles of it, and a report over sizes."""

import sys

import numpy as np
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


def run(x, y):
    copy[(triton.cdiv(x.size, 256),)](x, y, x.size, BLOCK=256)


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(8, 11)],
        x_log=True,
        line_arg="provider",
        line_vals=["triton", "numpy"],
        line_names=["Triton", "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="copy-performance",
        args={},
    )
)
def benchmark(size, provider):
    x = np.ones(size, dtype=np.float32)
    y = np.empty_like(x)
    call = (lambda: run(x, y)) if provider == "triton" else (lambda: np.copyto(y, x))
    ms, low, high = triton.testing.do_bench(call, warmup=1, rep=2, quantiles=[0.5, 0.2, 0.8])
    speed = lambda t: 2 * x.nbytes * 1e-6 / t  # noqa: E731
    return speed(ms), speed(high), speed(low)


assert triton.testing.do_bench(lambda: None, warmup=1, rep=1) >= 0
benchmark.run(print_data=True, show_plots=False, save_path=sys.argv[1] if len(sys.argv) > 1 else "")
print("ok")
