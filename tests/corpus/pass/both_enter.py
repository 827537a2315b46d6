"""Two programs say that they want to enter and look whether the other does, with a fence in between that all agree on."""
# expect: clean
# ranks: 1
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import fence


@shoal.jit
def enter(wants, x):
    me = tl.program_id(0)
    tl.atomic_xchg(wants + me, 1, sem="release", scope="gpu")
    fence("sc", "gpu")
    if tl.atomic_add(wants + 1 - me, 0, sem="acquire", scope="gpu") == 0:
        tl.store(x, me)


@shoal.harness
def once(world):
    enter[(2,)](world.buffer(2, "int32"), world.buffer(1, "int32"))
