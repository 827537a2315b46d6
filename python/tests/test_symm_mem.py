"""Symmetric memory with torch's interface, on NumPy arrays and on ranks that are threads."""

import gc
import warnings

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal import symm_mem


def world(n, **options):
    return shoal.World.threads(n, **{"heap_bytes": 1 << 24, "timeout": 60, **options})


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_buffers_and_barriers(n):
    def use(rank):
        x = symm_mem.empty(4, 8, dtype=np.float32)
        handle = symm_mem.rendezvous(x)
        assert (handle.rank, handle.world_size) == (rank.rank, n)
        assert handle.buffer_size == x.nbytes and handle.multicast_ptr == handle.buffer_ptrs[rank.rank]
        assert symm_mem.rendezvous(x, rank.world) is not None
        for turn in range(20):
            x[:] = rank.rank + turn
            handle.barrier()
            total = sum(handle.get_buffer(peer, x.shape, x.dtype) for peer in range(n))
            handle.barrier(channel=1)
            assert (total == sum(range(n)) + n * turn).all()
        assert not handle.get_signal_pad(rank.rank, dtype="uint32").any()
        return True

    assert all(world(n).run(use))


def test_parts_of_buffers_and_pads():
    def use(rank):
        x = symm_mem.empty((6,), dtype=np.int64)
        x[:] = np.arange(6) + 10 * rank.rank
        handle = symm_mem.rendezvous(x[2:])
        handle.barrier()
        peer = 1 - rank.rank
        assert handle.offset == 16
        assert handle.get_buffer(peer, (2, 2), "int64", storage_offset=1).tolist() == [
            [10 * peer + 1, 10 * peer + 2],
            [10 * peer + 3, 10 * peer + 4],
        ]
        assert handle.get_remote_tensor(peer, (3,), np.int64).tolist() == [10 * peer + i for i in (2, 3, 4)]
        pad = handle.get_signal_pad(peer, (4,), "uint32", storage_offset=8)
        pad[0] = 5
        handle.barrier()
        assert handle.get_signal_pad(rank.rank, dtype="uint32")[8] == 5
        handle.get_signal_pad(rank.rank, dtype="uint32")[8] = 0
        with pytest.raises(RuntimeError, match=r"rank must be in \[0, 2\) \(got 2\)"):
            handle.get_buffer(2, (1,), "int64")
        with pytest.raises(ValueError, match=r"requested size \(56 bytes\) exceeds the allocated size \(48 bytes\)"):
            handle.get_buffer(0, (7,), "int64")
        with pytest.raises(RuntimeError, match="maximum supported channel"):
            handle.barrier(channel=handle.signal_pad_size // 8)
        with pytest.raises(RuntimeError, match="non-negative"):
            handle.put_signal(0, channel=-1)
        return True

    assert all(world(2).run(use))


def test_signals_and_words():
    def use(rank):
        x = symm_mem.empty(4, dtype="uint32")
        handle = symm_mem.rendezvous(x)
        x[:] = 0
        handle.barrier()
        if rank.rank == 0:
            handle.stream_write_value32(handle.get_buffer(1, (4,), "uint32"), 2, 7)
            symm_mem.SymmetricMemory.memset32(handle.get_buffer(1, (4,), "uint32"), 0, 9, 2)
            handle.put_signal(1, channel=3)
        else:
            handle.wait_signal(0, channel=3)
            assert x.tolist() == [9, 9, 7, 0]
        handle.barrier()
        if rank.rank == 0:
            symm_mem.put_signal(np.arange(4, dtype=np.uint32), handle, 1)
        else:
            symm_mem.wait_signal(handle, 0)
            assert x.tolist() == [0, 1, 2, 3]
            into = np.empty(2, np.uint32)
            symm_mem.get(into, handle, 1, offset=2)
            assert into.tolist() == [2, 3]
        with pytest.raises(RuntimeError, match="a flat, contiguous uint32 tensor"):
            handle.stream_write_value32(np.zeros(4, np.int8), 0, 1)
        word = np.zeros(2, np.uint32)
        handle.stream_write_value32(word.ctypes.data + 4, 5)
        assert word.tolist() == [0, 5]
        with pytest.raises(TypeError, match="or an address and a value"):
            handle.stream_write_value32(word, 5)
        return True

    assert all(world(2).run(use))


@pytest.mark.parametrize(
    "other, said",
    [
        ("computes", "rank 0 waited 200 ms for the signal"),
        ("waits", "^ranks wait in vain:\nrank 0: waiting for the signal"),
    ],
)
def test_a_signal_that_never_comes_ends_the_wait(other, said):
    def use(rank):
        handle = symm_mem.rendezvous(symm_mem.empty(4, dtype="float32"))
        if rank.rank == 0:
            handle.wait_signal(1, timeout_ms=200)
        while other == "computes":
            rank.check()
        rank.barrier()

    with pytest.raises(shoal.WorldError, match=said):
        world(2).run(use)


def test_ranks_may_pass_memory_at_different_places_and_in_groups():
    def use(rank):
        if rank.rank == 1:  # a rank's own affair
            mine = symm_mem.empty(1000, dtype="float32")
            mine[:] = 1
        x = symm_mem.empty(5, dtype="int32")
        team = rank.world.split(rank.rank % 2)
        handle = symm_mem.rendezvous(x, team)
        assert (handle.rank, handle.world_size) == (team.rank, team.size)
        x[:] = rank.rank
        handle.barrier()
        seen = [int(handle.get_buffer(peer, (5,), "int32")[4]) for peer in range(team.size)]
        handle.barrier()
        assert seen == team.members
        return seen

    assert world(3).run(use) == [[0, 2], [1], [0, 2]]


def test_dropped_memory_is_used_again_but_not_while_a_peer_holds_it():
    def use(rank):
        for turn in range(12):  # 12 * 4 MiB do not fit into 16 MiB
            x = symm_mem.empty(1 << 20, dtype="float32")
            handle = symm_mem.rendezvous(x)
            x[:] = turn
            handle.barrier()
            if rank.rank == 1:
                peer = handle.get_buffer(0, x.shape, x.dtype)
                assert (peer == turn).all()
                del peer
            handle.barrier()
            del x, handle
            gc.collect()
            rank.barrier()
        held = None
        x = symm_mem.empty(1 << 20, dtype="float32")
        handle = symm_mem.rendezvous(x)
        x[:] = 1
        handle.barrier()
        if rank.rank == 1:
            held = handle.get_buffer(0, x.shape, x.dtype)
        address = x.ctypes.data
        del x, handle
        gc.collect()
        rank.barrier()
        if rank.rank == 0:
            other = symm_mem.empty(1 << 20, dtype="float32")
            assert other.ctypes.data != address
            other[:] = 2
        rank.barrier()
        if held is not None:
            assert (held == 1).all()
        rank.barrier()
        told = r"has no room for \d+ bytes in one piece: \d+ of its \d+ are free. SHOAL_HEAP_BYTES makes it larger$"
        with pytest.raises(shoal.OutOfResources, match=told):
            symm_mem.empty(1 << 23, dtype="float32")
        return True

    assert all(world(2).run(use))


@pytest.mark.parametrize("size", [-5, 1.5, "5", 1 << 70])
def test_workspaces_have_a_number_of_bytes(size):
    def ask(rank):
        with pytest.raises(ValueError, match=f"^`min_size` is {size!r}; it must be a number from 0 to "):
            symm_mem.get_symm_mem_workspace(None, size)

    world(1).run(ask)


def test_buffers_of_different_sizes_are_told_of_two_ranks():
    def meet(rank):
        x = symm_mem.empty(4 if rank.rank < 2 else 8, dtype=np.uint8)
        with pytest.raises(RuntimeError, match=r"the buffers have different sizes \(rank 0: 4, rank 2: 8 bytes\)"):
            symm_mem.rendezvous(x)

    world(4).run(meet)


def test_workspaces_grow():
    def use(rank):
        small = symm_mem.get_symm_mem_workspace(None, 100)
        assert symm_mem.get_symm_mem_workspace("world", 50) is small
        large = symm_mem.get_symm_mem_workspace(None, 10000)
        assert large is not small and large.buffer_size >= 10000
        large.barrier()
        return True

    assert all(world(2).run(use))


def test_what_is_no_symmetric_memory_has_no_handle():
    def use(rank):
        plain = np.zeros(4, np.float32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert symm_mem.rendezvous(plain) is None
        assert len(caught) == 1
        assert not symm_mem.is_symm_mem_tensor(plain)
        assert symm_mem.is_symm_mem_tensor(symm_mem.empty(3, dtype="int8")[1:])
        with pytest.raises(TypeError, match="unsupported group type"):
            symm_mem.rendezvous(symm_mem.empty(4, dtype="int8"), group=3.5)
        with pytest.raises(RuntimeError, match="does not find allocation backend"):
            symm_mem.set_backend("nothing")
        return True

    assert all(world(1).run(use))


def test_different_sizes_are_refused():
    def use(rank):
        symm_mem.rendezvous(symm_mem.empty(4 + rank.rank, dtype="float32"))

    with pytest.raises(ValueError, match="window mismatch.*rank 0: 16, rank 1: 20"):
        world(2).run(use)


@shoal.jit
def meet(pads, block, rank: tl.constexpr, ranks: tl.constexpr):
    """Programs of the same number on all ranks wait for each other, through tables of pads."""
    pads = pads.to(tl.pointer_type(tl.uint64))
    for peer in tl.static_range(ranks):
        slot = tl.load(pads + peer).to(tl.pointer_type(tl.uint32)) + block * ranks + rank
        while tl.atomic_cas(slot, 0, 1, sem="release", scope="sys") != 0:
            pass
    own = tl.load(pads + rank).to(tl.pointer_type(tl.uint32)) + block * ranks
    for peer in tl.static_range(ranks):
        while tl.atomic_cas(own + peer, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@shoal.jit
def two_shot_all_reduce(x, buffers, pads, out, n, rank: tl.constexpr, ranks: tl.constexpr, BLOCK: tl.constexpr):
    """Copies in, sums its part of each block for all, copies out."""
    pid = tl.program_id(0)
    table = buffers.to(tl.pointer_type(tl.uint64))
    own = tl.load(table + rank).to(tl.pointer_type(tl.float32))
    start = pid * BLOCK * ranks
    for part in tl.static_range(ranks):
        at = start + part * BLOCK + tl.arange(0, BLOCK)
        tl.store(own + at, tl.load(x + at, mask=at < n), mask=at < n)
    meet(pads, pid, rank, ranks)
    at = start + rank * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for peer in tl.static_range(ranks):
        total += tl.load(tl.load(table + peer).to(tl.pointer_type(tl.float32)) + at, mask=at < n, other=0.0)
    for peer in tl.static_range(ranks):
        tl.store(tl.load(table + peer).to(tl.pointer_type(tl.float32)) + at, total, mask=at < n)
    meet(pads, pid, rank, ranks)
    for part in tl.static_range(ranks):
        at = start + part * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(own + at, mask=at < n), mask=at < n)
    meet(pads, pid, rank, ranks)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_kernel_reduces_through_tables_of_pointers(n):
    def reduce(rank):
        results = []
        for size in (1, 500, 4096):
            handle = symm_mem.get_symm_mem_workspace(None, 4096 * 4)
            x = np.random.default_rng((rank.rank, size)).standard_normal(size).astype(np.float32)
            out = np.full(size, np.nan, np.float32)
            grid = (shoal.cdiv(size, 64 * n),)
            two_shot_all_reduce[grid](
                x, handle.buffer_ptrs_dev, handle.signal_pad_ptrs_dev, out, size, handle.rank, n, BLOCK=64
            )
            assert not handle.get_signal_pad(rank.rank, dtype="uint32").any()
            results.append(out)
        return results

    everything = world(n).run(reduce)
    for turn, size in enumerate((1, 500, 4096)):
        inputs = [np.random.default_rng((rank, size)).standard_normal(size).astype(np.float32) for rank in range(n)]
        expected = np.sum(np.array(inputs, np.float64), axis=0)
        for results in everything:
            np.testing.assert_allclose(results[turn], expected, rtol=1e-5, atol=1e-5)
            assert (results[turn] == everything[0][turn]).all()


@shoal.jit
def add_up_everywhere(multicast, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK) * 4
    a, b, c, d = tl.inline_asm_elementwise(
        "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {$0, $1, $2, $3}, [$4];",
        "=f,=f,=f,=f,l",
        [multicast.to(tl.pointer_type(tl.float32)) + at],
        dtype=(tl.float32, tl.float32, tl.float32, tl.float32),
        is_pure=False,
        pack=1,
    )
    tl.store(out + at, a)
    tl.store(out + at + 1, b)
    tl.store(out + at + 2, c)
    tl.store(out + at + 3, d)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_multicast_reaches_all_ranks(n):
    def use(rank):
        symm_mem.empty(100, dtype=np.float32)  # in the way, on all ranks alike
        x = symm_mem.empty(64, dtype=np.float32)
        handle = symm_mem.rendezvous(x)
        x[:] = np.arange(64) * (rank.rank + 1)
        out = np.full(64, np.nan, np.float32)
        handle.barrier()
        add_up_everywhere[(1,)](handle.multicast_ptr, out, BLOCK=16)
        handle.barrier()
        return (out == np.arange(64) * sum(range(n + 1))).all()

    assert all(world(n).run(use))


def test_there_is_no_multicast_for_some_ranks_or_uneven_places():
    def use(rank):
        half = rank.world.split(rank.rank // 2)
        x = symm_mem.empty(8, dtype=np.float32)
        of_half = symm_mem.rendezvous(x, half).multicast_ptr
        kept = symm_mem.empty(8192 * rank.rank + 1, dtype=np.float32)
        y = symm_mem.empty(8, dtype=np.float32)
        uneven = symm_mem.rendezvous(y).multicast_ptr
        return of_half, uneven, kept is not None

    assert world(4).run(use) == [(0, 0, True)] * 4


def test_elements_of_a_peer_are_copied():
    def use(rank):
        x = symm_mem.empty(16, dtype=np.int32)
        x[:] = np.arange(16) + 100 * rank.rank
        handle = symm_mem.rendezvous(x[4:])
        handle.barrier()
        out = np.full(3, -1, np.int32)
        symm_mem.get(out, handle, peer=1 - rank.rank, offset=2)
        for text, into, peer, offset in (
            ("exceeds", out, 0, 10),
            ("non-negative", out, 0, -1),
            ("invalid peer", out, 2, 0),
            ("contiguous", np.zeros(6, np.int32)[::2], 0, 0),
        ):
            with pytest.raises(ValueError, match=text):
                symm_mem.get(into, handle, peer, offset)
        handle.barrier()
        return out.tolist()

    assert world(2).run(use) == [[106, 107, 108], [6, 7, 8]]


def test_the_size_of_signal_pads_is_that_of_the_class_and_of_handles():
    before = symm_mem.get_signal_pad_size()
    assert symm_mem.handle.SymmetricMemory.signal_pad_size == before
    try:
        symm_mem.set_signal_pad_size(before * 2)
        assert symm_mem.handle.SymmetricMemory.signal_pad_size == before * 2
        handles = world(1).run(lambda rank: symm_mem.rendezvous(symm_mem.empty(8, dtype=np.float32)).signal_pad_size)
        assert handles == [before * 2]
    finally:
        symm_mem.set_signal_pad_size(before)


def test_an_allocation_with_a_number_keeps_its_place():
    def use(rank):
        make = symm_mem.handle.SymmetricMemory.empty_strided_p2p
        x = make((4, 4), (4, 1), np.float32, group_name="world", alloc_id=7)
        address = x.ctypes.data
        with pytest.raises(RuntimeError, match="still in use"):
            make((4, 4), (4, 1), np.float32, alloc_id=7)
        del x
        x = make((4, 4), (4, 1), np.float32, alloc_id=7)
        handle = symm_mem.handle.SymmetricMemory.rendezvous(x)
        assert x.ctypes.data == address and handle.world_size == 2
        del x
        with pytest.raises(RuntimeError, match="has 64 bytes, not 128"):
            make((8, 4), (4, 1), np.float32, alloc_id=7)
        return True

    assert all(world(2).run(use))


@pytest.mark.parametrize("n", [1, 3])
def test_memory_of_dropped_handles_is_used_again_by_all_ranks(n):
    def work(rank):
        table = 0
        for _ in range(100):
            x = symm_mem.empty(20000, dtype="float32")
            handle = symm_mem.rendezvous(x)
            assert symm_mem.rendezvous(x) is handle
            handle.barrier()
            table = handle.buffer_ptrs_dev
            del handle
            # The array keeps what kernels may have been given.
            assert symm_mem.rendezvous(x).buffer_ptrs_dev == table
            del x
        return table

    assert all(shoal.World.threads(n, heap_bytes="4M").run(work))
