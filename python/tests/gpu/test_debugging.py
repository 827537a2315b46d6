"""Assertions, checked accesses and prints of kernels on the GPU; afterwards the GPU is as usable as before."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal.errors import KernelFault

torch = pytest.importorskip("torch")


@shoal.jit
def positive(x, out, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    v = sl.load(x + at, mask=at < n, other=1.0)
    sl.device_assert(v > 0, "not positive")
    sl.store(out + at, v, mask=at < n)


@shoal.jit
def scalar(x, n):
    sl.device_assert(n % 2 == 0, "n is odd")
    sl.store(x, n)


@shoal.jit
def shifted(x, out, shift, BLOCK: sl.constexpr):
    at = sl.arange(0, BLOCK)
    sl.store(out + at, sl.load(x + at + shift) + 1)


@shoal.jit
def counted(x, n):
    sl.atomic_add(x + n, 1.0)


@shoal.jit
def multiplied(a, b, c, K, BLOCK: sl.constexpr):
    i, k = sl.arange(0, BLOCK), sl.arange(0, 32)
    total = sl.zeros([BLOCK, BLOCK], dtype=sl.float32)
    for start in range(0, K, 32):
        left = sl.load(a + i[:, None] * K + (start + k)[None, :])
        right = sl.load(b + (start + k)[:, None] * BLOCK + i[None, :])
        total = sl.dot(left, right, total)
    sl.store(c + i[:, None] * BLOCK + i[None, :], total)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_an_assertion_that_fails_is_an_error_with_its_line(device):
    x = torch.rand(5000, device=device) + 0.5
    out = torch.empty_like(x)
    with shoal.device("cuda"):
        positive[(5,)](x, out, 5000, BLOCK=1024, debug=True)
        assert torch.equal(out, x)
        x[3000] = -1.0
        positive[(5,)](x, out, 5000, BLOCK=1024)
        with pytest.raises(KernelFault) as raised:
            positive[(5,)](x, out, 5000, BLOCK=1024, debug=True)
    text = str(raised.value)
    line = next(at for at, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "not positive" in text)
    assert "not positive" in text and f"test_debugging.py:{line}" in text and "program (2, 0, 0)" in text
    assert "device_assert" in text
    out.fill_(0)
    x.abs_()
    with shoal.device("cuda"):
        positive[(5,)](x, out, 5000, BLOCK=1024, debug=True)
    assert torch.equal(out, x), "the GPU is usable after a failure"


def test_an_assertion_about_one_number():
    x = torch.zeros(1, device="cuda", dtype=torch.int32)
    scalar[(3,)](x, 4, debug=True)
    assert x.item() == 4
    with pytest.raises(KernelFault, match="n is odd"):
        scalar[(3,)](x, 5, debug=True)
    assert x.item() == 4


@pytest.mark.parametrize(
    ("shift", "words"),
    [(0, None), (1, "reads 4 bytes"), (-2, "bytes before `x`"), (1 << 20, "past the end of `x` (512 bytes)")],
)
def test_accesses_are_checked(shift, words):
    whole = torch.rand(4096, device="cuda")
    x, out = whole[1024:1152], torch.zeros(128, device="cuda")
    if words is None:
        shifted[(1,)](x, out, shift, BLOCK=128, debug=True)
        assert torch.equal(out, x + 1)
        return
    with pytest.raises(KernelFault) as raised:
        shifted[(1,)](x, out, shift, BLOCK=128, debug=True)
    text = str(raised.value)
    assert words in text and "test_debugging.py" in text, text
    torch.cuda.synchronize()


def test_stores_and_atomics_are_checked_and_left_out():
    whole = torch.zeros(64, device="cuda")
    with pytest.raises(KernelFault, match="atomically accesses 4 bytes .* past the end of `x`"):
        counted[(2,)](whole[:32], 40, debug=True)
    with pytest.raises(KernelFault, match="writes 4 bytes"):
        shifted[(1,)](torch.ones(128, device="cuda"), whole, 0, BLOCK=128, debug=True)
    assert torch.all(whole == 2.0), "what may be written is written"
    counted[(2,)](whole[:32], 4, debug=True)
    assert whole[4] == 4.0


def test_checked_products_are_right():
    a, b = torch.randn(64, 96, device="cuda").half(), torch.randn(96, 64, device="cuda").half()
    c = torch.full((64, 64), float("nan"), device="cuda")
    multiplied[(1,)](a, b, c, 96, BLOCK=64, debug=True)
    torch.testing.assert_close(c, (a.double() @ b.double()).float(), rtol=1e-2, atol=1e-2)
    with pytest.raises(KernelFault, match="past the end of `b`"):
        multiplied[(1,)](a, b[:80], c, 96, BLOCK=64, debug=True)


PROGRAM = """
import sys
import torch
import shoal, shoal.language as sl

@shoal.jit
def say(x, n, BLOCK: sl.constexpr):
    at = sl.arange(0, BLOCK)
    v = sl.load(x + at)
    sl.device_print("value", v)
    sl.device_print("hex: ", v.to(sl.int32), n, hex=True)
    sl.device_print("many", n, n + 1, n * 1.5, at < 2, x)
    sl.device_print("only text")

say[(1,)](torch.tensor([1.5, -2.0, 3.25, 100.0], device="cuda"), 7, BLOCK=4)
torch.cuda.synchronize()
"""


def test_prints(tmp_path):
    program = tmp_path / "say.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    for line in [
        "pid (0, 0, 0) idx (1) value: -2.000000",
        "pid (0, 0, 0) idx (3) value: 100.000000",
        "pid (0, 0, 0) idx (1) hex: (operand 0) 0xfffffffe",
        "pid (0, 0, 0) idx () hex: (operand 1) 0x00000007",
        "pid (0, 0, 0) idx () many: (operand 1) 8",
        "pid (0, 0, 0) idx () many: (operand 2) 10.500000",
        "pid (0, 0, 0) idx (1) many: (operand 3) 1",
        "pid (0, 0, 0) only text",
    ]:
        assert lines.count(line) == 1, (line, done.stdout)
    assert any(line.startswith("pid (0, 0, 0) idx () many: (operand 4) 0x") for line in lines)


def test_debugging_by_the_environment(tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(
        "import torch, shoal, shoal.language as sl\n"
        "@shoal.jit\ndef k(x):\n    sl.store(x + sl.arange(0, 64), 1.0)\n"
        "k[(1,)](torch.zeros(32, device='cuda'))\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "SHOAL_DEBUG": "1"},
    )  # fmt: skip
    assert done.returncode != 0 and "writes 4 bytes" in done.stderr and "wrong.py:4" in done.stderr, done.stderr


@shoal.autotune([shoal.Config({"BLOCK": b}, num_warps=w) for b in (256, 1024) for w in (2, 4)], key=["n"])
@shoal.jit
def scaled(x, out, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(out + at, sl.load(x + at, mask=at < n) * 3, mask=at < n)


def test_autotuning_measures_on_the_gpu():
    x = torch.randn(100_000, device="cuda")
    out = torch.empty_like(x)
    scaled[lambda meta: (shoal.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    assert torch.equal(out, x * 3)
    assert scaled.best_config.kwargs["BLOCK"] in (256, 1024)
    assert np.isfinite(list(scaled.configs_timings.values())[0]).all()
