"""The right twin of fail/neighbouring_bytes.py."""
# expect: clean
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def arrive(flags, words, ready: tl.constexpr):
    rank = tl.rank()
    for peer in range(tl.num_ranks()):
        tl.atomic_add(tl.symm_at(flags, peer), 1, sem="release", scope="sys")
    while tl.atomic_add(words, 0, sem="acquire", scope="sys") != ready:
        pass


@shoal.harness
def both(world):
    words = world.symm(1, "int32")
    arrive[(1,)](words, words, ready=2)
