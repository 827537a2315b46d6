"""What a launch from Python costs that does nothing, with 19 arguments and all compiled. Prints seconds as JSON."""

import json
import time

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def empty(
    p0, p1, p2, p3, p4, p5, n0, n1, n2, n3, n4, n5, f0, f1, f2,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    pass


def main() -> None:
    arrays = [np.zeros(64, np.float32) for _ in range(6)]
    a, b, c, d, e, f = arrays
    batch, best = 2000, float("inf")
    for _ in range(60):
        start = time.perf_counter()
        for _ in range(batch):
            empty[(1,)](a, b, c, d, e, f, 1024, 77, 16, 4096, 1, 1 << 40, 0.5, 1.5, 2.5, A=128, B=64, C=True, D=None)
        best = min(best, (time.perf_counter() - start) / batch)
    print(json.dumps({"seconds": best}))


main()
