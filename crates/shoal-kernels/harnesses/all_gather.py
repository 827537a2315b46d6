@shoal.harness
def check_all_gather_push(world, n=37, programs=2, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        all_gather_push[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        world.read(out)
    world.output(out)


@shoal.harness
def check_all_gather_pull(world, n=37, programs=2, BLOCK=16):
    x = world.symm(n, "fp32", "random")
    out = world.empty(n * world.size, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        all_gather_pull[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        world.fill(x, launch)
    world.output(out)


@shoal.harness
def check_all_gather_ring(world, n=37, programs=2, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    pad = world.symm(2 * programs * world.size, "int32")
    for launch in range(world.launches):
        all_gather_ring[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        world.read(out)
    world.output(out)


@shoal.harness
def check_all_gather_2d(world, n=21, programs=2, BLOCK=16):
    columns = 2 if world.size % 2 == 0 else 1
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    pad = world.symm(2 * programs * world.size, "int32")
    for launch in range(world.launches):
        all_gather_2d[(programs,)](x, out, pad, n, columns, BLOCK=BLOCK)
        world.read(out)
    world.output(out)


@shoal.harness
def check_all_gather_sequence(world, n=9, programs=2, BLOCK=8):
    """All ways to gather, one after the other, on one pad and one buffer."""
    x = world.symm(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    pad = world.symm(2 * programs * world.size, "int32")
    for launch in range(world.launches):
        all_gather_ring[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        all_gather_2d[(programs,)](x, out, pad, n, 1, BLOCK=BLOCK)
        all_gather_push[(programs,)](x, out, pad, n, BLOCK=BLOCK)
        world.fill(x, launch)
    world.output(out)
