@shoal.harness
def check_gemm_one_shot_all_reduce(world, M=20, N=18, K=8, programs=2):
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    out = world.empty((M, N), "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        gemm_one_shot_all_reduce[(programs,)](
            a, b, partial, out, pad, M, N, K, WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
    world.output(out)


@shoal.harness
def check_gemm_reduce_scatter(world, part=17, N=18, K=8, programs=2):
    M = part * world.size
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    out = world.empty((part, N), "fp32")
    pad = world.symm(programs * world.size, "int32")
    for launch in range(world.launches):
        gemm_reduce_scatter[(programs,)](
            a, b, partial, out, pad, M, N, K, part, WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
    world.output(out)


@shoal.jit
def carry_away(partial, inbox, ready, rows, N, splits, split_rows, BLOCK: tl.constexpr):
    """What a copy engine does: when a split of this rank's rows is announced by another, copies it, and takes the word
    back."""
    rank = tl.rank()
    for step in range(1, tl.num_ranks()):
        source = (rank + step) % tl.num_ranks()
        for split in range(splits):
            word = tl.symm_at(ready, source) + rank * splits + split
            while tl.atomic_add(word, 0, sem="acquire", scope="sys") != 1:
                pass
            part = tl.symm_at(partial, source) + rank * rows * N
            end = tl.minimum((split + 1) * split_rows, rows) * N
            for start in range(split * split_rows * N, end, BLOCK):
                at = start + tl.arange(0, BLOCK)
                tl.store(inbox + source * rows * N + at, tl.load(part + at, mask=at < end), mask=at < end)
            # shoal: redundant scope because the hosts meet before the word is written again
            tl.atomic_xchg(word, 0, sem="relaxed", scope="sys")


@shoal.harness
def check_gemm_announced(world, part=33, N=18, K=8, programs=3, split_rows=32):
    M = part * world.size
    splits = (part + split_rows - 1) // split_rows
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    inbox = world.empty((world.size, part, N), "fp32")
    done = world.symm(splits * world.size, "int32")
    ready = world.symm(splits * world.size, "int32")
    for launch in range(world.launches):
        gemm_announced[(programs,)](
            a, b, partial, inbox, done, ready, M, N, K, part, split_rows,
            WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
        )  # fmt: skip
        carry_away[(1,)](partial, inbox, ready, part, N, splits, split_rows, BLOCK=64)
        world.barrier()
    world.output(inbox)


@shoal.harness
def check_add_parts(world, n=37, programs=2):
    parts = world.buffer((world.size, n), "fp32", "random")
    out = world.empty(n, "fp32")
    add_parts[(programs,)](parts, out, n, WORLD=world.size, BLOCK=16)
    world.output(out)


@shoal.jit
def push_rows(mine, gathered, progress, rows, K, splits, split_rows, BLOCK: tl.constexpr):
    """What copies between ranks do: a split of rows to everybody's `gathered`, then its word of `progress`."""
    rank = tl.rank()
    for split in range(splits):
        first = split * split_rows * K
        end = tl.minimum((split + 1) * split_rows, rows) * K
        for peer in range(tl.num_ranks()):
            for start in range(first, end, BLOCK):
                at = start + tl.arange(0, BLOCK)
                there = tl.symm_at(gathered, peer) + rank * rows * K + at
                tl.store(there, tl.load(mine + at, mask=at < end), mask=at < end)
            tl.atomic_xchg(tl.symm_at(progress, peer) + rank * splits + split, 1, sem="release", scope="sys")


@shoal.harness
def check_copied_reduce_scatter(world, part=17, N=6, K=4, programs=2, split_rows=16):
    """While the rows of one rank are computed, a stream carries those of the last to it."""
    M = part * world.size
    count = part * N
    splits = (part + split_rows - 1) // split_rows
    a = world.buffer((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    partial = world.symm_empty((M, N), "fp32")
    inbox = world.symm_empty((world.size, part, N), "fp32")
    done = world.symm(splits * world.size, "int32")
    ready = world.symm(splits * world.size, "int32")
    out = world.empty((part, N), "fp32")
    copies = world.stream()
    for launch in range(world.launches):
        for step in range(1, world.size):
            owner = (world.rank + step) % world.size
            for split in range(splits):
                start = split * split_rows * N
                size = min((split + 1) * split_rows, part) * N - start
                word = world.at(ready, None, owner * splits + split, 1)
                copies.wait_value(word, 1)
                copies.copy(
                    world.at(inbox, owner, world.rank * count + start, size),
                    world.at(partial, None, owner * count + start, size),
                )
                copies.write_value(word, 0)
        gemm_announced[(programs,)](
            a, b, partial, inbox, done, ready, M, N, K, part, split_rows,
            WORLD=world.size, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
        )  # fmt: skip
        copies.synchronize()
        world.barrier()
        add_parts[(programs,)](inbox, out, count, WORLD=world.size, BLOCK=16)
        world.barrier()
    world.output(out)


@shoal.harness
def check_copied_all_gather_matmul(world, M=18, N=20, K=8, programs=2, splits=2):
    """A stream copies everybody's rows, and raises a word for every split that is there."""
    rows = (M + splits - 1) // splits
    mine = world.symm((M, K), "fp32", "random")
    gathered = world.symm_empty((world.size, M, K), "fp32")
    b = world.buffer((K, N), "fp32", "random")
    c = world.empty((world.size, M, N), "fp32")
    progress = world.symm(splits * world.size, "int32")
    copies = world.stream()
    for launch in range(world.launches):
        world.barrier()
        for step in range(world.size):
            source = (world.rank + 1 + step) % world.size
            for split in range(splits):
                start = min(split * rows, M) * K
                count = min((split + 1) * rows, M) * K - start
                copies.copy(
                    world.at(gathered, None, source * M * K + start, count), world.at(mine, source, start, count)
                )
                copies.write_value(world.at(progress, None, source * splits + split, 1), 1)
        all_gather_matmul[(programs,)](
            mine, gathered, b, c, progress, M, N, K, splits, rows, None, 0, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
        copies.synchronize()
        world.fill(progress, 0)
        world.barrier()
    world.output(c)


@shoal.harness
def check_all_gather_matmul(world, M=18, N=20, K=8, programs=2):
    """The rows of the others still arrive while the product is made."""
    mine = world.buffer((M, K), "fp32", "random")
    gathered = world.symm_empty((world.size, M, K), "fp32")
    b = world.buffer((K, N), "fp32", "random")
    c = world.empty((world.size, M, N), "fp32")
    progress = world.symm(2 * world.size, "int32")
    for launch in range(world.launches):
        push_rows[(1,)](mine, gathered, progress, M, K, 2, 9, BLOCK=64)
        all_gather_matmul[(programs,)](
            mine, gathered, b, c, progress, M, N, K, 2, 9, None, 0, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
        )
        world.barrier()
        world.fill(progress, 0)
        world.barrier()
    world.output(c)


@shoal.harness
def check_all_gather_matmul_pull(world, M=18, N=20, K=8):
    x = world.symm((M, K), "fp32", "random")
    b = world.buffer((K, N), "fp32", "random")
    c = world.empty((world.size, M, N), "fp32")
    gathered = world.empty((world.size, M, K), "fp32")
    for launch in range(world.launches):
        world.fill(x, launch)
        world.barrier()
        all_gather_matmul_pull[(world.size * 2 * 2,)](x, gathered, b, c, M, N, K, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)
        world.barrier()
    world.output(c)
    world.output(gathered)


@shoal.harness
def check_read_clock(world):
    words = world.empty(1, "uint64")
    for launch in range(world.launches):
        read_clock[(1,)](words)
    world.output(words)
