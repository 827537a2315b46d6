"""A ring of slots between neighbours: the sender counts on one slot more than there is."""
# expect: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def stream_right(slots, sent, taken, out, chunks, SLOTS: tl.constexpr, CREDITS: tl.constexpr, BLOCK: tl.constexpr):
    """Program 0 sends chunks to the right, program 1 takes those from the left. `sent` counts what has arrived here,
    `taken` what the right neighbour has taken."""
    rank = tl.rank()
    world = tl.num_ranks()
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        right = (rank + 1) % world
        for chunk in range(chunks):
            if chunk >= CREDITS:
                # A slot is free when what was in it before is taken.
                while tl.atomic_add(taken, 0, sem="acquire", scope="sys") < chunk - CREDITS + 1:
                    pass
            place = tl.symm_at(slots, right) + (chunk % SLOTS) * BLOCK
            tl.store(place + at, chunk * 10 + at)
            tl.notify(sent, right, sig_op="add", comm_scope="intra_node")
    else:
        left = (rank + world - 1) % world
        for chunk in range(chunks):
            while tl.atomic_add(sent, 0, sem="acquire", scope="sys") < chunk + 1:
                pass
            tl.store(out + chunk * BLOCK + at, tl.load(slots + (chunk % SLOTS) * BLOCK + at))
            tl.notify(taken, left, sig_op="add", comm_scope="intra_node")


@shoal.harness
def stream(world, chunks=4, slots=2, BLOCK=4):
    buffer = world.symm_empty((slots, BLOCK), "int32")
    out = world.empty((chunks, BLOCK), "int32")
    sent = world.symm(1, "int64")
    taken = world.symm(1, "int64")
    stream_right[(2,)](buffer, sent, taken, out, chunks, SLOTS=slots, CREDITS=slots + 1, BLOCK=BLOCK)
    world.output(out)

# says: of `slots of rank
