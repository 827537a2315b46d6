@shoal.harness
def check_broadcast(world, n=37, programs=2, BLOCK=16):
    x = world.symm(n, "fp32", "random")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        world.fill(x, launch)
        broadcast[(programs,)](x, pad, launch % world.size, n, BLOCK=BLOCK)


@shoal.harness
def check_ring_put(world, n=37, programs=2, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        ring_put[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        world.read(out)
    world.output(out)


@shoal.jit
def write_own(x, value):
    tl.store(x, value)


@shoal.jit
def read_neighbour(x, out):
    tl.store(out, tl.load(tl.symm_at(x, (tl.rank() + 1) % tl.num_ranks())))


@shoal.harness
def check_barriers(world, programs=2, rounds=2):
    """What a rank has written before they meet, its neighbour reads after, and the other way round."""
    x = world.symm_empty(1, "int32")
    out = world.empty(1, "int32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        write_own[(1,)](x, launch)
        barriers[(programs,)](pad, rounds)
        read_neighbour[(1,)](x, out)
        barriers[(programs,)](pad, rounds)
    world.expect(out, world.launches - 1)
