"""A kernel in a C program
=======================

A kernel can be compiled before the program that uses it is even built: into a shared library with a header. The program
needs no Python, no LLVM and no compiler at run time.

What to see here: `shoal compile`, the header it writes, and a C program that launches the kernel.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNEL = """
import shoal
import shoal.language as tl


@shoal.jit
def saxpy(x, y, out, n, a, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)
"""

PROGRAM = r"""
#include <stdio.h>
#include "saxpy.h"

int main(void) {
    enum { N = 1000 };
    static float x[N], y[N], out[N];
    for (int i = 0; i < N; i++) { x[i] = (float)i; y[i] = 1.0f; }
    shoal_grid grid = { (N + SAXPY_BLOCK - 1) / SAXPY_BLOCK, 1, 1 };
    if (saxpy_launch(grid, x, y, out, N, 2.0f) != SHOAL_OK) {
        fprintf(stderr, "%s\n", saxpy_error());
        return 1;
    }
    printf("2 * %g + %g = %g\n", x[N - 1], y[N - 1], out[N - 1]);
    return 0;
}
"""

# The signature gives a type to each argument, and a value to what is compiled in. `k` says that memory is only read,
# `:16` would promise that an address or a number is a multiple of 16; several signatures become one launch function.
SIGNATURE = "*kfp32, *kfp32, *fp32, i32, fp32, 256"

with tempfile.TemporaryDirectory() as made:
    folder = Path(made)
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "main.c").write_text(PROGRAM)
    command = ["compile", f"{folder}/kernel.py:saxpy", "--signature", SIGNATURE, "--emit", "so", "--output", made]
    subprocess.run([sys.executable, "-m", "shoal", *command], check=True)
    print("wrote", *sorted(path.name for path in folder.iterdir() if path.suffix in (".h", ".so")))

    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if cc is None:
        print("there is no C compiler here to build the program with")
    else:
        binary = str(folder / "main")
        subprocess.run([cc, str(folder / "main.c"), f"-I{made}", f"-L{made}", "-lsaxpy", "-o", binary], check=True)
        done = subprocess.run([binary], env={"LD_LIBRARY_PATH": made}, check=True, capture_output=True, text=True)
        print(done.stdout, end="")
        assert done.stdout == "2 * 999 + 1 = 1999\n"
