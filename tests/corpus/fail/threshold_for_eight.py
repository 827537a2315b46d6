"""A threshold that was computed for 8 ranks, in a world of another size."""
# expect: deadlock
# ranks: 2

import shoal
import shoal.language as tl


@shoal.jit
def arrive(counter, expected):
    for peer in range(tl.num_ranks()):
        tl.notify(counter, peer, sig_op="add", comm_scope="intra_node")
    tl.wait(counter, 1, "sys", "acquire", waitValue=expected)


@shoal.harness
def everybody(world):
    counter = world.symm(1, "int64")
    arrive[(1,)](counter, 8)

# says: waits for 8 in byte 0 of counter of rank 0, which holds
