"""SHMEM: puts, signals, meetings."""
# expect: clean
# ranks: 2 3
# schedules: 60

import shoal
import shoal.language as tl
from triton_dist.language.extra import libshmem_device as shmem


@shoal.jit
def put_signal(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_signal_block(inbox, outbox, n * 4, signals, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_GE, 1)
    at = tl.arange(0, BLOCK)
    tl.store(inbox + at, tl.load(inbox + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def one_sided_put_with_signal(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    put_signal[(1,)](inbox, outbox, world.symm(1, "int64"), 8, BLOCK=8)


@shoal.jit
def put_barrier(inbox, outbox, out, n, BLOCK: tl.constexpr):
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    shmem.barrier_all_block()
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(inbox + at, mask=at < n), mask=at < n)
    shmem.barrier_all_block()


@shoal.harness
def puts_before_a_barrier(world):
    inbox = world.symm_empty(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    out = world.empty(8, "int32")
    for launch in range(world.launches):
        put_barrier[(1,)](inbox, outbox, out, 8, BLOCK=8)
    world.output(out)


@shoal.jit
def two_puts_one_signal(inbox, outbox, signals, n, BLOCK: tl.constexpr):
    """Both puts are delivered before the signal, by one fence."""
    peer = (shmem.my_pe() + 1) % shmem.n_pes()
    shmem.putmem_nbi_block(inbox, outbox, n * 4, peer)
    shmem.putmem_block(inbox + n, outbox + n, n * 4, peer)
    shmem.fence()
    shmem.signal_op(signals, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(signals, shmem.NVSHMEM_CMP_EQ, 1)
    at = tl.arange(0, BLOCK)
    tl.store(inbox + at, tl.load(inbox + at, mask=at < 2 * n) + 1, mask=at < 2 * n)


@shoal.harness
def fence_between_puts_and_signal(world):
    inbox = world.symm(8, "int32")
    outbox = world.symm(8, "int32", "arange")
    two_puts_one_signal[(1,)](inbox, outbox, world.symm(1, "int64"), 4, BLOCK=8)


@shoal.jit
def team_sum(x, out, team, n, BLOCK: tl.constexpr):
    """The members of a team meet, read each other, and meet again."""
    at = tl.arange(0, BLOCK)
    tl.store(x + at, shmem.my_pe() + at, mask=at < n)
    shmem.barrier_block(team)
    total = tl.zeros((BLOCK,), tl.int32)
    for member in range(shmem.team_n_pes(team)):
        place = tl.symm_at(x, shmem.team_translate_pe(team, member, shmem.NVSHMEM_TEAM_WORLD))
        total += tl.load(place + at, mask=at < n, other=0)
    tl.store(out + at, total, mask=at < n)
    shmem.barrier_block(team)


@shoal.harness
def teams_of_hosts(world, n=3):
    world.hosts(2)
    x = world.symm_empty(n, "int32")
    out = world.empty(n, "int32")
    first = world.rank // 2 * 2
    members = [rank for rank in range(world.size) if rank // 2 * 2 == first]
    for launch in range(world.launches):
        team_sum[(1,)](x, out, 2, n, BLOCK=4)
    world.expect(out, [sum(members) + len(members) * i for i in range(n)])


@shoal.harness
def teams_that_are_made(world, n=3):
    members = [rank for rank in range(world.size) if rank % 2 == world.rank % 2]
    team = world.team(members)
    x = world.symm_empty(n, "int32")
    out = world.empty(n, "int32")
    for launch in range(world.launches):
        team_sum[(1,)](x, out, team, n, BLOCK=4)
    world.expect(out, [sum(members) + len(members) * i for i in range(n)])


@shoal.jit
def row_of_mesh(x, flag, out):
    """To the right-hand neighbour in a row of a mesh."""
    peer = tl.rank(0) * tl.num_ranks(1) + (tl.rank(1) + 1) % tl.num_ranks(1)
    tl.store(tl.symm_at(x, peer), 10 + tl.rank(1))
    tl.notify(flag, peer, comm_scope="intra_node")
    tl.wait(flag, 1, "sys", "acquire")
    tl.store(out, tl.load(x))


@shoal.harness
def rows_of_a_mesh(world):
    world.mesh((1, world.size))
    out = world.empty(1, "int32")
    row_of_mesh[(1,)](world.symm(1, "int32"), world.symm(1, "int64"), out)
    world.expect(out, 10 + (world.rank + world.size - 1) % world.size)
