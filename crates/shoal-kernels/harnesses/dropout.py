@shoal.harness
def check_dropout(world, n=37, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    out = world.empty(n, "fp32")
    dropout[(shoal.cdiv(n, BLOCK),)](x, out, n, 0.5, 7, BLOCK=BLOCK)
    world.output(out)
