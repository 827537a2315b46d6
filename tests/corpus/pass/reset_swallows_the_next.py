"""Who has waited for a counter takes off what was waited for; ranks that are a launch ahead may have counted already."""
# expect: clean
# ranks: 2 3
# launches: 2

import shoal
import shoal.language as tl


@shoal.jit
def meet(count):
    world = tl.num_ranks()
    for peer in range(world):
        tl.atomic_add(tl.symm_at(count, peer), 1, sem="release", scope="sys")
    while tl.atomic_add(count, 0, sem="acquire", scope="sys") < world:
        pass
    tl.atomic_add(count, 0 - world, sem="relaxed", scope="sys")


@shoal.harness
def launches(world):
    count = world.symm(1, "int32")
    for launch in range(world.launches):
        meet[(1,)](count)
