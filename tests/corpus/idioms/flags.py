"""Messages behind flags."""
# expect: clean
# ranks: 2 3

import shoal
import shoal.language as tl


@shoal.jit
def send_relaxed_spin(data, flag, n, BLOCK: tl.constexpr):
    """Spins without order, and acquires once when the flag is there."""
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at + tl.rank(), mask=at < n)
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="release", scope="sys")
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") == 0:
        pass
    tl.atomic_add(flag, 0, sem="acquire", scope="sys")
    tl.store(data + at, tl.load(data + at, mask=at < n) * 2, mask=at < n)


@shoal.harness
def relaxed_spin_then_acquire(world):
    send_relaxed_spin[(1,)](world.symm(9, "int32"), world.symm(1, "int32"), 9, BLOCK=16)


@shoal.jit
def handshake(data, flag, n, BLOCK: tl.constexpr):
    """Compare-and-swap from 0 to 1 to send and from 1 to 0 to receive: the flag resets itself."""
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    while tl.atomic_cas(tl.symm_at(flag, peer), 0, 1, sem="release", scope="sys") != 0:
        pass
    while tl.atomic_cas(flag, 1, 0, sem="acquire", scope="sys") != 1:
        pass
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def self_resetting_flag(world):
    data = world.symm(9, "int32")
    flag = world.symm(1, "int32")
    for launch in range(world.launches):
        handshake[(1,)](data, flag, 9, BLOCK=16)
        world.barrier()


@shoal.jit
def pad_barrier(pad):
    """The block barrier over signal pads: slot `block * world + source`."""
    rank = tl.rank()
    world = tl.num_ranks()
    block = tl.program_id(0)
    for peer in range(world):
        while tl.atomic_cas(tl.symm_at(pad, peer) + block * world + rank, 0, 1, sem="release", scope="sys") != 0:
            pass
    for peer in range(world):
        while tl.atomic_cas(pad + block * world + peer, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@shoal.jit
def exchange_over_pads(x, out, pad, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, at * tl.rank(), mask=at < n)
    pad_barrier(pad)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for peer in range(tl.num_ranks()):
        total += tl.load(tl.symm_at(x, peer) + at, mask=at < n, other=0)
    pad_barrier(pad)
    tl.store(out + at, total, mask=at < n)


@shoal.harness
def signal_pad_barrier(world, programs=2):
    x = world.symm_empty(32, "int32")
    out = world.empty(32, "int32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        exchange_over_pads[(programs,)](x, out, pad, 32, BLOCK=16)
    world.output(out)


@shoal.jit
def packed(box, out, epoch, n, BLOCK: tl.constexpr):
    """LL: flag and data in one 64-bit word, so that one atomic access carries both."""
    rank = tl.rank()
    peer = (rank + 1) % tl.num_ranks()
    for i in range(n):
        word = (epoch.to(tl.int64) << 32) | (rank * 100 + i).to(tl.int64)
        tl.atomic_xchg(tl.symm_at(box, peer) + i, word, sem="relaxed", scope="sys")
    for i in range(n):
        word = tl.atomic_add(box + i, 0, sem="relaxed", scope="sys")
        while (word >> 32) != epoch:
            word = tl.atomic_add(box + i, 0, sem="relaxed", scope="sys")
        tl.store(out + i, word & 0xFFFFFFFF)


@shoal.harness
def flags_packed_with_data(world):
    box = world.symm(4, "int64")
    out = world.empty(4, "int64")
    packed[(1,)](box, out, 7, 4, BLOCK=4)
    world.output(out)


@shoal.jit
def two_flags(a, b, flags):
    """Two messages, each behind a flag of its own, taken in the other order."""
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(a, peer), 1)
    tl.notify(flags, peer, comm_scope="intra_node")
    tl.store(tl.symm_at(b, peer), 2)
    tl.notify(flags + 1, peer, comm_scope="intra_node")
    tl.wait(flags + 1, 1, "sys", "acquire")
    tl.store(a, tl.load(a) + tl.load(b))


@shoal.harness
def later_flag_covers_the_earlier(world):
    two_flags[(1,)](world.symm(1, "int32"), world.symm(1, "int32"), world.symm(2, "int64"))


@shoal.jit
def relay(data, flags):
    """Rank 0 writes for the last rank; the word goes round, and happens-before with it."""
    rank = tl.rank()
    world = tl.num_ranks()
    if rank == 0:
        tl.store(tl.symm_at(data, world - 1), 42)
        tl.notify(flags, (rank + 1) % world, comm_scope="intra_node")
    else:
        tl.wait(flags, 1, "sys", "acquire")
        if rank + 1 < world:
            tl.notify(flags, rank + 1, comm_scope="intra_node")
        else:
            tl.store(data, tl.load(data) + 1)


@shoal.harness
def order_is_transitive(world):
    relay[(1,)](world.symm(1, "int32"), world.symm(1, "int64"))


@shoal.jit
def epochs(data, flags, epoch):
    peer = (tl.rank() + 1) % tl.num_ranks()
    slot = epoch % 2
    tl.wait(flags + 2 + slot, 1, "sys", "acquire", waitValue=epoch // 2)
    tl.store(tl.symm_at(data, peer) + slot, epoch)
    tl.notify(flags + slot, peer, signal=epoch + 1, comm_scope="intra_node")
    tl.wait(flags + slot, 1, "sys", "acquire", waitValue=epoch + 1)
    tl.store(data + 2 + slot, tl.load(data + slot))
    before = (tl.rank() + tl.num_ranks() - 1) % tl.num_ranks()
    tl.notify(flags + 2 + slot, before, signal=epoch // 2 + 1, comm_scope="intra_node")


@shoal.harness
def double_buffer_with_credits(world):
    data = world.symm(4, "int32")
    flags = world.symm(4, "int64")
    for epoch in range(4):
        epochs[(1,)](data, flags, epoch)


@shoal.jit
def gpu_scope_inside(x, flag):
    """Programs of one rank need `gpu` scope only."""
    if tl.program_id(0) == 0:
        tl.store(x, 7)
        tl.atomic_xchg(flag, 1, sem="release", scope="gpu")
    else:
        while tl.atomic_add(flag, 0, sem="acquire", scope="gpu") == 0:
            pass
        tl.store(x, tl.load(x) + 1)


@shoal.harness
def gpu_scope_within_a_rank(world):
    gpu_scope_inside[(2,)](world.buffer(1, "int32"), world.buffer(1, "int32"))


@shoal.jit
def notify_self(x, flag):
    tl.store(x, 1)
    tl.notify(flag, tl.rank(), comm_scope="gpu")
    tl.wait(flag, 1, "gpu", "acquire")
    tl.store(x, tl.load(x) + 1)


@shoal.harness
def signal_to_oneself(world):
    notify_self[(1,)](world.symm(1, "int32"), world.symm(1, "int64"))


@shoal.jit
def words_of_several(data, flags, n):
    """Every rank sends to every other, and one wait takes all flags."""
    rank = tl.rank()
    world = tl.num_ranks()
    for peer in range(world):
        tl.store(tl.symm_at(data, peer) + rank, rank + 1)
        tl.notify(flags + rank, peer, comm_scope="intra_node")
    token = tl.wait(flags, world, "sys", "acquire")
    data = tl.consume_token(data, token)
    total = 0
    for peer in range(world):
        total += tl.load(data + peer)
    tl.store(data + world, total)


@shoal.harness
def one_wait_for_many_words(world):
    words_of_several[(1,)](world.symm(world.size + 1, "int32"), world.symm(world.size, "int64"), 1)
