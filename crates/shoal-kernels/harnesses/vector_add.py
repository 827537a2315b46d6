@shoal.harness
def check_vector_add(world, n=37, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    y = world.buffer(n, "fp32", "random")
    out = world.empty(n, "fp32")
    vector_add[(shoal.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
    world.output(out)
