"""The right twin of fail/mean_of_nothing.py: without tokens the mean is zero."""
# expect: clean
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def mean_of_ranks(values, counts, out):
    """The values of all ranks, over how many tokens they have."""
    total = 0.0
    tokens = 0.0
    for peer in range(tl.num_ranks()):
        total += tl.load(tl.symm_at(values, peer))
        tokens += tl.load(tl.symm_at(counts, peer))
    tl.store(out, total / tl.maximum(tokens, 1.0))


@shoal.harness
def mean(world):
    values = world.symm(1, "fp32")
    counts = world.symm(1, "fp32")
    out = world.empty(1, "fp32")
    mean_of_ranks[(1,)](values, counts, out)
    world.barrier()
    world.output(out)
