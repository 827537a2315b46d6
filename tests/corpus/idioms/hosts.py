"""What hosts and launches order."""
# expect: clean
# ranks: 2 3

import shoal
import shoal.language as tl


@shoal.jit
def fill(x, value, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, value, mask=at < n)


@shoal.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@shoal.jit
def pull(x, y, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(tl.symm_at(x, peer) + at, mask=at < n), mask=at < n)


@shoal.harness
def launch_after_launch(world):
    x = world.empty(20, "fp32")
    y = world.empty(20, "fp32")
    fill[(2,)](x, 3.0, 20, BLOCK=16)
    add[(2,)](x, y, 20, BLOCK=16)
    add[(2,)](y, x, 20, BLOCK=16)
    world.output(x)


@shoal.harness
def barriers_of_hosts(world):
    x = world.symm_empty(20, "fp32")
    y = world.empty(20, "fp32")
    for launch in range(world.launches):
        fill[(2,)](x, 3.0, 20, BLOCK=16)
        world.barrier()
        pull[(2,)](x, y, 20, BLOCK=16)
        world.barrier()
    world.output(y)


@shoal.harness
def host_copies_in_order(world):
    x = world.symm_empty(20, "fp32")
    y = world.empty(20, "fp32")
    world.fill(x, 1)
    world.barrier()
    pull[(2,)](x, y, 20, BLOCK=16)
    world.barrier()
    world.fill(x, 2)
    world.read(y)
    add[(2,)](x, y, 20, BLOCK=16)
    world.output(y)


@shoal.harness
def only_reads_are_shared(world):
    x = world.symm(20, "fp32", "random")
    y = world.empty(20, "fp32")
    pull[(2,)](x, y, 20, BLOCK=16)
    pull[(2,)](x, y, 20, BLOCK=16)
    world.output(y)


@shoal.harness
def disjoint_parts(world):
    x = world.symm_empty(32, "fp32")
    fill[(4,)](x, 1.0, 32, BLOCK=8)
    world.output(x)


@shoal.jit
def halves(x, n, BLOCK: tl.constexpr):
    """Even elements by one program, odd ones by the other."""
    at = tl.arange(0, BLOCK) * 2 + tl.program_id(0)
    tl.store(x + at, at, mask=at < n)


@shoal.harness
def interleaved_bytes(world):
    x = world.empty(16, "int8")
    halves[(2,)](x, 16, BLOCK=8)
    world.output(x)
