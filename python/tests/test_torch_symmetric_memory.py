"""The stand-in for `torch.distributed._symmetric_memory`: host code written for it runs unchanged on CPU tensors."""

import sys

import pytest
from distributed import run, shoal_launch, torchrun

pytestmark = pytest.mark.torch

HOST = """
import os
import torch
import torch.distributed as dist
import shoal.torch

shoal.torch.install_symmetric_memory()

import torch.distributed._symmetric_memory as symm_mem

dist.init_process_group("gloo")
group = dist.group.WORLD
rank, world_size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)


def gathered(tensor):
    all = [torch.empty_like(tensor) for _ in range(world_size)]
    dist.all_gather(all, tensor)
    return all


x = symm_mem.empty(32, 20, dtype=torch.bfloat16, device="cpu")
handle = symm_mem.rendezvous(x, group=group)
assert symm_mem.rendezvous(x, group.group_name) is handle
assert isinstance(handle, symm_mem._SymmetricMemory) and symm_mem.is_symm_mem_tensor(x)
assert (handle.rank, handle.world_size, handle.buffer_size) == (rank, world_size, 32 * 20 * 2)
assert len(handle.buffer_ptrs) == len(handle.signal_pad_ptrs) == world_size
assert handle.buffer_ptrs[rank] == x.data_ptr() and handle.multicast_ptr == x.data_ptr() and handle.device.type == "cpu"
assert handle.get_signal_pad(rank).dtype == torch.uint32 and not handle.get_signal_pad(rank).any()

x.normal_()
expected = torch.stack([t.float() for t in gathered(x)]).sum(0)
name = group.group_name
for reduced in (
    torch.ops.symm_mem.one_shot_all_reduce(x, "sum", name),
    torch.ops.symm_mem.one_shot_all_reduce_out(x, "sum", name, torch.empty_like(x)),
    torch.ops.symm_mem.one_shot_all_reduce_copy(symm_mem.empty(700, dtype=torch.bfloat16), x.clone(), "sum", name),
):
    assert torch.equal(reduced, expected.bfloat16())
    assert all(torch.equal(reduced, other) for other in gathered(reduced))
part = torch.ops.symm_mem.reduce_scatter_out(x[: 4 * world_size], name, False, torch.empty(4, 20, dtype=x.dtype))
assert torch.equal(part, expected.bfloat16()[4 * rank : 4 * rank + 4])
nothing = torch.ops.symm_mem.reduce_scatter_out(x[:0], name, False, torch.empty(0, 20, dtype=x.dtype))
assert symm_mem.is_symm_mem_tensor(x[:0]) and nothing.shape == (0, 20)
torch.ops.symm_mem.two_shot_all_reduce_(x, "sum", name)
assert torch.equal(x, expected.bfloat16())
peers = torch.ops.symm_mem.get_remote_tensors(x, name)
assert len(peers) == world_size and all(torch.equal(peer, x) for peer in peers)
handle.barrier()

for dim in (0, 1):
    a, b = torch.randn(6, 10), torch.randn(10, 4, generator=torch.Generator().manual_seed(1))
    b = b if dim == 0 else torch.randn(10 * world_size, 4, generator=torch.Generator().manual_seed(1))
    all_a, (c,) = torch.ops.symm_mem.fused_all_gather_matmul(a, [b], dim, name)
    assert torch.equal(all_a, torch.cat(gathered(a), dim))
    torch.testing.assert_close(c, all_a @ b)
    none, (alone,) = torch.ops.symm_mem.fused_all_gather_matmul(a, [b], dim, name, return_A=False)
    assert none is None and torch.equal(alone, c)
    a = torch.randn(6 * world_size, 10)
    b = torch.randn(10, 4 * world_size)
    scattered = torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "avg", dim, name)
    mean = torch.stack(gathered(a @ b)).mean(0).chunk(world_size, dim)[rank]
    torch.testing.assert_close(scattered, mean)
# Gathered rows, and those of products, lie one after the other in memory, as torch lays them out.
a = torch.randn(2, 3, 16)
all_a, (c,) = torch.ops.symm_mem.fused_all_gather_matmul(a, [torch.randn(16, 4)], 1, name)
assert torch.equal(all_a, torch.cat(gathered(a), 1))
assert all_a.stride() == (16, 32, 1) and c.stride() == (4, 8, 1)
short, b = a.to(torch.float8_e4m3fn), torch.randn(16, 16).to(torch.float8_e4m3fn).t()
one, of_rows = torch.tensor(0.5), torch.rand(2, 3, 1)
for scale in (one, of_rows):
    all_short, (c, d) = torch.ops.symm_mem.fused_all_gather_scaled_matmul(
        short, [b, b], scale, [one if scale is one else torch.ones(1, 16)] * 2, 1, name, [None] * 2, [None] * 2,
        [None if scale is one else torch.bfloat16, torch.bfloat16], [False] * 2)
    assert all_short.stride() == (16, 32, 1) and c.stride() == d.stride() == (16, 32, 1)
    assert c.dtype == (short.dtype if scale is one else torch.bfloat16) and d.dtype == torch.bfloat16
    scales = torch.cat(gathered(scale.expand(2, 3, 1).contiguous()), 1)
    expected = all_short.float() @ b.float() * scales * (0.5 if scale is one else 1)
    torch.testing.assert_close(d.float(), expected, rtol=1e-2, atol=1e-2)
a = torch.randn(6 * world_size, 10)
assert torch.equal(torch.ops.symm_mem._low_contention_all_gather(a, name), torch.cat(gathered(a)))
torch.testing.assert_close(
    torch.ops.symm_mem._low_contention_reduce_scatter(a, "sum", name), sum(gathered(a)).chunk(world_size)[rank]
)
# What a switch with multicast memory would do.
y = symm_mem.empty(12, 5)
y.normal_()
expected = torch.stack(gathered(y)).sum(0)
torch.testing.assert_close(torch.ops.symm_mem.multimem_one_shot_all_reduce(y, "sum", name), expected)
torch.testing.assert_close(torch.ops.symm_mem.multimem_all_reduce_(y, "sum", name), expected)
all_y = symm_mem.empty(world_size * 3)
part = torch.ops.symm_mem.multimem_all_gather_out(torch.full((3,), float(rank)), name, all_y)
assert part.tolist() == [float(r) for r in range(world_size) for _ in range(3)]
try:
    torch.ops.symm_mem.one_shot_all_reduce(x.clone(), "sum", name)
except RuntimeError as error:
    assert "must be allocated" in str(error)

# Compiled programs put what is reduced into symmetric memory themselves.
def layers(x, v, w):
    x = torch.ops.symm_mem.one_shot_all_reduce(x @ v, "sum", name)
    return torch.ops.symm_mem.one_shot_all_reduce(x @ w + 1, "sum", name)


torch.manual_seed(1)
x, v, w = torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 6)
expected = world_size * (world_size * (x @ v) @ w + 1)
for _ in range(2):
    torch.testing.assert_close(torch.compile(layers, fullgraph=True)(x, v, w), expected)

workspace = symm_mem.get_symm_mem_workspace(name, min_size=1000)
assert workspace.buffer_size >= 1000
flags = workspace.get_buffer(rank, (8,), torch.uint32).zero_()
workspace.barrier()
next_flags = workspace.get_buffer((rank + 1) % world_size, (8,), torch.uint32)
workspace.stream_write_value32(next_flags, offset=3, val=rank + 1)
workspace.barrier()
assert flags[3] == (rank - 1) % world_size + 1

# Ranks of a part of the world, whose memory lies at different places.
halves = [dist.new_group(range(start, world_size, 2)) for start in range(min(world_size, 2))]
if rank % 2:
    extra = symm_mem.empty(1000)
half = halves[rank % 2]
y = symm_mem.empty(4, dtype=torch.int64)
of_half = symm_mem.rendezvous(y, half)
y.fill_(rank)
of_half.barrier(timeout_ms=60000)
seen = [int(of_half.get_buffer(r, (4,), torch.int64)[0]) for r in range(half.size())]
assert seen == list(range(rank % 2, world_size, 2))
of_half.barrier()

shoal.torch.uninstall_symmetric_memory()
assert symm_mem._SymmetricMemory is not type(handle)
dist.barrier()
print(f"done {rank}\\n", end="", flush=True)  # one write: ranks share the pipe
"""


@pytest.mark.parametrize(("start", "n"), [(torchrun, 3), (shoal_launch, 2), (shoal_launch, 1)])
def test_host_code_runs(start, n, tmp_path):
    output = run(start(n), HOST, tmp_path)
    assert all(f"done {rank}" in output for rank in range(n)), output


SPAWNED = """
import sys, tempfile, torch, torch.distributed as dist, torch.multiprocessing as mp
import shoal.torch

def child(rank, size, file):
    shoal.torch.install_symmetric_memory()
    import torch.distributed._symmetric_memory as symm_mem
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=size)
    x = symm_mem.empty(10)
    handle = symm_mem.rendezvous(x, dist.group.WORLD)
    x.fill_(rank + 1)
    assert torch.ops.symm_mem.one_shot_all_reduce(x, "sum", dist.group.WORLD.group_name).tolist() == [3.0] * 10
    dist.barrier()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(child, (2, folder + "/meeting"), nprocs=2)
"""


def test_ranks_that_were_not_started_by_a_launcher(tmp_path):
    run([sys.executable], SPAWNED, tmp_path)


THREADS = """
import torch, shoal
from shoal import symm_mem

def on_rank(rank):
    x = rank.symm_zeros((2, 3), torch.float16)
    assert isinstance(x, torch.Tensor) and x.dtype == torch.float16
    x += rank.rank
    rank.barrier()
    assert rank.peer(x.t()[1:], 1 - rank.rank).sum() == 4 * (1 - rank.rank)
    y = symm_mem.empty(4, dtype=torch.float8_e4m3fn)
    handle = symm_mem.rendezvous(y)
    y.copy_(torch.full((4,), rank.rank + 1.0))
    handle.barrier()
    assert handle.get_buffer(1 - rank.rank, (4,), y.dtype).float().tolist() == [2.0 - rank.rank] * 4
    handle.barrier()
    into = torch.zeros(2, 3, dtype=torch.float16)
    stream = rank.stream()
    stream.copy(into, rank.peer(x, 1))
    stream.synchronize()
    assert into.tolist() == [[1.0] * 3] * 2
    return True

assert shoal.World.threads(2, heap_bytes=1 << 22).run(on_rank) == [True, True]
"""


def test_tensors_on_ranks_that_are_threads(tmp_path):
    run([sys.executable], THREADS, tmp_path)
