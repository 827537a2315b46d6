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


@shoal.harness
def check_barriers(world, programs=2, rounds=2):
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        barriers[(programs,)](pad, rounds)
