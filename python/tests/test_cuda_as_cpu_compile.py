"""`--cuda-as-cpu`: `torch.compile` of programs that say "cuda"."""

import sys

import pytest
from distributed import run

pytestmark = pytest.mark.torch

COMPILED = """
import torch

def traced(x):
    assert x.is_cuda
    return torch.softmax(x.to("cuda") * torch.full((), 2.0, device="cuda"), -1).cuda()

def careful(x):
    if not (x.is_cuda and x.device.type == "cuda"):
        raise ValueError("x must be on a GPU")
    return x + torch.ones(64, device=x.device).to(x.device)

def placed(x):
    with torch.cuda.device(x.device.index):
        return x + torch.cuda.current_device()

def placed_by_index(x):
    with torch.accelerator.device_index(x.device.index):
        return x * 2

x = torch.randn(8, 64, device="cuda")
for function in (traced, careful, placed, placed_by_index):
    assert torch.allclose(torch.compile(function, backend="eager", fullgraph=True)(x), function(x))

# With the devices that tensors say.
x, host = torch.randn(8, device="cuda"), torch.randn(8)
scaled = torch.compile(lambda a: (torch.softmax(a, -1) * torch.ones(8, device=a.device)).to(a.device), fullgraph=True)
torch.testing.assert_close(scaled(x), torch.softmax(x, -1))

# Also where what is computed from tensors of the host is noted.
assert torch.allclose(torch.compile(traced, backend="eager", fullgraph=True)(x), traced(x))
doubled = torch.compile(lambda a: torch.nn.functional.gelu(a) * 2, fullgraph=True)
for given in (x, host):
    torch.testing.assert_close(doubled(given), torch.nn.functional.gelu(given) * 2)

# Modules that other compilers write are programs, wherever torch loads them.
written = torch._inductor.codecache.PyCodeCache.load("def where(tensor):\\n    return tensor.device\\n")
assert written.__name__.startswith("torch.") and written.where(x).type == "cuda" and written.where(host).type == "cpu"
"""


def test_torchs_compiler_traces_the_cpu(tmp_path):
    run([sys.executable, "-m", "shoal.triton", "--cuda-as-cpu"], COMPILED, tmp_path)
