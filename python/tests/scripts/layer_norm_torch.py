"""Layer normalisation, forward and backward, as a torch.autograd.Function, compared with torch's own."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def forward_kernel(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        _mean += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    rstd = 1 / tl.sqrt(tl.sum(_var, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def backward_dx_kernel(DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP
    Lock += lock_id
    Count = Lock + GROUP
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(DX + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = dy.to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def backward_dwdb_kernel(DW, DB, FINAL_DW, FINAL_DB, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_M):
        rows = i + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.0)
        db += tl.load(DB + offs, mask=mask, other=0.0)
    tl.store(FINAL_DW + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(FINAL_DB + cols, tl.sum(db, axis=0), mask=cols < N)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, normalized_shape, weight, bias, eps):
        y = torch.empty_like(x)
        rows = x.reshape(-1, x.shape[-1])
        M, N = rows.shape
        mean = torch.empty((M,), dtype=torch.float32, device=x.device)
        rstd = torch.empty((M,), dtype=torch.float32, device=x.device)
        block = min(65536 // x.element_size(), triton.next_power_of_2(N))
        forward_kernel[(M,)](rows, y, weight, bias, mean, rstd, rows.stride(0), N, eps, BLOCK_SIZE=block, num_warps=8)
        ctx.save_for_backward(x, weight, bias, mean, rstd)
        ctx.block = block
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, b, mean, rstd = ctx.saved_tensors
        N = w.shape[0]
        group = 16
        locks = torch.zeros(2 * group, dtype=torch.int32, device=w.device)
        partial_dw = torch.zeros((group, N), dtype=x.dtype, device=w.device)
        partial_db = torch.zeros((group, N), dtype=x.dtype, device=w.device)
        dw = torch.empty((N,), dtype=w.dtype, device=w.device)
        db = torch.empty((N,), dtype=w.dtype, device=w.device)
        dx = torch.empty_like(dy)
        rows = x.reshape(-1, x.shape[-1])
        M, N = rows.shape
        backward_dx_kernel[(M,)](
            dx, dy, partial_dw, partial_db, x, w, mean, rstd, locks, rows.stride(0), N, GROUP=group, BLOCK=ctx.block
        )
        grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]),)  # noqa: E731
        backward_dwdb_kernel[grid](
            partial_dw, partial_db, dw, db, min(group, M), N, BLOCK_M=32, BLOCK_N=128, num_ctas=1
        )
        return dx, None, dw, db, None


torch.manual_seed(0)
M, N = 151, 300
weight = torch.rand((N,), device=DEVICE, requires_grad=True)
bias = torch.rand((N,), device=DEVICE, requires_grad=True)
x = (-2.3 + 0.5 * torch.randn((M, N), device=DEVICE)).requires_grad_(True)
dy = 0.1 * torch.randn_like(x)
ours = LayerNorm.apply(x, (N,), weight, bias, 1e-5)
ours.backward(dy, retain_graph=True)
gradients = [tensor.grad.clone() for tensor in (x, weight, bias)]
for tensor in (x, weight, bias):
    tensor.grad = None
theirs = torch.nn.functional.layer_norm(x, (N,), weight, bias, 1e-5)
theirs.backward(dy, retain_graph=True)
torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
for ours_grad, tensor in zip(gradients, (x, weight, bias)):
    torch.testing.assert_close(ours_grad, tensor.grad, atol=1e-3, rtol=1e-3)
print("ok")
