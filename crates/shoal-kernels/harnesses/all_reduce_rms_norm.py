@shoal.harness
def check_one_shot_all_reduce_bias_rms_norm(world, rows=5, cols=9, programs=2, BLOCK=16):
    x = world.buffer((rows, cols), "fp32", "random")
    bias = world.buffer(cols, "fp32", "random")
    w = world.buffer(cols, "fp32", "random")
    shared = world.symm_empty((rows, cols), "fp32")
    y = world.empty((rows, cols), "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        one_shot_all_reduce_bias_rms_norm[(programs,)](
            x, bias, w, shared, y, pad, rows, cols, 1e-5, WORLD=world.size, BLOCK=BLOCK
        )
    world.output(y)


@shoal.harness
def check_two_shot_all_reduce_bias_rms_norm(world, rows=5, cols=9, programs=2, BLOCK=16):
    x = world.buffer((rows, cols), "fp32", "random")
    w = world.buffer(cols, "fp32", "random")
    shared = world.symm_empty((rows, cols), "fp32")
    y = world.empty((rows, cols), "fp32")
    pad = world.symm(programs * world.size, "int32")
    part = shoal.cdiv(cols, world.size)
    for launch in range(world.launches):
        two_shot_all_reduce_bias_rms_norm[(programs,)](
            x, None, w, shared, y, pad, rows, cols, part, 1e-5,
            WORLD=world.size, BLOCK=BLOCK, PART=shoal.next_power_of_2(part),
        )  # fmt: skip
    world.output(y)
