"""Matrix multiplication, tuned
============================

A product of matrices is cut into blocks of the result; each program walks along the summed dimension. Which block sizes
are best depends on the machine and on the matrices, so they are measured, once for each shape.

What to see here: `dot`, blocks of two-dimensional pointers, an order of programs that is kind to caches, and `autotune`.
"""

import sys

import numpy as np

import shoal
import shoal.language as tl

CONFIGS = [
    shoal.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8})
    for m, n, k in [(64, 64, 64), (128, 128, 64), (64, 256, 64), (128, 256, 128)]
]


@shoal.autotune(configs=CONFIGS[:2] if "--quick" in sys.argv else CONFIGS, key=["M", "N", "K"])
@shoal.jit
def matmul_kernel(
    a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    # Programs that run at the same time should share rows of `a` and columns of `b`: they are numbered in groups of
    # GROUP_M rows, column by column.
    m, n = tl.program_id(0) // tl.cdiv(N, BLOCK_N), tl.program_id(0) % tl.cdiv(N, BLOCK_N)
    m, n = tl.swizzle2d(m, n, tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        left = tl.load(
            a + rows[:, None] * stride_am + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + inner[:, None] * stride_bk + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * stride_cm + columns[None, :], total, mask=inside)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float32)
    grid = lambda args: (shoal.cdiv(M, args["BLOCK_M"]) * shoal.cdiv(N, args["BLOCK_N"]),)  # noqa: E731
    matmul_kernel[grid](a, b, c, M, N, K, K, N, N)
    return c


random = np.random.default_rng(0)
a, b = random.standard_normal((200, 123), dtype=np.float32), random.standard_normal((123, 310), dtype=np.float32)
np.testing.assert_allclose(matmul(a, b), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)
print("matmul_kernel and NumPy agree; the best configuration was", matmul_kernel.best_config)


@shoal.testing.perf_report(
    shoal.testing.Benchmark(
        x_names=["size"],
        x_vals=[128, 256] if "--quick" in sys.argv else [256, 512, 1024, 2048],
        line_arg="provider",
        line_vals=["shoal", "numpy"],
        line_names=["Shoal", "NumPy"],
        ylabel="GFLOP/s",
        plot_name="matmul",
        args={},
    )
)
def benchmark(size, provider):
    a, b = random.standard_normal((2, size, size), dtype=np.float32)
    call = (lambda: matmul(a, b)) if provider == "shoal" else (lambda: a @ b)
    how = {"warmup": 2, "rep": 5} if "--quick" in sys.argv else {}
    return 2 * size**3 * 1e-6 / shoal.testing.do_bench(call, **how)


folder = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
benchmark.run(print_data=True, show_plots=False, save_path=folder)
