@shoal.harness
def check_all_to_all(world, rows=2, dim=3, programs=2, case=1, BLOCK=8):
    """Rank 1, if there is one, sends nothing; who gets how much is ragged."""
    splits = world.ragged(rows, case) if world.rank != 1 else [0 for peer in range(world.size)]
    x = world.symm((rows * world.size, dim), "fp32", "random")
    shared_splits = world.symm(world.size, "int64", splits)
    room = rows * world.size
    out = world.buffer((room, dim), "fp32")
    received = world.empty(world.size, "int64")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        world.fill(x, launch)
        all_to_all[(programs,)](x, shared_splits, out, received, pad, dim, room, BLOCK=BLOCK)
    mine = world.ragged(rows, case)[world.rank]
    world.expect(received, [mine if sender != 1 else 0 for sender in range(world.size)])
