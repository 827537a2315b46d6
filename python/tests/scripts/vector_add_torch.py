"""A vector sum of torch tensors, with types by name and a view that is not contiguous."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor):
    output = torch.empty_like(x)
    assert x.device == DEVICE and y.device == DEVICE and output.device == DEVICE
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)  # noqa: E731
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


torch.manual_seed(0)
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int32):
    x = (100 * torch.rand(98432, device=DEVICE)).to(dtype)
    y = (100 * torch.rand(98432, device=DEVICE)).to(dtype)
    torch.testing.assert_close(add(x, y), x + y)
compiled = add_kernel.warmup(torch.float32, torch.float32, torch.float32, 64, BLOCK_SIZE=64, grid=(1,))
assert "llir" in compiled.asm
assert triton.testing.do_bench(lambda: add(x, y), warmup=1, rep=1) > 0
print("ok")
