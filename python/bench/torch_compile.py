"""`torch.compile` through Shoal against Inductor's own C++ code: one thread, both in this process, in turns.

`python python/bench/torch_compile.py [FILTER]` prints a line for each case: the best time of each in milliseconds, by
the clock of this process's own work, and the time of the first call, compilation included.
"""

import os
import sys
import tempfile
import time

# Nothing compiled before counts.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["SHOAL_CACHE_DIR"] = tempfile.mkdtemp()

import torch
from torch.nn import functional as F

import shoal.torch  # noqa: F401

ROUNDS, TURN = 7, 0.15


class Block(torch.nn.Module):
    """A transformer block."""

    def __init__(self, width=256, heads=4):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


def cases():
    rows, width = 1024, 2048
    x, y = torch.randn(rows, width), torch.randn(rows, width)
    weight, bias = torch.randn(width), torch.randn(width)
    targets = torch.randint(0, width, (rows,))
    block, tokens = Block(), torch.randn(2, 256, 256)

    def norm(x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight

    yield "layer norm and GELU", lambda x: F.gelu(F.layer_norm(x, (width,), weight, bias)), (x,)
    yield "softmax", lambda x: x.softmax(-1), (x,)
    yield "RMS norm", norm, (x,)
    yield "SwiGLU", lambda x, y: F.silu(x) * y, (x, y)
    yield "cross entropy", lambda x: F.cross_entropy(x, targets), (x,)
    yield "layer norm bf16", lambda x: F.layer_norm(x, (width,), weight.bfloat16(), bias.bfloat16()), (x.bfloat16(),)
    yield "softmax bf16", lambda x: x.softmax(-1), (x.bfloat16(),)
    yield "RMS norm bf16", lambda x: norm(x.float()).bfloat16(), (x.bfloat16(),)
    yield "cross entropy bf16", lambda x: F.cross_entropy(x, targets), (x.bfloat16(),)
    yield "transformer block", block, (tokens,)


def first_call(function, arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def best(function, arguments):
    """The shortest of the calls that fit into a turn, by the time this process ran."""
    shortest, end = float("inf"), time.perf_counter() + TURN
    while time.perf_counter() < end:
        start = time.process_time()
        function(*arguments)
        shortest = min(shortest, time.process_time() - start)
    return shortest


def main():
    torch.set_num_threads(1)
    # The first graph of a process also pays for torch's own imports.
    torch.compile(lambda x: x + 1, backend="shoal")(torch.ones(4))
    torch.compile(lambda x: x + 1)(torch.ones(4))
    print(f"torch {torch.__version__}, one thread; milliseconds")
    print(f"{'':22} {'shoal':>8} {'C++':>8} {'ratio':>6}   first call: {'shoal':>7} {'C++':>7} {'ratio':>6}")
    for name, function, arguments in cases():
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        with torch.no_grad():
            compiled = [torch.compile(function, backend=backend) for backend in ("shoal", "inductor")]
            first = [first_call(f, arguments) for f in compiled]
            torch.testing.assert_close(compiled[0](*arguments), compiled[1](*arguments), rtol=2e-2, atol=2e-2)
            times = [float("inf")] * 2
            for _ in range(ROUNDS):
                times = [min(t, best(f, arguments)) for t, f in zip(times, compiled)]
        (ours, theirs), (cold, cold_theirs) = [1e3 * t for t in times], [1e3 * t for t in first]
        warm = f"{ours:8.2f} {theirs:8.2f} {theirs / ours:6.2f}"
        print(f"{name:22} {warm}   {'':11} {cold:7.0f} {cold_theirs:7.0f} {cold_theirs / cold:6.2f}", flush=True)


main()
