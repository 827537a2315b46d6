"""`torch.compile(backend="shoal")`: forward, backward, dynamic shapes, beside other backends."""

import copy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch._inductor")

from torch.nn import functional as F  # noqa: E402

import shoal.torch  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def fresh_graphs():
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(function, **how):
    return torch.compile(function, backend="shoal", **how)


WEIGHT, BIAS = torch.linspace(0.5, 1.5, 192), torch.linspace(-1, 1, 192)
TARGETS = torch.arange(40) * 7 % 192

FUNCTIONS = {
    "layer norm and gelu": lambda x: F.gelu(F.layer_norm(x, (192,), WEIGHT, BIAS)),
    "softmax": lambda x: x.softmax(-1),
    "rms norm": lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * WEIGHT,
    "swiglu": lambda x: F.silu(x) * (x + 1),
    "cross entropy": lambda x: F.cross_entropy(x, TARGETS),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_and_backward(name):
    function = FUNCTIONS[name]
    ours, theirs = (torch.randn(40, 192, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    ours.requires_grad_()
    theirs = theirs.double().requires_grad_()
    got, want = compiled(function)(ours), function_in_double(function, theirs)
    torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)
    (got * got).sum().backward()
    (want * want).sum().backward()
    torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-3, atol=1e-4)


def function_in_double(function, x):
    """The same function with its constants in double precision."""
    global WEIGHT, BIAS
    kept = WEIGHT, BIAS
    WEIGHT, BIAS = WEIGHT.double(), BIAS.double()
    try:
        return function(x)
    finally:
        WEIGHT, BIAS = kept


def test_dynamic_shapes_compile_once():
    function = compiled(lambda x: (x.softmax(-1) * 2).sum(0), dynamic=True)
    for rows, columns in [(3, 50), (7, 129), (64, 1000), (5, 33)]:
        x = torch.randn(rows, columns)
        torch.testing.assert_close(function(x), (x.softmax(-1) * 2).sum(0), rtol=1e-4, atol=1e-5)


def test_flex_attention():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    slopes = torch.tensor([0.1, 0.2, 0.3, 0.4])

    def attend(q, k, v):
        bent = lambda score, b, h, i, j: score - slopes[h] * (i - j)  # noqa: E731
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 40, 40, device="cpu")
        # Heads last in memory, as the projections of a model give them; the outcome is laid out as the queries are.
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        out = flex.flex_attention(q, k, v, score_mod=bent, block_mask=mask, enable_gqa=True)
        return out.transpose(1, 2).reshape(2, 40, -1) * 2

    q, k, v = (torch.randn(2, 40, heads, 16) for heads in (4, 2, 2))
    torch.testing.assert_close(compiled(attend)(q, k, v), attend(q, k, v), rtol=1e-4, atol=1e-5)


class Block(torch.nn.Module):
    """A transformer block."""

    def __init__(self, width=64, heads=4):
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


def test_a_transformer_block_is_trained_to_the_same_losses():
    ours = Block()
    theirs, x = copy.deepcopy(ours), torch.randn(2, 32, 64)
    model = compiled(ours)
    optimizers = [torch.optim.SGD(module.parameters(), 0.05) for module in (ours, theirs)]
    losses = []
    for _ in range(4):
        pair = [(module(x) - x).pow(2).mean() for module in (model, theirs)]
        for loss, optimizer in zip(pair, optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.testing.assert_close(*pair, rtol=1e-3, atol=1e-4)
        losses.append(pair[0].item())
    assert losses[-1] < losses[0]


def test_the_installed_triton_stays_what_it_is():
    before = {name for name in sys.modules if name.partition(".")[0] == "triton"}
    modules = {name: sys.modules[name] for name in before}
    x = torch.randn(8)
    torch.testing.assert_close(compiled(lambda x: x.sin() + 1)(x), x.sin() + 1)
    assert all(sys.modules.get(name) is module for name, module in modules.items())
    triton = sys.modules.get("triton")
    assert triton is None or not triton.__name__.startswith("shoal")


def test_no_compiler_is_needed():
    """Neither C nor C++: with no tool to be found, a graph still compiles."""
    script = """
import torch, shoal.torch
x = torch.randn(64)
got = torch.compile(lambda x: (x + 1).exp(), backend="shoal")(x)
torch.testing.assert_close(got, (x + 1).exp())
print("fine")
"""
    env = {"PATH": "/nonexistent", "HOME": "/nonexistent", "CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        env |= {"TORCHINDUCTOR_CACHE_DIR": folder, "SHOAL_CACHE_DIR": os.path.join(folder, "shoal"), "TMPDIR": folder}
        run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "fine" in run.stdout, run.stderr[-3000:]


def test_registering_again_changes_nothing():
    shoal.torch.inductor.register()
    assert "shoal" in torch._dynamo.list_backends()


def test_importing_does_not_import_the_compiler():
    script = "import torch, sys, shoal.torch; print('torch._dynamo' in sys.modules); "
    script += "print('shoal' in torch._dynamo.list_backends())"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["False", "True"], run.stderr[-3000:]


@pytest.mark.parametrize("shape", [(3, 5000), (5000, 3), (70, 70), (2, 40000), (1, 100)])
def test_reductions_along_and_across_memory(shape):
    x = torch.randn(*shape)
    for dims in [(0,), (1,), (0, 1)]:
        got = compiled(lambda x, d=dims: (x * x).sum(d))(x)
        torch.testing.assert_close(got.double(), (x.double() * x.double()).sum(dims), rtol=1e-4, atol=1e-4)


def test_each_kernel_has_one_configuration():
    from shoal.torch import _cpu_blocks

    assert _cpu_blocks.pointwise({"x": 100}, False) == {"XBLOCK": 100}
    assert _cpu_blocks.looped_reduction({"x": 8, "r0_": 1 << 20}, True) == {"XBLOCK": 1, "R0_BLOCK": _cpu_blocks.ROW}
    assert _cpu_blocks.looped_reduction({"x": 1024, "r0_": 64}, False)["XBLOCK"] == _cpu_blocks.COLUMNS
    assert _cpu_blocks.whole_reduction({"x": 1024, "r0_": 1024}, True) == {"XBLOCK": 1}
    assert [_cpu_blocks.power_of_two(n) for n in (1, 2, 3, 1000)] == [1, 2, 4, 1024]


def test_assertions_hold_and_accesses_go_unchecked():
    from torch._inductor.utils import run_and_get_code

    table = torch.randn(10, 64)
    look_up = compiled(lambda at: table[at] * 2)
    got, (code,) = run_and_get_code(look_up, torch.tensor([3, -1]))
    torch.testing.assert_close(got, table[[3, -1]] * 2)
    assert "device_assert" in code
    with pytest.raises(shoal.KernelFault, match="index out of bounds"):
        look_up(torch.tensor([3, 10]))
    from shoal.torch import _cpu_blocks

    assert _cpu_blocks.options() == {"check_accesses": False, "num_cpu_threads": torch.get_num_threads()}
