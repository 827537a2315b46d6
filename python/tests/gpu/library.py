"""Every kernel of the library on the GPU, over types and odd sizes, against its reference: one line each.

python3 library.py [FOLDER]: what was wrong is also written to FOLDER/kernels-wrong.txt.
"""

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

from shoal import _native

SIZES = {
    "vector_add": [[1], [1000], [40_000], [1 << 24]],
    "softmax": [[3, 5], [17, 1000], [2048, 1024], [256, 12_000]],
    "dropout": [[1000], [1 << 20]],
    "layer_norm": [[7, 33], [64, 1000], [1024, 4096]],
    "layer_norm_backward": [[7, 33], [64, 1000]],
    "rms_norm": [[7, 33], [64, 1000], [1024, 4096]],
    "matmul": [[1, 1, 1], [33, 65, 129], [128, 128, 128], [512, 768, 1024]],
    "grouped_gemm": [[64, 64, 64], [33, 65, 129, 128, 128, 64]],
    "attention": [[2, 128, 64], [3, 100, 32], [4, 512, 128]],
    "attention_causal": [[2, 128, 64], [3, 100, 32], [4, 512, 128]],
}
DTYPES = {"vector_add": ["fp32", "fp16", "bf16", "fp64", "i32"]}


def run(words: list[str]) -> tuple[int, str]:
    """Runs the command; gives its status and what it wrote."""
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1), os.dup(2)
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.suppress(SystemExit):
                status = _native.run_command(words, ["shoal"], [])
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])
        file.seek(0)
        return status, file.read().decode(errors="replace")


def main() -> int:
    wrong = []
    for name, sizes in SIZES.items():
        for dtype in DTYPES.get(name, ["fp32", "fp16", "bf16"]):
            for size in sizes:
                words = ["run", name, "--backend", "cuda", "--dtype", dtype]
                words += ["--size", ",".join(map(str, size))]
                start = time.perf_counter()
                status, said = run(words)
                took = time.perf_counter() - start
                what = f"{name} {'x'.join(map(str, size))} {dtype}"
                last = said.strip().splitlines()[-1] if said.strip() else ""
                print(f"{'ok   ' if status == 0 else 'WRONG'} {what:<45} {took:6.2f} s  {last if status else ''}")
                if status != 0:
                    wrong.append(f"=== {what}\n{said}")
    if len(sys.argv) > 1:
        Path(sys.argv[1], "kernels-wrong.txt").write_text("\n".join(wrong))
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
