@shoal.harness
def check_gemm_one_shot_all_reduce(world, M=20, N=18, K=8, programs=2):
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    out = world.empty((M, N), "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        gemm_one_shot_all_reduce[(programs,)](
            a, b, partial, out, pad, M, N, K, WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
    world.output(out)


@shoal.harness
def check_gemm_reduce_scatter(world, part=17, N=18, K=8, programs=2):
    M = part * world.size
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    out = world.empty((part, N), "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        gemm_reduce_scatter[(programs,)](
            a, b, partial, out, pad, M, N, K, part, WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
    world.output(out)


@shoal.harness
def check_gemm_announced(world, part=17, N=18, K=8, programs=3):
    M = part * world.size
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    done = world.symm(world.size, "int32")
    ready = world.symm(world.size, "int32")
    for launch in range(world.launches):
        gemm_announced[(programs,)](
            a, b, partial, done, ready, M, N, K, part, WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
    world.output(partial)


@shoal.harness
def check_add_parts(world, n=37, programs=2):
    parts = world.buffer((world.size, n), "fp32", "random")
    out = world.empty(n, "fp32")
    add_parts[(programs,)](parts, out, n, WORLD=world.size, BLOCK=16)
    world.output(out)


@shoal.harness
def check_all_gather_matmul(world, M=18, N=20, K=8, programs=2):
    """The rows of the others have arrived, as their copies would leave them."""
    mine = world.buffer((M, K), "fp32", "random")
    gathered = world.buffer((world.size, M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    c = world.empty((world.size, M, N), "fp32")
    progress = world.buffer(2 * world.size, "int32", 1)
    all_gather_matmul[(programs,)](
        mine, gathered, b, c, progress, M, N, K, 2, 9, None, 0, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
    )
    world.output(c)
