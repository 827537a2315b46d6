@shoal.harness
def check_one_shot_all_reduce(world, n=37, programs=2, BLOCK=16):
    x = world.symm(n, "fp32", "random")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        world.fill(x, launch)
        one_shot_all_reduce[(programs,)](x, out, pad, n, WORLD=world.size, BLOCK=BLOCK, turn=launch)
    world.output(out)


@shoal.harness
def check_two_shot_all_reduce_words(world, n=70, programs=2):
    x = world.symm(n, "fp32", "random")
    stage = world.symm(programs * 4 * world.size * 32, "uint64")
    launches = world.buffer(programs, "int64")
    for launch in range(world.launches):
        two_shot_all_reduce_words[(programs,)](x, stage, launches, n, WORLD=world.size, num_warps=1)
    world.output(x)


@shoal.harness
def check_one_shot_all_reduce_words(world, n=70, programs=2):
    x = world.symm(n, "fp32", "random")
    out = world.empty(n, "fp32")
    stage = world.symm(programs * 2 * world.size * 64, "uint64")
    launches = world.buffer(programs, "int64")
    for launch in range(world.launches):
        one_shot_all_reduce_words[(programs,)](
            x, out, stage, launches, n, WORLD=world.size, ROUNDS=2, num_warps=1
        )
        world.fill(x, launch)
    world.output(out)


@shoal.harness
def check_one_shot_all_reduce_words_that_stay(world, n=40, programs=2):
    x = world.symm(n, "fp32", "random")
    out = world.empty(n, "fp32")
    stage = world.symm(programs * 2 * world.size * 32, "uint64")
    launches = world.buffer(programs, "int64")
    for launch in range(world.launches):
        one_shot_all_reduce_words[(programs,)](
            x, out, stage, launches, n, WORLD=world.size, ROUNDS=1, STAY=True, num_warps=1
        )
        world.fill(x, launch)
    world.output(out)


@shoal.harness
def check_one_shot_all_reduce_bias(world, n=37, programs=2, BLOCK=16):
    x = world.buffer(n, "fp32", "random")
    bias = world.buffer(n, "fp32", "random")
    shared = world.symm_empty(n, "fp32")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        one_shot_all_reduce_bias[(programs,)](x, bias, shared, out, pad, n, None, WORLD=world.size, BLOCK=BLOCK)
    world.output(out)


@shoal.harness
def check_two_shot_all_reduce_in_place(world, n=75, programs=2, BLOCK=8):
    x = world.symm(n, "fp32", "random")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        world.fill(x, launch)
        two_shot_all_reduce_in_place[(programs,)](x, pad, n, WORLD=world.size, BLOCK=BLOCK)
        world.read(x)
    world.output(x)


@shoal.harness
def check_two_shot_all_reduce_bias(world, n=75, programs=2, BLOCK=8):
    x = world.buffer(n, "fp32", "random")
    bias = world.buffer(5, "fp32", "random")
    shared = world.symm_empty(n, "fp32")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        two_shot_all_reduce_bias[(programs,)](x, bias, shared, out, pad, n, 5, WORLD=world.size, BLOCK=BLOCK)
    world.output(out)


@shoal.harness
def check_two_shot_all_reduce(world, n=75, programs=2, BLOCK=8):
    x = world.buffer(n, "fp32", "random")
    shared = world.symm_empty(n, "fp32")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        two_shot_all_reduce[(programs,)](x, shared, out, pad, n, WORLD=world.size, BLOCK=BLOCK)
    world.output(out)


@shoal.harness
def check_all_reduce_sequence(world, n=37, programs=2, BLOCK=8):
    """Different kernels one after the other, on one pad and one buffer."""
    x = world.symm(n, "fp32", "random")
    out = world.empty(n, "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        two_shot_all_reduce_in_place[(programs,)](x, pad, n, WORLD=world.size, BLOCK=BLOCK)
        one_shot_all_reduce[(programs,)](x, out, pad, n, WORLD=world.size, BLOCK=BLOCK)
    world.output(out)
