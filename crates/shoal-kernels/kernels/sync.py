"""How the programs of different ranks meet: signals in the slots of the ranks' pads.

A slot is 0 at rest. Who signals writes 1 where 0 is, who waits writes 0 where 1 is, so slots need no clearing and no
number of a launch. The slots of programs that meet come first: slot `program * world + source`.
"""

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import atomic_cas, st, tid


@shoal.jit
def send(pad, slot, peer):
    """Raises a slot at a peer; all that this program did before happens before whoever waits there goes on."""
    there = tl.symm_at(pad, peer) + slot
    # The peer may not have taken an earlier signal yet.
    while tl.atomic_cas(there, 0, 1, sem="release", scope="sys") != 0:
        pass


@shoal.jit
def receive(pad, slot, count):
    """Waits until `count` slots of this rank, from `slot` on, are raised, and lowers them."""
    tl.wait(pad + slot, count, "sys", "acquire", waitValue=1)
    for at in range(count):
        tl.atomic_xchg(pad + slot + at, 0, sem="relaxed", scope="sys")


@shoal.jit
def meet(pad, FIRST: tl.constexpr = False, READ: tl.constexpr = False):
    """Returns when the programs of this number have come on all ranks. What they did before is seen afterwards; with
    `FIRST` they have done nothing yet, and that is what launches ahead of theirs did; with `READ` they have read, all of
    it into what they stored, and until a later launch nobody else looks at that."""
    rank = tl.rank()
    world = tl.num_ranks()
    first = tl.program_id(0) * world
    # Relaxed signals, which GPUs send, need this barrier.
    tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
    if tl.target_info.is_cuda():
        # Each thread signals another rank, so that all signals are under way at once. Who waits before its signal is taken
        # may wait for ever: two ranks that clear their slots and then look at each other's may both see them raised.
        # A launch begins when all that its stream did before is where every rank finds it: there is nothing to release.
        # Nor is there behind reads alone: what was stored is in registers, so no thread comes to the barrier above before
        # its loads have ended, and no later write can reach them. That is how the hardware works (each thread issues its
        # instructions in order, a store when it has its value), not what PTX's memory model says.
        order: tl.constexpr = "relaxed" if FIRST or READ else "release"
        peer = tid(0)
        if peer < world:
            there = tl.symm_at(pad, peer) + first + rank
            while atomic_cas(there, 0, 1, scope="sys", semantic=order) != 0:
                pass
        tl.wait(pad + first, world, "sys", "acquire", waitValue=1)
        if peer < world:
            st(pad + first + peer, 0, scope="sys", semantic="relaxed")
    else:
        for step in range(world):
            send(pad, first + rank, (rank + step) % world)
        receive(pad, first, world)
    tl.debug_barrier()  # shoal: redundant because all threads of a program leave a wait together
