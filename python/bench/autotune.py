"""How long it takes to compile 16 configurations of a matrix product: in parallel, as the autotuner does it, or one
after another. Prints seconds as JSON. Nothing is taken from the disk."""

import json
import os
import sys
import tempfile
import time

# Removed when the program ends.
CACHE = tempfile.TemporaryDirectory(prefix="shoal-bench-")
os.environ["SHOAL_CACHE_DIR"] = CACHE.name

import numpy as np  # noqa: E402

import shoal  # noqa: E402
import shoal.language as tl  # noqa: E402

CONFIGS = [
    shoal.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k})
    for m in (32, 64, 128, 256)
    for n in (64, 128)
    for k in (32, 64)
]


@shoal.autotune(CONFIGS, key=["M", "N", "K"])
@shoal.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        right = tl.load(b + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < N))


def main(how: str) -> None:
    size = 256
    a, b, c = (np.zeros((size, size), np.float32) for _ in range(3))
    arguments = (a, b, c, size, size, size)
    start = time.perf_counter()
    if how == "parallel":
        matmul.warmup(*arguments, grid=(1,))
    else:
        for config in CONFIGS:
            matmul.fn.warmup(*arguments, grid=(1,), **config.all_kwargs())
    print(json.dumps({"seconds": time.perf_counter() - start, "configurations": len(CONFIGS)}))


main(sys.argv[1])
