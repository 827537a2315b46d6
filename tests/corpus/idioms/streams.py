"""Streams: copies, events, words and graphs."""
# expect: clean
# ranks: 2 3

import shoal
import shoal.language as tl


@shoal.jit
def fill(x, value, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, value + at, mask=at < n)


@shoal.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@shoal.harness
def fork_and_join(world):
    x = world.empty(16, "int32")
    y = world.empty(16, "int32")
    z = world.empty(16, "int32")
    side = world.stream()
    fill[(1,)](x, 1, 16, BLOCK=16)
    side.wait(world.record())
    side.copy(y, x)
    add[(1,)](x, z, 16, BLOCK=16)
    world.wait(side.record())
    add[(1,)](y, x, 16, BLOCK=16)
    world.synchronize()
    world.output(x)


@shoal.harness
def disjoint_work_on_two_streams(world):
    x = world.empty(16, "int32")
    y = world.empty(16, "int32")
    side = world.stream()
    fill[(1,)](x, 1, 16, BLOCK=16)
    fill[(1,)](y, 2, 16, BLOCK=16, stream=side)
    world.synchronize()
    world.output(x)
    world.output(y)


@shoal.harness
def copies_announced_by_words(world):
    """A ring of copies: the word of each round is written behind the data, and waited for by the next."""
    x = world.symm(16, "int32", "arange")
    inbox = world.symm_empty(16 * world.size, "int32")
    flags = world.symm(world.size, "int32")
    out = world.empty(16, "int32")
    side = world.stream()
    for offset in range(1, world.size):
        peer = (world.rank + offset) % world.size
        side.copy(world.at(inbox, peer, 16 * world.rank, 16), x)
        side.write_value(world.at(flags, peer, world.rank, 1), 1)
    for offset in range(1, world.size):
        source = (world.rank + offset) % world.size
        world.wait_value(world.at(flags, None, source, 1), 1, ">=")
        world.copy(out, world.at(inbox, None, 16 * source, 16))
    world.synchronize()
    world.output(out)


@shoal.harness
def host_waits_between_streams(world):
    x = world.empty(16, "int32")
    y = world.empty(16, "int32")
    side = world.stream()
    fill[(1,)](x, 1, 16, BLOCK=16, stream=side)
    side.synchronize()
    add[(1,)](x, y, 16, BLOCK=16)
    world.output(y)


@shoal.harness
def filled_by_a_stream(world):
    x = world.empty(16, "int32")
    y = world.empty(16, "int32")
    side = world.stream()
    side.fill(x, 3)
    add[(1,)](x, y, 16, BLOCK=16, stream=side)
    side.synchronize()
    world.output(y)


@shoal.harness
def graph_of_two_streams(world):
    x = world.buffer(16, "int32")
    y = world.empty(16, "int32")
    z = world.empty(16, "int32")
    side = world.stream()
    world.begin_graph()
    add[(1,)](x, y, 16, BLOCK=16)
    side.wait(world.record())
    side.copy(z, y)
    world.wait(side.record())
    add[(1,)](z, x, 16, BLOCK=16)
    graph = world.end_graph()
    graph.replay(3)
    world.output(z)
