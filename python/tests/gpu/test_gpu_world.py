"""Ranks that share a GPU: tensors of torch, its streams, graphs, and the handle of symmetric memory."""

import time

import pytest

import shoal
import shoal.language as tl
from shoal import symm_mem
from shoal.language.extra.language_extra import __syncthreads, atomic_cas, tid

torch = pytest.importorskip("torch")


def world(n, **options):
    return shoal.World.cuda(n, **{"heap_bytes": 1 << 25, "timeout": 30, **options})


@shoal.jit
def rotate(x, out, flags, BLOCK: tl.constexpr):
    to = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(out, to) + at, tl.load(x + at))
    tl.notify(flags, to)
    tl.wait(flags, 1, "sys", "acquire")


@shoal.jit
def meet(pads, rank, WORLD: tl.constexpr):
    """Programs of one number meet, as Kraken's do: each lane signals one rank, then takes the signal of one."""
    __syncthreads()
    peer = tid(0)
    if peer < WORLD:
        table = pads.to(tl.pointer_type(tl.uint64))
        theirs = tl.load(table + peer).to(tl.pointer_type(tl.int32))
        mine = tl.load(table + rank).to(tl.pointer_type(tl.int32))
        slot = tl.program_id(0) * WORLD
        while atomic_cas(theirs + slot + rank, 0, 1, scope="sys", semantic="release") != 0:
            pass
        while atomic_cas(mine + slot + peer, 1, 0, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()


@shoal.jit
def sum_of_all(buffers, pads, out, n, rank, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    meet(pads, rank, WORLD)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for peer in tl.static_range(WORLD):
        x = tl.load(buffers.to(tl.pointer_type(tl.uint64)) + peer).to(tl.pointer_type(tl.bfloat16))
        total += tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out + at, total.to(tl.bfloat16), mask=at < n)
    meet(pads, rank, WORLD)


@shoal.jit
def wait_in_vain(flag):
    tl.wait(flag, 1, "sys", "acquire", waitValue=7)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_kernels_reach_other_ranks(n):
    def on_rank(rank):
        x = torch.full((64,), float(rank.rank), device="cuda")
        out = rank.symm_zeros(64, torch.float32)
        flags = rank.symm_zeros(1, torch.int64)
        assert out.device == rank.device and rank.is_symmetric(out)
        rotate[(1,)](x, out, flags, BLOCK=64)
        rank.barrier()
        seen = out[0].item(), rank.peer(out, 0)[0].item()
        rank.barrier()
        return seen

    assert world(n).run(on_rank) == [((rank - 1) % n, n - 1) for rank in range(n)]


def test_types_and_peers():
    def on_rank(rank):
        x = rank.symm_zeros((4, 8), "bfloat16")
        assert x.dtype == torch.bfloat16 and x.shape == (4, 8)
        rank.peer(x, (rank.rank + 1) % 3)[1, 2:] = rank.rank
        rank.barrier()
        assert x[1, 2:].tolist() == [(rank.rank - 1) % 3] * 6 and not x[0].any()
        rank.barrier()
        rank.free(x)
        assert rank.symm_empty(0, torch.int8).numel() == 0
        with pytest.raises(ValueError, match="symmetric memory that rank"):
            rank.peer(torch.ones(3, device="cuda"), 0)
        assert rank.signal_pad().dtype == torch.uint32

    world(3).run(on_rank)


def test_launches_are_in_the_order_of_torch():
    def on_rank(rank):
        assert torch.cuda.current_stream() == rank.cuda_stream
        x = torch.zeros(64, device="cuda")
        out, flags = rank.symm_zeros(64, torch.float32), rank.symm_zeros(1, torch.int64)
        rotate[(1,)](x, out, flags, BLOCK=64)
        rank.barrier()
        flags.zero_()
        rank.barrier()
        # In the rank's stream, then in one of its own, which the rank's barrier waits for, too.
        torch.cuda._sleep(10_000_000)
        x.fill_(5.0 + rank.rank)
        rotate[(1,)](x, out, flags, BLOCK=64)
        rank.barrier()
        assert out[0].item() == 5.0 + (rank.rank - 1) % 2
        flags.zero_()
        rank.barrier()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            x.fill_(8.0 + rank.rank)
            rotate[(1,)](x, out, flags, BLOCK=64)
        rank.barrier()
        assert out[0].item() == 8.0 + (rank.rank - 1) % 2

    world(2).run(on_rank)


@pytest.mark.parametrize("n", [2, 8])
def test_graphs_of_all_ranks(n):
    def on_rank(rank):
        count = 10_000
        x = symm_mem.empty(count, dtype=torch.bfloat16)
        handle = symm_mem.rendezvous(x)
        x.copy_(torch.randn(count, device="cuda", generator=torch.Generator("cuda").manual_seed(rank.rank)))
        out = torch.full((count,), float("nan"), device="cuda", dtype=torch.bfloat16)

        def reduce():
            sum_of_all[(10,)](
                handle.buffer_ptrs_dev, handle.signal_pad_ptrs_dev, out, count, rank.rank, WORLD=n, BLOCK=1024
            )

        rank.barrier()
        expected = sum(handle.get_buffer(peer, (count,), torch.bfloat16).float() for peer in range(n)).bfloat16()
        rank.barrier()
        reduce()
        rank.barrier()
        assert torch.equal(out, expected)
        graph = torch.cuda.CUDAGraph()
        for turn in range(n):
            if turn == rank.rank:
                with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                    for _ in range(20):
                        reduce()
            rank.barrier()
        out.fill_(float("nan"))
        rank.barrier()
        for _ in range(5):
            graph.replay()
        rank.barrier()
        assert torch.equal(out, expected)
        return int(handle.get_signal_pad(rank.rank, dtype=torch.int32).abs().sum())

    assert world(n).run(on_rank) == [0] * n


def test_signals_of_the_handle():
    def on_rank(rank):
        x = symm_mem.empty(16, dtype=torch.float32)
        handle = symm_mem.rendezvous(x)
        assert handle.device == rank.device and handle.multicast_ptr == 0
        # torch loads a kernel when it is first used, and loading waits for kernels that run.
        assert (sum(x.fill_(1) for peer in range(4)) == 4).all()
        rank.barrier()
        for turn in range(20):
            x.fill_(rank.rank + turn)
            handle.barrier()
            total = sum(handle.get_buffer(peer, (16,), torch.float32) for peer in range(4))
            handle.barrier(channel=1)
            assert (total == 6 + 4 * turn).all()
        # Around a ring: who has the signal of the left neighbour finds its number there.
        right, left = (rank.rank + 1) % 4, (rank.rank + 3) % 4
        handle.get_buffer(right, (1,), torch.float32).fill_(100 + rank.rank)
        handle.put_signal(right, channel=2)
        handle.wait_signal(left, channel=2)
        assert x[0].item() == 100 + left
        words = symm_mem.empty(4, dtype=torch.int32)
        symm_mem.SymmetricMemory.memset32(words, 0, 9, 4)
        symm_mem.SymmetricMemory.stream_write_value32(words, 2, 0xFFFFFFFF)
        assert words.tolist() == [9, 9, -1, 9]
        rank.barrier()
        return int(handle.get_signal_pad(rank.rank, dtype=torch.int32).abs().sum())

    assert world(4).run(on_rank) == [0] * 4


def test_waits_in_vain_are_told_and_the_gpu_goes_on(monkeypatch):
    monkeypatch.setenv("SHOAL_WAIT_TIMEOUT", "0.5")

    def on_rank(rank):
        flag = rank.symm_zeros(1, torch.int64)
        with pytest.raises((shoal.DeadlockError, shoal.WorldError)) as raised:
            wait_in_vain[(1,)](flag)
            rank.barrier()
        return str(raised.value)

    told = world(2).run(on_rank)
    for text in told:
        assert "wait_in_vain" in text and "test_gpu_world.py" in text and "7" in text, text
    test_kernels_reach_other_ranks(2)


def test_a_rank_in_a_barrier_hears_of_kernels_that_wait_in_vain(monkeypatch):
    monkeypatch.setenv("SHOAL_WAIT_TIMEOUT", "0.5")

    def on_rank(rank):
        flag = rank.symm_zeros(1, torch.int64)
        flag.fill_(7 if rank.rank == 1 else 0)
        torch.cuda.synchronize()
        rank.barrier()
        with pytest.raises((shoal.DeadlockError, shoal.WorldError)) as raised:
            wait_in_vain[(1,)](flag)
            rank.barrier()
        return str(raised.value)

    for text in world(2).run(on_rank):
        assert "wait_in_vain" in text and "in barrier of the world" in text, text


def test_reading_lets_other_ranks_launch():
    def on_rank(rank):
        x = symm_mem.empty(16, dtype=torch.float32)
        handle = symm_mem.rendezvous(x)
        handle.barrier()
        rank.barrier()
        if rank.rank == 1:
            time.sleep(0.3)
        handle.barrier()
        # Waits for the kernel above, which waits for that of the other rank.
        return len(rank._native.read(rank.rank, 0, 4))

    assert world(2).run(on_rank) == [4, 4]


def test_what_is_not_there_is_said():
    def on_rank(rank):
        with pytest.raises(ValueError, match="arrays of the host"):
            shoal.kernels.broadcast(torch.ones(4, device="cuda"), 0)
        with pytest.raises(ValueError, match="symmetric memory is on the device"):
            symm_mem.empty(4, device="cpu")

    world(1).run(on_rank)


@pytest.mark.parametrize("launches", [10_000])
def test_many_launches_leave_no_signal_behind(launches):
    """Programs of eight ranks meet again and again, in graphs without a pause."""

    def on_rank(rank):
        count = 4096
        x = symm_mem.empty(count, dtype=torch.bfloat16)
        handle = symm_mem.rendezvous(x)
        x.fill_(rank.rank)
        out = torch.empty(count, device="cuda", dtype=torch.bfloat16)

        def reduce():
            sum_of_all[(4,)](
                handle.buffer_ptrs_dev, handle.signal_pad_ptrs_dev, out, count, rank.rank, WORLD=8, BLOCK=1024
            )

        reduce()
        rank.barrier()
        graph = torch.cuda.CUDAGraph()
        for turn in range(8):
            if turn == rank.rank:
                with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                    for _ in range(100):
                        reduce()
            rank.barrier()
        for _ in range(launches // 100):
            out.fill_(float("nan"))
            graph.replay()
        rank.barrier()
        assert (out == 28).all()
        return int(handle.get_signal_pad(rank.rank, dtype=torch.int32).abs().sum())

    assert world(8).run(on_rank) == [0] * 8
