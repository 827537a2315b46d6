@shoal.harness
def check_all_gather_put(world, n=21, programs=2):
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        all_gather_put[(programs,)](x, out, signals, 4 * launch + 1, n)
        world.read(out)
    world.output(out)


@shoal.harness
def check_all_gather_put_ring(world, n=21, programs=2):
    x = world.buffer(n, "fp32", "random")
    out = world.symm_empty(n * world.size, "fp32")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        all_gather_put_ring[(programs,)](x, out, signals, 4 * launch + 1, n)
        world.read(out)
    world.output(out)


@shoal.harness
def check_broadcast_put(world, n=21, programs=2):
    x = world.symm(n, "fp32", "random")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        world.fill(x, launch * world.size + world.rank)
        broadcast_put[(programs,)](x, signals, 4 * launch + 1, launch % world.size, n)
    last = world.launches - 1
    world.expect(x, [last * world.size + last % world.size for i in range(n)])


@shoal.harness
def check_reduce_scatter_put(world, n=23, programs=2, BLOCK=8):
    part = (n + world.size - 1) // world.size
    x = world.buffer(n, "fp32", "random")
    inbox = world.symm_empty(part * world.size, "fp32")
    out = world.buffer(part, "fp32")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        reduce_scatter_put[(programs,)](
            x, inbox, out, signals, 4 * launch + 1, n, part, WORLD=world.size, BLOCK=BLOCK
        )  # fmt: skip


@shoal.harness
def check_all_reduce_put(world, n=23, programs=2, BLOCK=8):
    part = (n + world.size - 1) // world.size
    x = world.buffer(n, "fp32")
    world.fill(x, world.rank + 1)
    inbox = world.symm_empty(part * world.size, "fp32")
    out = world.symm_empty(n, "fp32")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        # It may hold anything before.
        world.fill(inbox, 0)
        all_reduce_put[(programs,)](
            x, inbox, out, signals, 4 * launch + 1, n, part, WORLD=world.size, BLOCK=BLOCK
        )  # fmt: skip
        world.read(out)
    world.expect(out, [world.size * (world.size + 1) // 2 for i in range(n)])


@shoal.harness
def check_all_to_all_put(world, rows=2, dim=3, programs=2, case=1):
    """Rank 1, if there is one, sends nothing; who gets how much is ragged."""
    given = world.ragged(rows, case) if world.rank != 1 else [0 for peer in range(world.size)]
    x = world.buffer((rows * world.size, dim), "fp32")
    world.fill(x, world.rank + 1)
    splits = world.buffer(world.size, "int64", given)
    all_splits = world.symm_empty(programs * world.size * world.size, "int64")
    room = rows * world.size
    out = world.symm((room, dim), "fp32")
    received = world.empty(world.size, "int64")
    signals = world.symm(2 * programs * world.size, "int64")
    for launch in range(world.launches):
        world.fill(out, 0)
        all_to_all_put[(programs,)](x, splits, all_splits, out, received, signals, 4 * launch + 1, dim, room)
    mine = world.ragged(rows, case)[world.rank]
    world.expect(received, [mine if sender != 1 else 0 for sender in range(world.size)])
    arrived = []
    for sender in range(world.size):
        if sender != 1:
            arrived = arrived + [sender + 1 for i in range(mine * dim)]
    world.expect(out, arrived + [0 for i in range(room * dim - len(arrived))])
