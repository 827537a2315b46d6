"""Relaxed accesses and fences."""
# expect: clean
# ranks: 2 3

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, __syncwarp, fence, ld, membar, st, tid


@shoal.jit
def between_fences(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    fence("release", "sys")
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="relaxed", scope="sys")
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") != 1:
        pass
    fence("acquire", "sys")
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def relaxed_flag_between_fences(world):
    between_fences[(1,)](world.symm(16, "int32"), world.symm(1, "int32"), 16, BLOCK=16)


@shoal.jit
def fence_meets_acquire(data, flag, n, BLOCK: tl.constexpr):
    """A fence on one side, an order on the other."""
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    membar("sys")
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="relaxed", scope="sys")
    tl.wait(flag, 1, "sys", "acquire")
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def fence_on_one_side(world):
    fence_meets_acquire[(1,)](world.symm(16, "int32"), world.symm(1, "int32"), 16, BLOCK=16)


@shoal.jit
def release_meets_fence(data, flag, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="release", scope="sys")
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") != 1:
        pass
    fence("sc", "sys")
    tl.store(data + at, tl.load(data + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def fence_behind_the_read(world):
    release_meets_fence[(1,)](world.symm(16, "int32"), world.symm(1, "int32"), 16, BLOCK=16)


@shoal.jit
def last_block(x, count, total, n, BLOCK: tl.constexpr):
    """Every program fences and counts; the one that counts last sees what all wrote."""
    me = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(x + me * BLOCK + at, at)
    fence("acq_rel", "gpu")
    before = tl.atomic_add(count, 1, sem="relaxed", scope="gpu")
    if before == tl.num_programs(0) - 1:
        fence("acq_rel", "gpu")
        some = 0
        for other in range(tl.num_programs(0)):
            some += tl.sum(tl.load(x + other * BLOCK + at))
        tl.store(total, some)
        tl.store(count, 0)


@shoal.harness
def threadfence_reduction(world, programs=3):
    x = world.empty(16 * programs, "int32")
    total = world.empty(1, "int32")
    count = world.buffer(1, "int32")
    for launch in range(world.launches):
        last_block[(programs,)](x, count, total, 16, BLOCK=16)
    world.output(total)


@shoal.jit
def cumulative(data, first, second):
    """What rank 0 wrote, rank 1 publishes by a fence of its own, and the last rank sees."""
    rank = tl.rank()
    last = tl.num_ranks() - 1
    if rank == 0:
        tl.store(tl.symm_at(data, last), 42)
        tl.atomic_xchg(tl.symm_at(first, last // 2), 1, sem="release", scope="sys")
    if rank == last // 2:
        while tl.atomic_add(first, 0, sem="relaxed", scope="sys") != 1:
            pass
        fence("acq_rel", "sys")
        tl.atomic_xchg(tl.symm_at(second, last), 1, sem="relaxed", scope="sys")
    if rank == last:
        while tl.atomic_add(second, 0, sem="acquire", scope="sys") != 1:
            pass
        tl.store(data, tl.load(data) + 1)


@shoal.harness
def fences_are_cumulative(world):
    cumulative[(1,)](world.symm(1, "int32"), world.symm(1, "int32"), world.symm(1, "int32"))


@shoal.jit
def one_lane_for_all(data, flag, n):
    """The lanes meet, then one fences and sends for all; it receives, and they meet again."""
    lane = tid(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    if lane < n:
        st(tl.symm_at(data, peer) + lane, lane, scope="", semantic="weak")
    __syncthreads()
    if lane == 0:
        fence("sc", "sys")
        st(tl.symm_at(flag, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag, scope="sys", semantic="relaxed") != 1:
            pass
        fence("sc", "sys")
    __syncthreads()
    if lane < n:
        st(data + lane, ld(data + lane, scope="", semantic="weak") + 1, scope="", semantic="weak")


@shoal.harness
def a_lane_speaks_for_all(world):
    one_lane_for_all[(1,)](world.symm(64, "int32"), world.symm(1, "int32"), 64)


@shoal.jit
def each_lane_its_own(data, flags, n):
    """Every lane releases its own element to the same lane of the peer."""
    lane = tid(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    if lane < n:
        st(tl.symm_at(data, peer) + lane, lane, scope="", semantic="weak")
        st(tl.symm_at(flags, peer) + lane, 1, scope="sys", semantic="release")
        while ld(flags + lane, scope="sys", semantic="acquire") != 1:
            pass
        st(data + lane, ld(data + lane, scope="", semantic="weak") + 1, scope="", semantic="weak")


@shoal.harness
def a_flag_for_each_lane(world):
    each_lane_its_own[(1,)](world.symm(8, "int32"), world.symm(8, "int32"), 8)


@shoal.jit
def neighbours(data, out, n):
    """Lanes of one warp exchange over memory; they need to meet no others."""
    lane = tid(0)
    st(data + lane, lane, scope="", semantic="weak")
    __syncwarp()
    st(out + lane, ld(data + (lane ^ 1), scope="", semantic="weak"), scope="", semantic="weak")


@shoal.harness
def a_warp_meets(world):
    data = world.empty(128, "int32")
    out = world.empty(128, "int32")
    neighbours[(1,)](data, out, 128)
    world.output(out)


@shoal.jit
def looks_backwards(data, flags, out, n):
    """Flags that release, read from the last to the first, and one fence behind all of them."""
    peer = (tl.rank() + 1) % tl.num_ranks()
    for word in range(n):
        tl.store(tl.symm_at(data, peer) + word, word)
        tl.atomic_xchg(tl.symm_at(flags, peer) + word, 1, sem="release", scope="sys")
    for word in range(n):
        while tl.atomic_add(flags + n - 1 - word, 0, sem="relaxed", scope="sys") != 1:
            pass
    fence("acquire", "sys")
    for word in range(n):
        tl.store(out + word, tl.load(data + word))


@shoal.harness
def one_fence_behind_many_flags(world, n=3):
    out = world.empty(n, "int32")
    looks_backwards[(1,)](world.symm_empty(n, "int32"), world.symm(n, "int32"), out, n)
    world.output(out)
