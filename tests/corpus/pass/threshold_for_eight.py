"""The right twin of fail/threshold_for_eight.py."""
# expect: clean
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
    arrive[(1,)](counter, world.size)
