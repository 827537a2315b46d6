@shoal.harness
def check_attention(world, heads=2, length=18, dim=16):
    q = world.buffer((heads, length, dim), "fp32", "random")
    k = world.buffer((heads, length, dim), "fp32", "random")
    v = world.buffer((heads, length, dim), "fp32", "random")
    out = world.empty((heads, length, dim), "fp32")
    lse = world.empty((heads, length), "fp32")
    attention[(shoal.cdiv(length, 16), heads)](
        q, k, v, out, lse, length, length * dim, dim, 0.25, CAUSAL=True, HEAD_DIM=dim, BLOCK_M=16, BLOCK_N=16
    )
    world.output(out)
    world.output(lse)
