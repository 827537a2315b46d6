"""Tuning where ranks are threads of one process: each rank has what it would have as a process of its own."""

import importlib.util
import threading

import pytest
from thread_worlds import world

import shoal
import shoal.language as tl
from shoal import triton_dist
from shoal.triton_dist import autotuner, tune
from shoal.triton_dist import language as dl
from shoal.triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.torch
if importlib.util.find_spec("torch") is not None:
    import torch


class Clocks(threading.local):
    """The time of each rank, which its launches take as they are told to."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clocks()
    monkeypatch.setattr(autotuner, "time", made)
    return made


def exchange(clock, launched):
    """Kernels that need those of the other ranks, as a function; 64 alone is fast, but not on rank 0."""

    def launches(arguments):
        rank = shoal.current_rank().rank
        launched[rank].append(arguments["BLOCK"])
        clock.now += {64: 0.05 if rank == 0 else 0.001}.get(arguments["BLOCK"], 0.02)

    def blocks(*sizes):
        return [shoal.Config({"BLOCK": size}, pre_hook=launches) for size in sizes]

    @shoal.autotune(blocks(100, 64, 128), key=["n"])
    @triton_dist.jit
    def push(shard, out, signals, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK != 100)
        peer = tl.program_id(0)
        me = dl.rank()
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(dl.symm_at(out, peer) + me * n + at, tl.load(shard + at, mask=at < n), mask=at < n)
        dl.notify(signals + me, peer, signal=1, sig_op="set", comm_scope="intra_node")

    @shoal.autotune(blocks(32), key=["n"])
    @triton_dist.jit
    def pull(out, total, signals, n, BLOCK: tl.constexpr):
        peer = tl.program_id(0)
        out = dl.consume_token(out, dl.wait(signals + peer, 1, "sys", "acquire"))
        tl.store(signals + peer, 0)
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.atomic_add(total + at, tl.load(out + peer * n + at, mask=at < n), mask=at < n)

    def sum_of_shards(rank, shard, out, signals):
        total = torch.zeros_like(shard)
        push[(rank.num_ranks,)](shard, out, signals, shard.numel())
        pull[(rank.num_ranks,)](out, total, signals, shard.numel())
        rank.barrier()
        return total

    return sum_of_shards


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_tune_together(ranks, clock):
    launched = [[] for _ in range(ranks)]
    tuned = contextual_autotune(is_dist=True, n_repeat=2, n_warmup=1)(exchange(clock, launched))

    def use(rank, is_known=False):
        signals = rank.symm_zeros(ranks, torch.int64)
        for n, is_new in ((100, not is_known), (100, False), (50, not is_known)):
            launched[rank.rank].clear()
            out = rank.symm_zeros((ranks, n), torch.float32)
            shard = torch.arange(n) + 1000.0 * rank.rank
            expected = ranks * torch.arange(n) + 500.0 * ranks * (ranks - 1)
            assert torch.equal(tuned(rank, shard, out, signals), expected)
            tried = [block for block in launched[rank.rank] if block != 32]
            assert tried == ([100] + [64] * 3 + [128] * 4 if is_new else [128]), tried

    made = world(ranks)
    made.run(use)
    made.run(use, is_known=True)
    # The ranks of another world know nothing, as new processes would.
    world(ranks).run(use)


def test_ranks_tune_together_whatever_others_have_tuned(clock):
    """As a process, rank 0 would know nothing of the size that rank 1 has tuned."""
    calls = [[], []]

    @shoal.autotune([shoal.Config({"BLOCK": block}) for block in (32, 64)], key=["n"])
    @shoal.jit
    def double(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

    @contextual_autotune(is_dist=True, n_repeat=1, n_warmup=1)
    def doubled(rank, n):
        calls[rank.rank].append(n)
        x = torch.ones(n)
        double[(1,)](x, n)
        return x

    def use(rank):
        for n in (10, 20) if rank.rank == 0 else (20, 30):
            assert torch.equal(doubled(rank, n), torch.full((n,), 2.0))
        for n in (10, 20) if rank.rank == 0 else (20, 30):
            doubled(rank, n)

    world(2).run(use)
    assert calls == [[10] * 5 + [20] * 5 + [10, 20], [20] * 5 + [30] * 5 + [20, 30]]


def test_each_rank_tunes_alone(clock):
    """Whoever is done first does not end the trials of the others."""
    calls = [0, 0, 0]
    first_is_done = threading.Event()

    @shoal.autotune([shoal.Config({"BLOCK": block}) for block in (32, 64)], key=["n"])
    @shoal.jit
    def double(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

    @contextual_autotune(n_repeat=2, n_warmup=1)
    def doubled(rank):
        calls[rank.rank] += 1
        if rank.rank > 0 and calls[rank.rank] == 3:
            assert first_is_done.wait(60)
        x = torch.ones(10)
        double[(1,)](x, 10)
        return x

    def use(rank):
        assert torch.equal(doubled(rank), torch.full((10,), 2.0))
        if rank.rank == 0:
            first_is_done.set()

    world(3).run(use)
    assert calls == [7, 7, 7]


def test_what_fails_on_one_rank_is_raised_by_all():
    @contextual_autotune(is_dist=True)
    def fails_there(rank):
        if rank.rank == 2:
            raise ValueError("cannot do it")

    def use(rank):
        with pytest.raises(Exception) as raised:
            fails_there(rank)
        return str(raised.value)

    told = "Autotuner error: tuning of fails_there failed on rank 2: ValueError: cannot do it"
    assert world(3).run(use) == [told, told, "cannot do it"]


def test_kernels_choose_for_several_threads_at_once():
    """Each launch has arguments of its own, also while others are measured."""

    @shoal.autotune(
        [shoal.Config({"BLOCK": block}) for block in (16, 32, 64)],
        key=["n"],
        restore_value=["x"],
        do_bench=lambda call, quantiles: [call() and 0 or 1.0] * len(quantiles),
    )
    @shoal.jit
    def add_one(x, n, BLOCK: tl.constexpr):
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(x + at, 1 + tl.load(x + at, mask=at < n), mask=at < n)

    def use(rank):
        for n in range(10, 40):
            x = torch.full((n,), float(rank.rank))
            rank.barrier()
            add_one[(1,)](x, n)
            assert torch.equal(x, torch.full((n,), rank.rank + 1.0)), x

    world(3).run(use)


def test_functions_are_tuned_by_a_team(monkeypatch):
    """Each rank alone would take another configuration; what is fastest for the slowest is good for all."""
    clock = Clocks()
    monkeypatch.setattr(tune, "time", clock)
    calls = [[], [], []]

    @tune.autotune(config_space=[{"size": size} for size in (1, 2, 3)], key_fn=lambda rank, n: n)
    def work(rank, n, size):
        calls[rank.rank].append(size)
        clock.now += {1: 5 - rank.rank, 2: 4, 3: 3 + rank.rank}[size]
        return rank.all_gather(size)

    def use(rank):
        for n in (1, 1, 2) if rank.rank else (2, 2, 1):
            assert work(rank, n, autotune_pg=rank.world) == [2, 2, 2]

    world(3).run(use)
    tuning = [size for size in (1, 2, 3) for _ in range(4)]
    assert calls == [[*tuning, 2, 2, *tuning, 2]] * 3
