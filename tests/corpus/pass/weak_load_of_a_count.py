"""A lane looks at a count by a relaxed load."""
# expect: clean
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import atomic_add, ld, st, tid


@shoal.jit
def look(count, out):
    lane = tid(0)
    peer = (tl.rank() + 1) % tl.num_ranks()
    if lane == 0:
        atomic_add(tl.symm_at(count, peer), 1, scope="sys", semantic="relaxed")
        st(out, ld(count, scope="sys", semantic="relaxed"), scope="", semantic="weak")


@shoal.harness
def counts(world):
    out = world.empty(1, "int32")
    look[(1,)](world.symm(1, "int32"), out)
    world.output(out)
