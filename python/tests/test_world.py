"""Worlds whose ranks are threads: memory, exchanges, launches, streams, and what happens when a rank fails.

Waits have a file of their own.
"""

import sys
import threading

import numpy as np
import pytest
from thread_worlds import world

import shoal
import shoal.language as tl
from shoal import kernels

SIZES = (1, 2, 3, 4)


@pytest.mark.parametrize("n", SIZES)
def test_every_rank_reaches_every_other(n):
    def write(rank):
        x = rank.symm_zeros((n, 3), np.int32)
        for peer, there in enumerate(rank.peers(x)):
            there[rank.rank] = 10 * rank.rank + peer
        rank.barrier()
        return x.copy()

    for number, x in enumerate(world(n).run(write)):
        assert (x == 10 * np.arange(n)[:, None] + number).all()


@pytest.mark.parametrize("size", [-1, 0, 1 << 63, 1 << 80, "much"])
def test_a_heap_that_cannot_be_is_named(monkeypatch, size):
    with pytest.raises(ValueError, match=f"^heap_bytes={size} cannot be used: it must be a number of bytes"):
        shoal.World.threads(2, heap_bytes=size)
    monkeypatch.setenv("SHOAL_HEAP_BYTES", str(size))
    with pytest.raises(ValueError, match=f"^SHOAL_HEAP_BYTES={size} cannot be used: it must be a number of bytes"):
        shoal.World.threads(2)


def test_a_heap_that_the_machine_has_not_is_an_error():
    with pytest.raises(shoal.WorldError, match="is too large"):
        shoal.World.threads(2, heap_bytes=1 << 62)


def test_views_have_counterparts_and_keep_the_memory():
    def look(rank):
        x = rank.symm_zeros((4, 6), "float64")
        x[:] = np.arange(24).reshape(4, 6) + 100 * rank.rank
        part = rank.peer(x[1::2, 2:4], 1)
        rank.barrier()
        del x
        return part.tolist()

    expected = (np.arange(24).reshape(4, 6) + 100)[1::2, 2:4].tolist()
    assert world(2).run(look) == [expected, expected]


@shoal.jit
def put(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    there = tl.symm_at(out, (tl.rank() + 1) % tl.num_ranks())
    tl.store(there + at, tl.load(x + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_array_without_elements_has_its_place_on_all_ranks(n):
    def nothing(rank):
        out = rank.symm_zeros((0, 3), np.float32)
        assert rank.is_symmetric(out)
        put[(1,)](np.ones(4, np.float32), out, 0, BLOCK=4)
        return out.shape

    assert world(n).run(nothing) == [(0, 3)] * n


def test_arrays_of_other_memory_have_no_counterparts():
    def look(rank):
        for array in (np.zeros(4), shoal.symm_mem.empty(4)):
            with pytest.raises(ValueError, match="`symm_zeros` give such arrays; for those of `symm_mem.empty` ask"):
                rank.peer(array, 0)

    world(2).run(look)


def test_types_of_elements():
    def names(rank):
        asked = (None, np.float16, "int8", tl.uint16, tl.float64, "bfloat16", np.dtype("complex64"))
        return [rank.symm_empty(2, dtype).dtype.name for dtype in asked]

    expected = ["float32", "float16", "int8", "uint16", "float64", "bfloat16", "complex64"]
    assert world(1).run(names) == [expected]


def test_memory_goes_back_when_all_have_dropped_it_or_at_once():
    def use(rank):
        before = rank.free_bytes
        x = rank.symm_empty(1 << 20, np.uint8)
        assert rank.free_bytes <= before - (1 << 20)
        rank.free(x)
        assert rank.free_bytes == before
        for _ in range(40):  # would not fit if nothing came back
            x = rank.symm_empty(1 << 20, np.uint8)
            x[0] = 1
        with pytest.raises(shoal.OutOfResources, match="16777217 bytes|no room"):
            rank.symm_empty((1 << 24) + 1, np.uint8)
        with pytest.raises(ValueError, match="does not lie in symmetric memory"):
            rank.free(np.zeros(4))
        return True

    assert world(2).run(use) == [True, True]


def test_memory_that_was_given_back_is_nobodys():
    def use(rank):
        old = rank.symm_zeros(64, np.int32)
        rank.free(old)
        new = rank.symm_zeros(64, np.int32)
        assert new.ctypes.data == old.ctypes.data
        rank.barrier()
        new[:] = rank.rank + 1
        rank.barrier()
        found = rank.peer(new[3:5], 1 - rank.rank).tolist()
        rank.barrier()
        for part in (new[1:], new[:-1], new[1:1], new[::2]):
            with pytest.raises(ValueError, match=r"of an allocation of 256: `free` gives back the whole"):
                rank.free(part)
        rank.free(new.reshape(8, 8).view(np.uint8))
        return found

    assert world(2).run(use) == [[2, 2], [1, 1]]


def test_small_host_data_and_teams():
    def exchange(rank):
        assert rank.broadcast({"from": rank.rank}, root=1) == {"from": 1}
        assert rank.all_gather(rank.rank**2) == [0, 1, 4, 9]
        parity = rank.world.split(rank.rank % 2, key=-rank.rank)
        assert parity.members == ([2, 0] if rank.rank % 2 == 0 else [3, 1])
        assert parity.all_gather(rank.rank) == parity.members
        assert parity.translate(0, rank.world) == parity.world_rank(0) == parity.members[0]
        outer = rank.world.strided(0, 3, 2)
        assert (outer is None) == (rank.rank in (1, 2))
        mesh = rank.mesh({"row": 2, "column": 2})
        assert mesh.axes == {"row": 2, "column": 2}
        assert mesh.rank_at(row=mesh.position("row"), column=mesh.position("column")) == rank.rank
        assert mesh.team("column").members == ([0, 1] if rank.rank < 2 else [2, 3])
        with pytest.raises(ValueError, match="does not fit"):
            rank.mesh({"row": 3})
        return True

    assert all(world(4).run(exchange))


def test_calls_out_of_step_are_told_to_all():
    def confuse(rank):
        with pytest.raises(shoal.WorldError, match="not in step"):
            rank.barrier() if rank.rank == 0 else rank.all_gather(1)
        return rank.all_gather(rank.rank)

    assert world(2).run(confuse) == [[0, 1], [0, 1]]


@shoal.jit
def rotate(x, out, flags, n, BLOCK: tl.constexpr):
    """Every program sends its block to the next rank, and takes that of the rank before."""
    block = tl.program_id(0)
    to = (tl.rank() + 1) % tl.num_ranks()
    at = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(tl.symm_at(out, to) + at, tl.load(x + at, mask=at < n), mask=at < n)
    tl.notify(flags + block, to, signal=1, sig_op="set", comm_scope="intra_node")
    token = tl.wait(flags + block, 1, "sys", "acquire", waitValue=1)
    out = tl.consume_token(out, token)
    tl.store(out + at, tl.load(out + at, mask=at < n) + 0.5, mask=at < n)


@pytest.mark.parametrize("n", SIZES)
def test_launches_run_as_their_rank(n):
    def launch(rank):
        x = np.random.default_rng(rank.rank).random(1000, np.float32)
        out = rank.symm_empty(1000, np.float32)
        out.fill(np.nan)
        flags = rank.symm_zeros(8, np.int64)
        rotate[(8,)](x, out, flags, 1000, BLOCK=128)
        rank.barrier()
        return out.copy()

    for rank, out in enumerate(world(n).run(launch)):
        sent = np.random.default_rng((rank - 1) % n).random(1000, np.float32)
        assert (out == sent + np.float32(0.5)).all()


@shoal.jit
def positions(out):
    tl.store(out, tl.rank(0))
    tl.store(out + 1, tl.rank(1))
    tl.store(out + 2, tl.num_ranks(1))


def test_kernels_see_the_mesh():
    def launch(rank):
        out = np.zeros(3, np.int32)
        rank.set_mesh(rank.mesh({"row": 2, "column": 2}))
        positions[(1,)](out)
        rank.set_mesh(None)
        with pytest.raises(shoal.ShoalError):
            positions[(1,)](np.zeros(3, np.int32))
        return out.tolist()

    assert world(4).run(launch) == [[0, 0, 2], [0, 1, 2], [1, 0, 2], [1, 1, 2]]


def test_a_launch_outside_of_a_world_has_no_ranks():
    x = np.zeros(8, np.float32)
    with pytest.raises(shoal.ShoalError):
        rotate[(1,)](x, x, np.zeros(1, np.int64), 8, BLOCK=8)


def test_what_a_rank_raises_is_raised_and_named_to_the_others():
    seen = {}

    def fail(rank):
        if rank.rank == 2:
            raise KeyError("lost")
        try:
            rank.barrier()
        except shoal.WorldError as error:
            seen[rank.rank] = (str(error), error.rank)
            raise

    failed = world(3)
    with pytest.raises(KeyError, match="lost") as raised:
        failed.run(fail)
    if sys.version_info >= (3, 11):
        assert raised.value.__notes__ == ["raised on rank 2"]
    assert set(seen) == {0, 1}
    for text, rank in seen.values():
        assert "rank 2 failed: KeyError: 'lost'" in text and rank == 2
    with pytest.raises(shoal.WorldError, match="rank 2 failed"):
        failed.run(lambda rank: None)


def test_worlds_that_cannot_be_are_named():
    with pytest.raises(shoal.WorldError, match="a world of -1 ranks; it needs at least one"):
        shoal.World.threads(-1)
    with pytest.raises(shoal.WorldError, match=f"a world of {10**20} ranks; it has 4294967295 at most"):
        shoal.World.threads(10**20)


def test_a_rank_that_was_not_entered_cannot_be_left():
    def leave(rank):
        with rank:
            pass
        with pytest.raises(RuntimeError, match=f"this thread has not entered `with rank:` of rank {rank.rank}"):
            rank.__exit__(None, None, None)
        rank.barrier()
        return rank.rank

    assert world(2).run(leave) == [0, 1]


def test_sizes_of_heaps_have_units(monkeypatch):
    monkeypatch.setenv("SHOAL_HEAP_BYTES", "3M")
    free = [shoal.World.threads(1, heap_bytes=size).ranks[0].free_bytes for size in (None, "3M", 3 << 20)]
    assert free[0] == free[1] == free[2] >= 3 << 20


@pytest.mark.parametrize("n", [2, 3, 7])
def test_numbers_that_cannot_be_are_named(n):
    def on_rank(rank):
        x = rank.symm_zeros(4, np.float32)
        for call in (
            lambda: rank.broadcast(1, root=-1),
            lambda: rank.world.broadcast(1, root=n),
            lambda: kernels.broadcast(x, root=-1),
        ):
            with pytest.raises(ValueError, match=f"^`root` is (-1|{n}); it must be a number from 0 to {n - 1}$"):
                call()
        for call in (lambda: rank.peer(x, -1), lambda: rank.signal_pad(n), lambda: rank.world.translate(-1, rank.node)):
            with pytest.raises(ValueError, match=f"^`rank` is (-1|{n}); it must be a number from 0 to {n - 1}$"):
                call()
        with pytest.raises(ValueError, match="^`stride` is -1"):
            rank.world.strided(0, -1, 1)
        for call, name in (
            (lambda: rank.check_pad(-1), "programs"),
            (lambda: rank.check_pad(1, -1), "ranks"),
            (lambda: rank.check_pad(1 << 70), "programs"),
            (lambda: rank.world.split(0, key=1 << 70), "key"),
            (lambda: rank.mesh({"x": -1, "y": n}), "x"),
            (lambda: kernels.all_gather_matmul(x.reshape(2, 2), x.reshape(2, 2), splits=-1), "splits"),
            (lambda: kernels.all_gather_matmul(x.reshape(2, 2), x.reshape(2, 2), splits=0), "splits"),
            (lambda: kernels.all_gather_with_progress(x, splits=1 << 70), "splits"),
        ):
            with pytest.raises(ValueError, match=f"^`{name}` is .*; it must be a number from "):
                call()
        if n > 1:
            with pytest.raises(ValueError, match=f"a mesh without axes does not fit the world, which has {n} members"):
                rank.mesh({})
        # One member needs no step.
        alone = rank.world.strided(n - 1, n + 5, 1)
        assert (alone is None) == (rank.rank != n - 1)
        with pytest.raises(shoal.OutOfResources, match=f"no room for {1 << 64} bytes, which an array of the shape"):
            rank.symm_zeros(1 << 62)
        for shape in (1.5, "a", None, (2, 1.5)):
            with pytest.raises(TypeError, match="^a shape is a whole number or several, not "):
                rank.symm_zeros(shape)
        rank.barrier()

    world(n).run(on_rank)


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("form", ["one_shot_all_reduce", "two_shot_all_reduce", "all_gather_push", "broadcast"])
def test_arrays_of_other_shapes_are_told(form, n):
    last = n - 1

    def on_rank(rank):
        x = np.ones((3, 2) if rank.rank == last else (2, 3), np.float32)
        getattr(kernels, form)(x)

    with pytest.raises(shoal.WorldError) as raised:
        world(n).run(on_rank)
    others = {2: "rank 0:", 3: "ranks 0, 1:", 7: "ranks 0 to 5:"}[n]
    text = str(raised.value)
    assert f"{others} {form}(shape[0] = 2, shape[1] = 3) of float32" in text, text
    assert f"rank {last}: {form}(shape[0] = 3, shape[1] = 2) of float32" in text, text


def test_streams_copy_beside_the_rank():
    def stream(rank):
        inbox = rank.symm_zeros(1000, np.float32)
        flags = rank.symm_zeros(4, np.uint32)
        result = np.zeros(1000, np.float32)
        peer = (rank.rank + 1) % rank.num_ranks
        out = rank.stream()
        out.copy(rank.peer(inbox, peer), np.full(1000, rank.rank + 1, np.float32))
        out.write_value(rank.peer(flags, peer), 3, index=2)
        back = rank.stream()
        back.wait_value(flags, 2, index=2, at_least=True)
        back.copy(result, inbox)
        event = back.record()
        out.wait(event)
        called = []
        out.call(lambda: called.append(shoal.current_rank() is rank))
        out.synchronize()
        event.wait()
        assert event.query() and out.query() and called == [True]
        out.call(lambda: 1 / 0)
        out.call(called.append, "never")
        with pytest.raises(ZeroDivisionError):
            out.synchronize()
        assert called == [True]
        with pytest.raises(ValueError, match="4000 bytes to an array of 4"):
            back.copy(np.zeros(1, np.float32), inbox)
        with pytest.raises(ValueError, match="contiguous"):
            back.copy(inbox[::2], result[::2])
        with pytest.raises(TypeError, match="words are integers; the array's elements are of float32"):
            back.wait_value(inbox, 1)
        return result

    for rank, result in enumerate(world(3).run(stream)):
        assert (result == (rank - 1) % 3 + 1).all()


def test_what_a_dropped_stream_raised_is_raised():
    def divide(rank):
        rank.stream().call(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        world(2).run(divide)


def test_another_thread_may_act_as_a_rank():
    def use(rank):
        found = []

        def other():
            with pytest.raises(RuntimeError, match="acts as no rank"):
                shoal.current_rank()
            with rank:
                found.append(shoal.current_rank().rank)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
        assert found == [rank.rank]
        return shoal.current_rank() is rank

    assert all(world(2).run(use))
    with pytest.raises(RuntimeError, match="acts as no rank"):
        shoal.current_rank()


def test_signal_pads_are_zero_and_checked():
    def pads(rank):
        assert rank.signal_pad().dtype == np.uint32 and not rank.signal_pad().any()
        rank.barrier()
        rank.signal_pad(1 - rank.rank)[5] = rank.rank + 1
        rank.barrier()
        assert rank.signal_pad()[5] == 2 - rank.rank
        rank.signal_pad()[5] = 0
        rank.check_pad(32)
        with pytest.raises(shoal.OutOfResources, match="64 slots, but 33 programs on 2 ranks"):
            rank.check_pad(33)
        return True

    assert all(world(2, pad_slots=64).run(pads))


def test_bad_worlds_say_why():
    with pytest.raises(shoal.WorldError, match="at least one"):
        shoal.World.threads(0)
    with pytest.raises(ValueError, match="timeout"):
        shoal.World.threads(1, timeout=-1)
    with pytest.raises(shoal.WorldError, match="RANK"):
        shoal.World.from_env()
    with pytest.raises(RuntimeError, match="runs all ranks"):
        _ = world(1).rank
    with pytest.raises(ValueError, match="negative"):
        world(1).run(lambda rank: rank.symm_empty((2, -1)))


@pytest.mark.parametrize("slots", [-1, 0, 1 << 28 | 1, 1 << 70])
def test_pads_have_a_number_of_slots(slots):
    with pytest.raises(shoal.WorldError, match=f"^a signal pad has from 1 to 268435456 slots, not {slots}$"):
        shoal.World.threads(1, pad_slots=slots)


def test_numbers_out_of_range_are_told_by_their_names():
    def ask(rank):
        for call, told in (
            (lambda: rank.check_pad(-1), "`programs` is -1; it must be a number from 0"),
            (lambda: rank.check_pad(1, 1 << 70), f"`ranks` is {1 << 70}; it must be a number from 0"),
            (lambda: rank.mesh({"x": -2}), "`x` is -2; it must be a number from 0"),
            (lambda: rank.world.split(0, 1 << 63), f"`key` is {1 << 63}; it must be a number from -"),
        ):
            with pytest.raises(ValueError, match=f"^{told}"):
                call()

    world(1).run(ask)


def test_memory_that_was_freed_is_told_as_such():
    def twice(rank):
        x, other = rank.symm_zeros((4, 4)), rank.symm_zeros(4)
        rank.free(x)
        for use in (lambda: rank.free(x), lambda: rank.free(x[1:]), lambda: rank.peer(x, 0)):
            with pytest.raises(ValueError, match="the array's symmetric memory has been freed already"):
                use()
        rank.free(other)
        with pytest.raises(ValueError, match="does not lie in symmetric memory"):
            rank.free(np.zeros(4))

    world(2).run(twice)


def test_who_differs_in_a_large_world_is_told_in_a_few_words():
    def odd(rank):
        rank.symm_empty(3 if rank.rank == 5 else 4, np.uint8)

    told = r"rank 5: 3 bytes, aligned to 256; ranks 0 to 4, 6 to 39: 4 bytes, aligned to 256\n"
    with pytest.raises(shoal.WorldError, match=told):
        shoal.World.threads(40, heap_bytes=4096, pad_slots=64, timeout=60).run(odd)


def test_streams_refuse_what_cannot_be_written():
    def work(rank):
        x, stream = rank.symm_zeros(4, np.uint32), rank.stream()
        immutable = np.frombuffer(b"immutable bytes!", np.uint32)
        with pytest.raises(ValueError, match="what is copied to is read-only"):
            stream.copy(immutable, x)
        with pytest.raises(ValueError, match="the array of a word is read-only"):
            stream.write_value(immutable, 1)
        for call in (stream.write_value, stream.wait_value):
            with pytest.raises(ValueError, match="does not fit into a word of 32 bits"):
                call(x, 1 << 32)
        stream.write_value(x, -1)
        stream.synchronize()
        assert x[0] == 0xFFFF_FFFF

    world(1).run(work)


@pytest.mark.parametrize("dtype", [object, "U5", "M8[s]", [("a", "i4"), ("b", "f4")]])
def test_symmetric_memory_holds_numbers(dtype):
    with pytest.raises(TypeError, match="symmetric memory holds numbers"):
        world(1).run(lambda rank: rank.symm_zeros(2, dtype))
