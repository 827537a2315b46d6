@shoal.harness
def check_reduce_scatter(world, n=11, programs=2, BLOCK=8):
    x = world.symm(n * world.size, "fp32", "random")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        world.fill(x, launch)
        reduce_scatter[(programs,)](x, out, pad, world.rank * n, n, WORLD=world.size, BLOCK=BLOCK)
    world.output(out)
