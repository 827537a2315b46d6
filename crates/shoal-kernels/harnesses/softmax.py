@shoal.harness
def check_softmax(world, rows=3, cols=9, programs=2):
    x = world.buffer((rows, cols), "fp32", "random")
    out = world.empty((rows, cols), "fp32")
    softmax[(programs,)](x, out, cols, cols, rows, cols, BLOCK=shoal.next_power_of_2(cols))
    world.output(out)
