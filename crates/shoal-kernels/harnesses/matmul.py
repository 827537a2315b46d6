@shoal.harness
def check_matmul(world, M=20, N=18, K=17):
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    c = world.empty((M, N), "fp32")
    matmul[(shoal.cdiv(M, 16) * shoal.cdiv(N, 16),)](
        a, b, c, M, N, K, K, 1, N, 1, N, 1, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=2
    )
    world.output(c)
