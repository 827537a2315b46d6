"""Ranks write neighbouring bytes of one flag word, and the reader looks at the whole word."""
# expect: race
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def arrive(flags, words, ready: tl.constexpr):
    rank = tl.rank()
    for peer in range(tl.num_ranks()):
        tl.store(tl.symm_at(flags, peer).to(tl.pointer_type(tl.int8)) + rank, 1)
    while tl.atomic_add(words, 0, sem="acquire", scope="sys") != ready:
        pass


@shoal.harness
def both(world):
    words = world.symm(1, "int32")
    arrive[(1,)](words, words, ready=257)

# says: only one of them is atomic
# says: make the plain store atomic
