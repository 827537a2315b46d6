@shoal.harness
def check_layer_norm_forward(world, rows=3, cols=9):
    x = world.buffer((rows, cols), "fp32", "random")
    y = world.empty((rows, cols), "fp32")
    w = world.buffer(cols, "fp32", "random")
    b = world.buffer(cols, "fp32", "random")
    mean = world.empty(rows, "fp32")
    rstd = world.empty(rows, "fp32")
    layer_norm_forward[(rows,)](x, y, w, b, mean, rstd, cols, cols, 1e-5, BLOCK=16)
    world.output(y)


@shoal.harness
def check_layer_norm_backward(world, rows=4, cols=5, groups=2):
    x = world.buffer((rows, cols), "fp32", "random")
    dy = world.buffer((rows, cols), "fp32", "random")
    dx = world.empty((rows, cols), "fp32")
    w = world.buffer(cols, "fp32", "random")
    mean = world.buffer(rows, "fp32", "random")
    rstd = world.buffer(rows, "fp32", 1)
    dw_part = world.empty((groups, cols), "fp32")
    db_part = world.empty((groups, cols), "fp32")
    locks = world.buffer(groups, "int32")
    filled = world.buffer(groups, "int32")
    layer_norm_backward_rows[(rows,)](
        dx, dy, dw_part, db_part, x, w, mean, rstd, locks, filled, cols, cols, GROUPS=groups, BLOCK=8
    )
    dw = world.empty(cols, "fp32")
    db = world.empty(cols, "fp32")
    layer_norm_backward_sum[(2,)](dw_part, db_part, dw, db, groups, cols, BLOCK_G=2, BLOCK=4)
    world.output(dx)
    world.output(dw)
