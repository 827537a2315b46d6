"""`--cuda-as-cpu`: ranks with NCCL and symmetric memory."""

import pytest
from distributed import run, torchrun

pytestmark = pytest.mark.torch

RANKS = """
import os
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import triton
import triton.language as tl

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{local_rank}")
torch.cuda.set_device(device)
assert torch.cuda.device_count() == 2
dist.init_process_group("nccl", device_id=device)
group = dist.new_group(backend="nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()
x = torch.full((4,), float(rank), device=device)
dist.all_reduce(x, op=dist.ReduceOp.AVG)
assert x.tolist() == [(world_size - 1) / 2] * 4
out = torch.empty(world_size, device=device)
dist.all_gather_into_tensor(out, torch.full((1,), float(rank), device=device), group=group)
assert out.tolist() == list(range(world_size))
dist.reduce_scatter_tensor(torch.empty(1, device=device), out)
short = torch.full((world_size,), rank + 1.5, device=device).to(torch.float8_e4m3fn)
parts = [torch.zeros_like(short) for _ in range(world_size)]
dist.all_gather(parts, short, group=group)
assert [part.float().tolist() for part in parts] == [[i + 1.5] * world_size for i in range(world_size)]
mixed = torch.zeros_like(short)
dist.all_to_all_single(mixed, short)
assert mixed.float().tolist() == [i + 1.5 for i in range(world_size)]
functional = torch.ops._c10d_functional
ahead = functional.wait_tensor(functional.all_gather_into_tensor(short, world_size, dist.group.WORLD.group_name))
assert ahead.dtype == short.dtype and torch.equal(ahead.float(), torch.cat(parts).float())
taken = functional.wait_tensor(functional.all_to_all_single(short, [1] * world_size, [1] * world_size, "0"))
assert taken.float().tolist() == mixed.float().tolist()
dist.broadcast(short, 0)
assert short.float().tolist() == [1.5] * world_size
if rank == 0:
    dist.send(short, 1)
elif rank == 1:
    dist.recv(mixed, 0)
    assert mixed.float().tolist() == [1.5] * world_size
dist.barrier(device_ids=[local_rank])
mesh = dist.init_device_mesh("cuda", (world_size,))
assert mesh.size() == world_size


@torch.compile(fullgraph=True)
def compiled(x):
    x = torch.ops._c10d_functional.all_reduce(x + 1, "sum", dist.group.WORLD.group_name)
    return torch.ops._c10d_functional.wait_tensor(x)


assert compiled(torch.ones(4, 4, device=device)).eq(2 * world_size).all()


@triton.jit
def meet(pads, block, rank: tl.constexpr, ranks: tl.constexpr):
    pads = pads.to(tl.pointer_type(tl.uint64))
    for peer in tl.static_range(ranks):
        slot = tl.load(pads + peer).to(tl.pointer_type(tl.uint32)) + block * ranks + rank
        while tl.atomic_cas(slot, 0, 1, sem="release", scope="sys") != 0:
            pass
    own = tl.load(pads + rank).to(tl.pointer_type(tl.uint32)) + block * ranks
    for peer in tl.static_range(ranks):
        while tl.atomic_cas(own + peer, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@triton.jit
def one_shot_all_reduce(buffers, pads, out, n, rank: tl.constexpr, ranks: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    meet(pads, pid, rank, ranks)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(ranks):
        total += tl.load(buffers[i] + at, mask=at < n).to(tl.float32)
    tl.store(out + at, total, mask=at < n)
    meet(pads, pid, rank, ranks)


large = symm_mem.empty(2 << 30, dtype=torch.uint8, device=device)
large[-1] = 5
assert large.numel() == 2 << 30 and int(large[-1]) == 5
del large
shared = symm_mem.empty((1000,), dtype=torch.bfloat16, device=device)
handle = symm_mem.rendezvous(shared, group=dist.group.WORLD)
shared.normal_()
buffers = tuple(handle.get_buffer(i, tuple(shared.shape), shared.dtype) for i in range(handle.world_size))
out = torch.full((1000,), float("nan"), device=device)
one_shot_all_reduce[(8,)](
    buffers, handle.signal_pad_ptrs_dev, out, 1000, handle.rank, handle.world_size, BLOCK=128, num_warps=32
)
everything = [torch.empty_like(shared) for _ in range(world_size)]
dist.all_gather(everything, shared)
torch.testing.assert_close(out, torch.stack(everything).double().sum(0).float())
backend = symm_mem._get_backend_stream(priority=-1)
with torch.cuda.stream(backend):
    handle.barrier()
progress = torch.zeros(world_size, dtype=torch.uint32, device=device)
handle.stream_write_value32(progress, offset=1, val=1)
assert progress.tolist()[1] == 1
dist.destroy_process_group()
print(f"done {rank}\\n", end="")  # one write: ranks share the pipe
"""


def test_ranks_with_nccl_and_symmetric_memory(tmp_path):
    output = run(torchrun(2), RANKS, tmp_path, "-m", "shoal.triton", "--cuda-as-cpu")
    assert "done 0" in output and "done 1" in output
    assert output.count("CUDA is played by the CPU") == 1, output


SUBGROUPS = """
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch._C._autograd import DeviceType
from torch._C._distributed_c10d import _detect_dma_connectivity, _SymmetricMemory

dist.init_process_group("nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
matrix = _detect_dma_connectivity(DeviceType.CUDA, "nvlink").matrix
assert [sum(row) for row in matrix] == [world_size - 1] * world_size

# The last rank is not in it.
subgroup = dist.new_group(list(range(world_size - 1)))
if rank < world_size - 1:
    assert dist.get_process_group_ranks(subgroup) == list(range(world_size - 1))
    shared = symm_mem.empty(8, device=device).fill_(rank)
    handle = symm_mem.rendezvous(shared, group=subgroup)
    assert handle.world_size == world_size - 1
    handle.barrier()
    peer = (rank + 1) % (world_size - 1)
    assert handle.get_buffer(peer, (8,), torch.float32).eq(peer).all()
    handle.barrier()
assert symm_mem.is_symm_mem_enabled_for_group(dist.group.WORLD.group_name)
assert not symm_mem.is_symm_mem_enabled_for_group("of nobody")

# What is made while a pool of symmetric memory is in use is symmetric memory; what only shows it, and the rest, is not.
ones = torch.ones(16, 16, device=device)
with torch.cuda.use_mem_pool(symm_mem.get_mem_pool(device)):
    product = (ones @ ones).t()
    assert torch.ones(4, device=device).add_(1).sum() == 8
assert symm_mem.is_symm_mem_tensor(product) and product.stride() == (1, 16)
assert not symm_mem.is_symm_mem_tensor(ones) and not symm_mem.is_symm_mem_tensor(ones + 1)
total = torch.ops.symm_mem.one_shot_all_reduce(product.t(), "sum", dist.group.WORLD.group_name)
assert total.eq(16 * world_size).all()
with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
    assert not symm_mem.is_symm_mem_tensor(ones + 1)

words = _SymmetricMemory.empty_strided_p2p((8,), (1,), torch.uint32, device, group_name="0").fill_(0)
_SymmetricMemory.memset32(words, offset=4, val=7, count=2)
assert words.tolist() == [0, 0, 0, 0, 7, 7, 0, 0]
for offset, val, count, of, reason in (
    (0, 1, 1, words.view(2, 4), "a flat, contiguous uint32 tensor"),
    (0, 1, 1, words.view(torch.float32), "a flat, contiguous uint32 tensor"),
    (-1, 1, 1, words, "offset must be greater than or equal to 0"),
    (0, 1 << 32, 1, words, "(uint32_t)"),
    (0, 1, 0, words, "count must be a positive integer"),
    (4, 1, 5, words, "exceeded the numel of the input"),
):
    try:
        _SymmetricMemory.memset32(of, offset=offset, val=val, count=count)
    except RuntimeError as error:
        assert reason in str(error), error
    else:
        raise AssertionError(reason)

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
    ones + 1
assert any(event.key == "aten::add" for event in profile.key_averages())
dist.barrier()
dist.destroy_process_group()
print(f"done {rank}\\n", end="")
"""


def test_groups_pools_words_and_profiles_of_ranks(tmp_path):
    output = run(torchrun(3), SUBGROUPS, tmp_path, "-m", "shoal.triton", "--cuda-as-cpu")
    assert all(f"done {rank}" in output for rank in range(3))
    assert "Failed to record CUDA event" not in output
