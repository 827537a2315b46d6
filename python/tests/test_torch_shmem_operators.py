"""`torch.ops.symm_mem`'s shuffles and scaled products on CPU tensors, and SHMEM by torch's names in kernels."""

import pytest
from distributed import run, shoal_launch

pytestmark = pytest.mark.torch

SHUFFLES = """
from pytest import raises as pytest_raises
import torch
import torch.distributed as dist
import shoal.torch

shoal.torch.install_symmetric_memory()

import torch.distributed._symmetric_memory as symm_mem

dist.init_process_group("gloo")
rank, ranks, name = dist.get_rank(), dist.get_world_size(), dist.group.WORLD.group_name
random = torch.Generator().manual_seed(rank)
WIDTH, EXPERTS = 3, 4


def symmetric(values):
    tensor = symm_mem.empty(values.shape, dtype=values.dtype)
    symm_mem.rendezvous(tensor, dist.group.WORLD)
    return tensor.copy_(values)


def exchanged(splits):
    # How many rows everybody has for everybody.
    all = [torch.empty_like(splits) for _ in range(ranks)]
    dist.all_gather(all, splits)
    return all


# Rows are named by their owner and their number there, so that their way can be followed.
rows = torch.arange(64 * WIDTH, dtype=torch.float32).reshape(64, WIDTH) + 1000 * rank
inputs = symmetric(rows)
splits = symmetric(torch.randint(0, 4, (ranks,), generator=random))
found = symmetric(torch.full((2, ranks), -1))
out = symmetric(torch.full((64, WIDTH), -1.0))
torch.ops.symm_mem.all_to_all_vdev(inputs, out, splits, found, name)
at = 0
for source, theirs in enumerate(exchanged(splits)):
    start, count = int(theirs[:rank].sum()), int(theirs[rank])
    assert found[:, source].tolist() == [count, at]
    wanted = rows[start : start + count] - 1000 * rank + 1000 * source
    assert torch.equal(out[at : at + count], wanted)
    at += count
dist.barrier()

for align in (1, 8):
    splits = symmetric(torch.randint(0, 3, (ranks * EXPERTS,), generator=random))
    found = symmetric(torch.full((2, ranks * EXPERTS), -1))
    out = symmetric(torch.full((128, WIDTH), -1.0))
    torch.ops.symm_mem.all_to_all_vdev_2d(inputs, out, splits, found, name, major_align=align)
    everybody, at = exchanged(splits), 0
    for expert in range(EXPERTS):
        assert at % align == 0
        begin = at
        for source in range(ranks):
            chunk = rank * EXPERTS + expert
            start, count = int(everybody[source][:chunk].sum()), int(everybody[source][chunk])
            assert found[:, expert * ranks + source].tolist() == [count, at]
            assert torch.equal(out[at : at + count], rows[start : start + count] - 1000 * rank + 1000 * source)
            at += count
        at = begin + max(-(-(at - begin) // align) * align, align)
    dist.barrier()
    # And back to where they came from.
    back, table = symmetric(torch.full((64, WIDTH), -1.0)), symmetric(torch.full((2, ranks * EXPERTS), -1))
    torch.ops.symm_mem.all_to_all_vdev_2d_offset(out, back, found, table, name)
    total = int(splits.sum())
    assert torch.equal(back[:total], rows[:total])
    assert torch.equal(table[0], splits)
    dist.barrier()

# Nothing for anybody.
splits, found = symmetric(torch.zeros(ranks, dtype=torch.int64)), symmetric(torch.full((2, ranks), -1))
torch.ops.symm_mem.all_to_all_vdev(inputs, out, splits, found, name)
assert not found.any()

# A copy and a signal, around the ring, in the tensors' own memory and in their pads.
dist.barrier()
for pad in (symmetric(torch.zeros(2, dtype=torch.int64))[1:], None):
    message = symmetric(torch.full((5,), float(rank)))
    handle = symm_mem.rendezvous(message, name)
    sent = handle.get_signal_pad(rank, (4,), torch.int64)[3:] if pad is None else pad
    dist.barrier()
    torch.ops.symm_mem.nvshmem_put_with_signal(message, sent, 7 + rank, (rank + 1) % ranks)
    torch.ops.symm_mem.nvshmem_wait_for_signal(sent, 7 + (rank - 1) % ranks, (rank - 1) % ranks)
    dist.barrier()
    assert sent.item() == 7 + (rank - 1) % ranks
    sent.zero_()

# Sums of tiles, each at a rank of its own.
matrix = symmetric(torch.arange(48.0).reshape(6, 8) + 100 * rank)
tile, sums = matrix[1:3, 2:5], torch.full((2, 3), -1.0)
torch.ops.symm_mem.tile_reduce(tile, sums, 1, name)
total = ranks * (torch.arange(48.0).reshape(6, 8) + 50 * (ranks - 1))
assert torch.equal(sums, total[1:3, 2:5] if rank == 1 else torch.full((2, 3), -1.0))
parts = [matrix[i : i + 1, 3:] for i in range(ranks)]
sums = torch.zeros(1, 5)
torch.ops.symm_mem.multi_root_tile_reduce(parts, sums, list(reversed(range(ranks))), name)
assert torch.equal(sums, total[ranks - 1 - rank : ranks - rank, 3:])
with pytest_raises(RuntimeError):
    torch.ops.symm_mem.tile_reduce(torch.zeros(2, 3), sums, 0, name)

symm_mem.set_backend("NCCL")
whole = symmetric(torch.arange(12.0 * ranks).reshape(3 * ranks, 4) + 100 * rank)
turned = torch.empty(3, 4 * ranks)
symm_mem.all_to_all_nd(whole, turned, 0, 1, group=name)
parts = [torch.arange(12.0 * ranks).reshape(3 * ranks, 4)[3 * rank : 3 * rank + 3] + 100 * r for r in range(ranks)]
assert torch.equal(turned, torch.cat(parts, 1))
symm_mem.set_backend("SHOAL")
dist.barrier()

# Products with scales of rows and columns, of numbers of 8 bits.
shared = torch.Generator().manual_seed(7)
a = torch.randn(8, 16, generator=random).to(torch.float8_e4m3fn)
b = torch.randn(16, 12, generator=shared).to(torch.float8_e4m3fn)
a_scale, b_scale = torch.rand(8, 1, generator=random) + 0.5, torch.rand(1, 12, generator=shared) + 0.5
all_a, (c,) = torch.ops.symm_mem.fused_all_gather_scaled_matmul(
    a, [b], a_scale, [b_scale], 0, name, [None], [None], [torch.float32], [False])
scaled = [torch.empty(8, 16) for _ in range(ranks)]
dist.all_gather(scaled, a.float() * a_scale)
torch.testing.assert_close(c, torch.cat(scaled) @ (b.float() * b_scale))
assert all_a.shape == (8 * ranks, 16) and all_a.dtype == a.dtype
a = torch.randn(4 * ranks, 16, generator=random).to(torch.float8_e4m3fn)
one = torch.tensor(0.5)
mine = torch.ops.symm_mem.fused_scaled_matmul_reduce_scatter(
    a, b, one, one, "sum", 0, 0, name, [4 * ranks, 12], None, None, torch.float32, False)
products = [torch.empty(4 * ranks, 12) for _ in range(ranks)]
dist.all_gather(products, 0.25 * (a.float() @ b.float()))
torch.testing.assert_close(mine, sum(products).chunk(ranks)[rank])
shoal.torch.uninstall_symmetric_memory()
dist.barrier()
print(f"done {rank}\\n", end="", flush=True)
"""

KERNELS = """
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.distributed._symmetric_memory._nvshmem_triton as nvshmem
from torch.distributed._symmetric_memory._nvshmem_triton import requires_nvshmem
import triton
import triton.language as tl

assert symm_mem.is_nvshmem_available() and symm_mem.get_backend("cuda:1") == "CUDA"
assert symm_mem.get_backend("cpu") == "SHOAL"
symm_mem.set_backend("NVSHMEM")
assert symm_mem.get_backend(torch.device("cuda")) == "NVSHMEM"
dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
left, right = (rank - 1) % ranks, (rank + 1) % ranks
device = f"cuda:{rank}"
SIZE = 40


def symmetric(values):
    tensor = symm_mem.empty(values.shape, dtype=values.dtype, device=device)
    symm_mem.rendezvous(tensor, dist.group.WORLD)
    return tensor.copy_(values)


@requires_nvshmem
@triton.jit
def pass_on(dest, source, signal, count: tl.constexpr, peer: tl.constexpr, op: tl.constexpr):
    nvshmem.putmem_signal_block(dest, source, count * 4, signal, 3, op, peer)
    nvshmem.signal_wait_until(signal, 3, 3)


@requires_nvshmem
@triton.jit
def fetch(dest, source, count: tl.constexpr, peer: tl.constexpr):
    nvshmem.get(dest, source, count, peer)


@requires_nvshmem
@triton.jit
def fetch_bytes(dest, source, total, count: tl.constexpr, peer: tl.constexpr):
    nvshmem.getmem_nbi_block_extern_wrapper(dest.to(tl.int64), source.to(tl.int64), count * 4, peer)
    nvshmem.quiet()
    nvshmem.reduce_extern_wrapper(0, total.to(tl.int64), source.to(tl.int64), count, "sum", total.type.element_ty)


@requires_nvshmem
@triton.jit
def send(dest, source, flag, one, count: tl.constexpr, peer: tl.constexpr):
    nvshmem.put(dest, source, count, peer)
    nvshmem.fence()
    nvshmem.put(flag, one, 1, peer)
    nvshmem.quiet()
    nvshmem.wait_until(flag, 0, 1)


@requires_nvshmem
@triton.jit
def together(dest, source, shared, total, count: tl.constexpr, operation: tl.constexpr, root: tl.constexpr):
    nvshmem.barrier_all()
    nvshmem.alltoall(0, dest, source, count // nvshmem.n_pes())
    nvshmem.broadcast(0, shared, source, count, root)
    nvshmem.reduce(0, total, total, count, operation)
    nvshmem.sync_all()


source = symmetric(torch.arange(SIZE, dtype=torch.int32) + 100 * rank)
for op in (0, 5):
    dest = symmetric(torch.full((SIZE,), -1, dtype=torch.int32))
    signal = symmetric(torch.zeros(1, dtype=torch.int64))
    dist.barrier()
    pass_on[(1,)](dest, source, signal, SIZE, right, op)
    assert dest.tolist() == [100 * left + i for i in range(SIZE)] and signal.tolist() == [3]
    dist.barrier()
dest.fill_(-1)
fetch[(1,)](dest, source, SIZE, right)
assert dest.tolist() == [100 * right + i for i in range(SIZE)]
dest.fill_(-1)
total = torch.zeros(SIZE, dtype=torch.int32)
fetch_bytes[(1,)](dest, source, total, SIZE, right)
assert dest.tolist() == [100 * right + i for i in range(SIZE)]
assert total.tolist() == [50 * ranks * (ranks - 1) + ranks * i for i in range(SIZE)]
flag, one = symmetric(torch.zeros(1, dtype=torch.int32)), symmetric(torch.ones(1, dtype=torch.int32))
dist.barrier()
dest.fill_(-1)
dist.barrier()
send[(1,)](dest, source, flag, one, SIZE, right)
assert dest.tolist() == [100 * left + i for i in range(SIZE)]
dist.barrier()
for operation, combine in (("sum", torch.sum), ("max", torch.amax), ("min", torch.amin), ("prod", torch.prod)):
    values = torch.arange(SIZE, dtype=torch.float32) % 5 + 1 + rank
    total, shared = symmetric(values), symmetric(torch.zeros(SIZE, dtype=torch.int32))
    dist.barrier()
    together[(1,)](dest, source, shared, total, SIZE, operation, ranks - 1)
    part = SIZE // ranks
    assert dest.tolist() == [100 * r + rank * part + i for r in range(ranks) for i in range(part)]
    assert shared.tolist() == [100 * (ranks - 1) + i for i in range(SIZE)]
    all = torch.stack([values - rank + r for r in range(ranks)])
    assert torch.equal(total, combine(all, 0)), operation
    dist.barrier()
dist.destroy_process_group()
print(f"done {rank}\\n", end="", flush=True)
"""

HOST = """
import os
import nvshmem.bindings.nvshmem as bindings
import nvshmem.core
import torch
import triton
from cuda import cuda, cudart
from cuda.core import Device
from cuda.core.experimental import Stream, system
from nvshmem.core.utils import get_size
from triton_dist.language.extra import libshmem_device
from triton_dist.utils import CUDA_CHECK, finalize_distributed, initialize_distributed, nvshmem_signal_wait

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
initialize_distributed()
assert (nvshmem.core.my_pe(), bindings.n_pes()) == (rank, ranks)
assert bindings.team_my_pe(nvshmem.core.Teams.TEAM_NODE) == rank and bindings.team_n_pes(-1) == -1
x = nvshmem.core.tensor((8,), dtype=torch.int32)
x.fill_(rank)
nvshmem.core.barrier(nvshmem.core.Teams.TEAM_WORLD, torch.cuda.current_stream())
assert nvshmem.core.get_peer_tensor(x, (rank + 1) % ranks).tolist() == [(rank + 1) % ranks] * 8

signals, parts = nvshmem.core.tensor((2,), dtype=torch.int64), nvshmem.core.tensor((4,), dtype=torch.int32)
after, before = (rank + 1) % ranks, (rank - 1) % ranks
word, _, _ = nvshmem.core.tensor_get_buffer(signals)
sent = torch.full((4,), 10 + rank, dtype=torch.int32, device="cuda")
nvshmem.core.put_signal(parts, sent, word, 5, nvshmem.core.SignalOp.SIGNAL_SET, remote_pe=after, stream=None)
nvshmem.core.signal_wait(word, 5)
assert parts.tolist() == [10 + before] * 4
nvshmem.core.barrier(nvshmem.core.Teams.TEAM_WORLD)
bindings.putmem_on_stream(parts.data_ptr(), sent.data_ptr(), 8, before, 0)
bindings.signal_op_on_stream(signals[1].data_ptr(), 2, nvshmem.core.SignalOp.SIGNAL_ADD, before, 0)
nvshmem_signal_wait(signals[1:], rank, 2, libshmem_device.NVSHMEM_CMP_GE, torch.cuda.current_stream())
nvshmem.core.barrier(nvshmem.core.Teams.TEAM_WORLD)
assert parts.tolist() == [10 + after] * 2 + [10 + before] * 2 and signals.tolist() == [5, 2]
assert nvshmem.core.get_multicast_tensor(nvshmem.core.Teams.TEAM_NODE, x).data_ptr() == x.data_ptr()


class OtherStream:
    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.cuda_stream


assert system.num_devices > rank
device = Device(rank)
device.set_current()
assert Device() == device and Device().device_id == torch.cuda.current_device() == rank
assert tuple(device.compute_capability) == torch.cuda.get_device_capability()
assert device.create_stream(OtherStream(torch.cuda.current_stream())).handle == torch.cuda.current_stream().cuda_stream
stream = device.create_stream()
assert get_size((3, 4), torch.bfloat16) == get_size((3, 4), "float16") == 24

everybody = nvshmem.core.Teams.TEAM_WORLD
values, sums = nvshmem.core.tensor((2 * ranks,), dtype=torch.float32), nvshmem.core.tensor((2 * ranks,))
values.copy_(torch.arange(2 * ranks) + 100 * rank)
own = 100 * rank + torch.arange(2 * ranks)
nvshmem.core.reduce(everybody, sums, values, "sum", stream=stream)
assert torch.equal(sums, sum(100.0 * r + torch.arange(2 * ranks) for r in range(ranks)))
nvshmem.core.reduce(everybody, sums, sums, "max", stream=stream)
part = nvshmem.core.tensor((2,))
nvshmem.core.reducescatter(everybody, part, values, "min", stream=stream)
assert part.tolist() == [2.0 * rank, 2.0 * rank + 1]
nvshmem.core.alltoall(everybody, sums, values, stream=stream)
assert sums.tolist() == [100.0 * r + 2 * rank + i for r in range(ranks) for i in range(2)]
nvshmem.core.fcollect(everybody, sums, part, stream=stream)
assert sums.tolist() == list(range(2 * ranks))
nvshmem.core.broadcast(everybody, sums, values, root=1, stream=stream)
assert torch.equal(sums, 100.0 + torch.arange(2 * ranks)) and torch.equal(values, own.float())
for bad in (lambda: nvshmem.core.reduce(everybody, sums, values, "prod"),
            lambda: nvshmem.core.fcollect(everybody, part, values)):
    try:
        bad()
    except ValueError:
        nvshmem.core.barrier_all()
    else:
        raise AssertionError("what cannot be done is refused")
nvshmem.core.sync_all(stream=stream)
nvshmem.core.signal_op(word, 9, nvshmem.core.SignalOp.SIGNAL_SET, remote_pe=after, stream=stream)
nvshmem.core.signal_wait(word, 9)
assert nvshmem.core.signal_fetch(word) == 9
nvshmem.core.barrier_all(stream=stream)

config = nvshmem.core.team_get_config(libshmem_device.NVSHMEM_TEAM_WORLD)
rows, columns = nvshmem.core.team_split_2d(libshmem_device.NVSHMEM_TEAM_WORLD, 2, config, 0, config, 0)
assert nvshmem.core.team_my_pe(rows) == rank % 2 and nvshmem.core.team_my_pe(columns) == rank // 2
assert bindings.team_translate_pe(columns, rank // 2, libshmem_device.NVSHMEM_TEAM_WORLD) == rank
nvshmem.core.fcollect(rows, sums, part, stream=stream)
assert sums[:4].tolist() == [2.0 * r + i for r in (rank // 2 * 2, rank // 2 * 2 + 1) for i in range(2)]
nvshmem.core.team_destroy(rows)
evens = nvshmem.core.team_split_strided(0, 0, 2, (ranks + 1) // 2)
assert nvshmem.core.team_n_pes(evens) == ((ranks + 1) // 2 if rank % 2 == 0 else -1)


@triton.jit
def ask(team, place, out):
    pe = libshmem_device.team_translate_pe(team, place, libshmem_device.NVSHMEM_TEAM_WORLD)
    triton.language.store(out, pe)


out = torch.empty(1, dtype=torch.int32, device="cuda")
ask[(1,)](int(columns), rank // 2, out)
assert out.item() == rank

words, copy = torch.tensor([1, 2], dtype=torch.int32, device="cuda"), torch.zeros(2, dtype=torch.int32, device="cuda")
stream = torch.cuda.current_stream().cuda_stream
(err,) = cuda.cuStreamWriteValue32(
    stream, words[1].data_ptr(), 7, cuda.CUstreamWriteValue_flags.CU_STREAM_WRITE_VALUE_DEFAULT)
CUDA_CHECK(err)
(err,) = cudart.cudaMemcpyAsync(
    copy.data_ptr(), words.data_ptr(), words.nbytes, cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice, stream)
CUDA_CHECK(err)
assert copy.tolist() == [1, 7]
try:
    CUDA_CHECK(cudart.cudaError_t.cudaErrorInvalidValue)
except RuntimeError:
    pass
else:
    raise AssertionError("an error is an error")
nvshmem.core.finalize()
finalize_distributed()
print(f"done {rank}\\n", end="", flush=True)
"""


@pytest.mark.parametrize("n", [2, 3])
def test_rows_find_their_way(n, tmp_path):
    output = run(shoal_launch(n), SHUFFLES, tmp_path)
    assert all(f"done {rank}" in output for rank in range(n)), output


def test_kernels_put_and_get_by_the_names_of_torch(tmp_path):
    output = run([*shoal_launch(2), "-m", "shoal.triton", "--cuda-as-cpu"], KERNELS, tmp_path)
    assert all(f"done {rank}" in output for rank in range(2)), output


def test_hosts_reach_nvshmem_and_cuda(tmp_path):
    output = run([*shoal_launch(4), "-m", "shoal.triton", "--cuda-as-cpu"], HOST, tmp_path)
    assert all(f"done {rank}" in output for rank in range(4)), output
