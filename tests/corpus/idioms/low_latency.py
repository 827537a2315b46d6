"""Protocols of low latency: flags beside the data, buffers that alternate, many flags behind one fence."""
# expect: clean
# ranks: 2 3
# schedules: 40

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem
from triton_dist.language.extra.language_extra import __syncthreads, fence, ld, load_v4_u32, st, st_v4_u32, tid


@shoal.jit
def packed_vectors(box, x, out, n, epoch):
    """16 bytes at a time: two numbers, and the number of the launch behind each. The halves of the box alternate."""
    lane = tid(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    half = (epoch % 2) * n * 2
    if lane < n // 2:
        a = ld(x + 2 * lane, "", "")
        b = ld(x + 2 * lane + 1, "", "")
        st_v4_u32(tl.symm_at(box, peer) + half + 4 * lane, a, epoch, b, epoch)
        a, first, b, second = load_v4_u32(box + half + 4 * lane)
        while (first != epoch) | (second != epoch):
            a, first, b, second = load_v4_u32(box + half + 4 * lane)
        st(out + 2 * lane, a, "", "")
        st(out + 2 * lane + 1, b, "", "")


@shoal.harness
def vectors_with_flags(world, n=4):
    x = world.buffer(n, "uint32", [10 * world.rank + i for i in range(n)])
    box = world.symm(4 * n, "uint32")
    out = world.empty(n, "uint32")
    left = (world.rank + world.size - 1) % world.size
    for epoch in range(1, world.launches + 1):
        packed_vectors[(1,)](box, x, out, n, epoch)
        world.barrier()
    world.expect(out, [10 * left + i for i in range(n)])


@shoal.jit
def exchange(outbox, inbox, signals, out, n, call, BLOCK: tl.constexpr):
    """A program for each peer: the data, a fence, and a signal with the number of the call. There is no barrier."""
    peer = tl.program_id(0)
    rank = shmem.my_pe()
    world = shmem.n_pes()
    half = (call % 2) * n * world
    word = signals + (call % 2) * world
    lane = tid(0)
    shmem.putmem_nbi_block(inbox + half + rank * n, outbox + half + peer * n, n * 4, peer)
    shmem.fence()
    __syncthreads()
    if lane == 0:
        shmem.signal_op(word + rank, call, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(word + peer, shmem.NVSHMEM_CMP_EQ, call)
    __syncthreads()
    at = tl.arange(0, BLOCK)
    tl.store(out + peer * n + at, tl.load(inbox + half + peer * n + at, mask=at < n), mask=at < n)


@shoal.harness
def alternating_all_to_all(world, n=3):
    outbox = world.symm(2 * n * world.size, "int32", "arange")
    inbox = world.symm_empty(2 * n * world.size, "int32")
    out = world.empty(n * world.size, "int32")
    signals = world.symm(2 * world.size, "int64")
    for call in range(1, world.launches + 1):
        exchange[(world.size,)](outbox, inbox, signals, out, n, call, BLOCK=4)
    world.output(out)


@shoal.jit
def many_flags(data, flags, out, n):
    """More flags than any world has ranks, and one fence behind them."""
    peer = (tl.rank() + 1) % tl.num_ranks()
    for word in range(n):
        tl.store(tl.symm_at(data, peer) + word, word)
        tl.atomic_xchg(tl.symm_at(flags, peer) + word, 1, sem="release", scope="sys")
    for word in range(n):
        while tl.atomic_add(flags + word, 0, sem="relaxed", scope="sys") != 1:
            pass
    fence("acquire", "sys")
    for word in range(n):
        tl.store(out + word, tl.load(data + word))


@shoal.harness
def one_fence_for_a_hundred_flags(world, n=100):
    out = world.empty(n, "int32")
    many_flags[(1,)](world.symm_empty(n, "int32"), world.symm(n, "int32"), out, n)
    world.output(out)
