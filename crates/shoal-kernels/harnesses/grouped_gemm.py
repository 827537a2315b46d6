@shoal.harness
def check_grouped_gemm(world, programs=2):
    """Two products: 3 × 4 × 5 and 17 × 2 × 1."""
    a = world.buffer(3 * 5 + 17, "fp32", "random")
    b = world.buffer(5 * 4 + 2, "fp32", "random")
    c = world.empty(3 * 4 + 17 * 2, "fp32")
    table = world.buffer(12, "int64", [3, 4, 5, 0, 0, 0, 17, 2, 1, 15, 20, 12])
    grouped_gemm[(programs,)](a, b, c, table, 2, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)
    world.output(c)
