@shoal.harness
def check_rms_norm(world, rows=3, cols=9):
    x = world.buffer((rows, cols), "fp32", "random")
    w = world.buffer(cols, "fp32", "random")
    y = world.empty((rows, cols), "fp32")
    rms_norm[(rows,)](x, w, y, cols, cols, 1e-5, BLOCK=shoal.next_power_of_2(cols))
    world.output(y)
