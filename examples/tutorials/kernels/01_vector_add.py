"""Vector addition
===============

A kernel is a function that works on a *tile* of the data. The grid says how many programs run it; each asks for its
number and takes its own part.

What to see here: `program_id`, `arange`, masks for the last tile, launching, and measuring.
"""

import sys

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    # Program 0 takes elements 0 to BLOCK - 1, program 1 the next BLOCK, and so on.
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # The last program may reach beyond the end: elements outside are neither read nor written.
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    # The grid may be a function of the arguments: as many programs as there are tiles.
    grid = lambda args: (shoal.cdiv(args["n"], args["BLOCK"]),)  # noqa: E731
    add_kernel[grid](x, y, out, x.size, BLOCK=1024)
    return out


# Does it give what NumPy gives? The size is no multiple of the tile on purpose.
random = np.random.default_rng(0)
x, y = random.standard_normal((2, 98_765), dtype=np.float32)
np.testing.assert_array_equal(add(x, y), x + y)
print("add_kernel and NumPy agree on", x.size, "elements")


# How fast is it? Addition moves three arrays and computes next to nothing: gigabytes per second say how close it comes
# to what memory can do. `perf_report` measures over sizes, prints a table and draws a plot.
@shoal.testing.perf_report(
    shoal.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(12, 21 if "--quick" in sys.argv else 25, 2)],
        x_log=True,
        line_arg="provider",
        line_vals=["shoal", "numpy"],
        line_names=["Shoal", "NumPy"],
        ylabel="GB/s",
        plot_name="vector-add",
        args={},
    )
)
def benchmark(size, provider):
    x, y = random.standard_normal((2, size), dtype=np.float32)
    call = (lambda: add(x, y)) if provider == "shoal" else (lambda: x + y)
    how = {"warmup": 2, "rep": 5} if "--quick" in sys.argv else {}
    return 3 * x.nbytes * 1e-6 / shoal.testing.do_bench(call, **how)


folder = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
benchmark.run(print_data=True, show_plots=False, save_path=folder)
