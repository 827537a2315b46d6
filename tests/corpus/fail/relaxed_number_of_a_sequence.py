"""A writer of two words counts before and after, and the first count may be seen after the words."""
# expect: failure
# ranks: 2 3
# launches: 1
# schedules: 400

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import fence


@shoal.jit
def sequence(number, data, ROUNDS: tl.constexpr):
    if tl.rank() == 0:
        number = tl.symm_at(number, 1)
        data = tl.symm_at(data, 1)
        for round in range(1, ROUNDS + 1):
            tl.atomic_xchg(number, 2 * round - 1, sem="relaxed", scope="sys")
            tl.atomic_xchg(data, round, sem="relaxed", scope="sys")
            tl.atomic_xchg(data + 1, round, sem="relaxed", scope="sys")
            tl.atomic_xchg(number, 2 * round, sem="release", scope="sys")
    elif tl.rank() == 1:
        for round in range(ROUNDS):
            before = tl.atomic_add(number, 0, sem="acquire", scope="sys")
            a = tl.atomic_add(data, 0, sem="relaxed", scope="sys")
            b = tl.atomic_add(data + 1, 0, sem="relaxed", scope="sys")
            fence("acq_rel", "sys")
            after = tl.atomic_add(number, 0, sem="relaxed", scope="sys")
            if (before % 2 == 0) & (before == after):
                tl.device_assert(a == b, "two values of different times")


@shoal.harness
def once(world, rounds=4):
    sequence[(1,)](world.symm(1, "int32"), world.symm(2, "int32"), ROUNDS=rounds)

# says: two values of different times
