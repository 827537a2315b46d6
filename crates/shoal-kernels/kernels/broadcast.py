"""One rank's elements, for everybody."""

import shoal
import shoal.language as tl
from sharing import copy
from sync import meet


@shoal.jit
def broadcast(x, pad, root, n, BLOCK: tl.constexpr):
    """All ranks but the root read the root's `x`, which is symmetric, into theirs."""
    meet(pad, FIRST=True)
    if tl.rank() != root:
        copy(tl.symm_at(x, root), x, n, BLOCK)
    meet(pad, READ=True)


@shoal.jit
def ring_put(x, out, pad, n, BLOCK: tl.constexpr):
    """Every rank writes its `x` into its right neighbour's `out`, which is symmetric."""
    meet(pad, FIRST=True)
    copy(x, tl.symm_at(out, (tl.rank() + 1) % tl.num_ranks()), n, BLOCK)
    meet(pad)


@shoal.jit
def barriers(pad, rounds):
    """Programs of one number meet so many times, and do nothing else."""
    for _ in range(rounds):
        meet(pad)
