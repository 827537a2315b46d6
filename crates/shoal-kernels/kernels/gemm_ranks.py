"""Products of matrices that are spread over ranks, with the communication inside.

`a` is `M × K` and `b` is `K × N`, dense and row by row. Programs take blocks of the product one after another, as many
programs as fit at once. Where every rank has its own part of K, the parts of the product are added up in fp32.
"""

import shoal
import shoal.language as tl
from profiler import first_record, record
from sharing import sum_of_places
from shoal.language.extra.cuda import globaltimer
from sync import meet

# What is recorded.
WAIT = tl.constexpr(0)
MULTIPLY = tl.constexpr(1)

# Elements that are copied at once.
COPIED = tl.constexpr(2048)


@shoal.jit
def block_product(
    a, b, rows, cols, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    """The block of a @ b at these rows and columns, in fp32."""
    inner = tl.arange(0, BLOCK_K)
    a_at = a + rows[:, None].to(tl.int64) * K + inner[None, :]
    b_at = b + inner[:, None].to(tl.int64) * N + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = tl.load(a_at, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0.0)
        right = tl.load(b_at, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc, input_precision="ieee")
        a_at += BLOCK_K
        b_at += tl.cast(BLOCK_K, tl.int64) * N
    return acc


@shoal.jit
def sum_of_blocks(
    partial, rows, cols, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, WORLD: tl.constexpr
):  # fmt: skip
    """Everybody's part of a block, added up in the order of the ranks."""
    at = rows[:, None].to(tl.int64) * N + cols[None, :]
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for peer in range(WORLD):
        total += tl.load(tl.symm_at(partial, peer) + at, mask=inside, other=0.0)
    return total


@shoal.jit
def gemm_one_shot_all_reduce(
    a, b, partial, out, pad, M, N, K,
    WORLD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """out = a0 @ b0 + a1 @ b1 + … on every rank. `partial` is symmetric, fp32, and as large as `out`."""
    across = tl.cdiv(N, BLOCK_N)
    blocks = tl.cdiv(M, BLOCK_M) * across
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        rows = block // across * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = block % across * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = block_product(a, b, rows, cols, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
        at = rows[:, None].to(tl.int64) * N + cols[None, :]
        tl.store(partial + at, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
    meet(pad)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        rows = block // across * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = block % across * BLOCK_N + tl.arange(0, BLOCK_N)
        total = sum_of_blocks(partial, rows, cols, M, N, BLOCK_M, BLOCK_N, WORLD)
        at = rows[:, None].to(tl.int64) * N + cols[None, :]
        tl.store(out + at, total.to(out.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
    meet(pad, READ=True)


@shoal.jit
def gemm_reduce_scatter(
    a, b, partial, out, pad, M, N, K, part,
    WORLD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Of a0 @ b0 + a1 @ b1 + …, each rank gets `part` rows, the last ones fewer or none. `partial` is symmetric, fp32
    and has all rows. A block belongs to one rank; the blocks of the next rank are computed first."""
    rank = tl.rank()
    across = tl.cdiv(N, BLOCK_N)
    of_rank = tl.cdiv(part, BLOCK_M) * across
    for step in range(WORLD):
        owner = (rank + 1 + step) % WORLD
        end = tl.minimum((owner + 1) * part, M)
        # The program that adds up a block at its owner has the number of those that compute it, so they can meet.
        for block in range(tl.program_id(0), of_rank, tl.num_programs(0)):
            rows = owner * part + block // across * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = block % across * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = block_product(a, b, rows, cols, end, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
            at = rows[:, None].to(tl.int64) * N + cols[None, :]
            tl.store(partial + at, acc, mask=(rows[:, None] < end) & (cols[None, :] < N))
    meet(pad)
    end = tl.minimum((rank + 1) * part, M)
    for block in range(tl.program_id(0), of_rank, tl.num_programs(0)):
        rows = rank * part + block // across * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = block % across * BLOCK_N + tl.arange(0, BLOCK_N)
        total = sum_of_blocks(partial, rows, cols, end, N, BLOCK_M, BLOCK_N, WORLD)
        at = (rows[:, None] - rank * part).to(tl.int64) * N + cols[None, :]
        tl.store(out + at, total.to(out.dtype.element_ty), mask=(rows[:, None] < end) & (cols[None, :] < N))
    meet(pad, READ=True)


@shoal.jit
def gemm_announced(
    a, b, partial, inbox, done, ready, M, N, K, part, split_rows,
    WORLD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """partial = a @ b in fp32, the rows of the next rank first. When `split_rows` of the `part` rows of a rank are there, a
    multiple of `BLOCK_M`, their word of `ready` becomes 1, for whoever carries them away. `done` counts blocks; it is 0
    before and after. This rank's own rows come last, and into its `inbox`, where the other ranks' are carried."""
    rank = tl.rank()
    down = tl.cdiv(part, BLOCK_M)
    across = tl.cdiv(N, BLOCK_N)
    of_rank = down * across
    of_split = split_rows // BLOCK_M
    for place in range(tl.program_id(0), of_rank * WORLD, tl.num_programs(0)):
        owner = (rank + 1 + place // of_rank) % WORLD
        block = place % of_rank
        first = owner * part
        end = tl.minimum(first + part, M)
        rows = first + block // across * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = block % across * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = block_product(a, b, rows, cols, end, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
        target = partial
        if owner == rank:
            # There, the rows of each rank follow those of the one before.
            target = inbox + (rank.to(tl.int64) * (end - first) - first) * N
        at = rows[:, None].to(tl.int64) * N + cols[None, :]
        tl.store(target + at, acc, mask=(rows[:, None] < end) & (cols[None, :] < N))
        if owner != rank:
            split = block // across // of_split
            blocks = tl.minimum(of_split, down - split * of_split) * across
            word = owner * tl.cdiv(down, of_split) + split
            tl.debug_barrier()  # shoal: redundant because a release waits for all threads of its program
            if tl.atomic_add(done + word, 1, sem="acq_rel", scope="gpu") == blocks - 1:
                # shoal: redundant scope because all who count here have counted, and that is acquired
                tl.atomic_xchg(done + word, 0, sem="relaxed", scope="gpu")
                tl.atomic_xchg(ready + word, 1, sem="release", scope="sys")


@shoal.jit
def add_parts(parts, out, n, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    """out = the sum of `WORLD` rows of `n` fp32 numbers, in their order."""
    rows = ()
    if WORLD <= 8:
        for source in tl.static_range(WORLD):
            rows += (parts + tl.cast(n, tl.int64) * source,)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        if WORLD <= 8:
            total = sum_of_places(rows, at, at < n, total)
        else:
            for source in range(WORLD):
                total += tl.load(parts + tl.cast(n, tl.int64) * source + at, mask=at < n, other=0.0)
        tl.store(out + at, total.to(out.dtype.element_ty), mask=at < n)


@shoal.jit
def all_gather_matmul(
    mine, gathered, b, c, progress, M, N, K, splits, split_rows, records, room,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c = everybody's `M × K` rows @ b, while the rows still arrive in `gathered`: `progress` has a word for each split
    of each rank, which is 1 when its `split_rows` rows are there. This rank's own rows come first, and from `mine`."""
    rank = tl.rank()
    world = tl.num_ranks()
    down = tl.cdiv(M, BLOCK_M)
    of_rank = down * tl.cdiv(N, BLOCK_N)
    at_record = first_record(records)
    for place in range(tl.program_id(0), of_rank * world, tl.num_programs(0)):
        owner = (rank + place // of_rank) % world
        block = place % of_rank
        row = block % down * BLOCK_M
        a = gathered + owner.to(tl.int64) * M * K
        if owner == rank:
            a = mine
        else:
            first = row // split_rows
            last = tl.minimum(row + BLOCK_M, M) - 1
            words = progress + owner * splits + first
            at_record = record(records, room, at_record, WAIT, 1)
            token = tl.wait(words, last // split_rows - first + 1, "sys", "acquire", waitValue=1)
            a = tl.consume_token(a, token)
            at_record = record(records, room, at_record, WAIT, 0)
        at_record = record(records, room, at_record, MULTIPLY, 1)
        rows = row + tl.arange(0, BLOCK_M)
        cols = block // down * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = block_product(a, b, rows, cols, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
        at = (owner.to(tl.int64) * M + rows[:, None]) * N + cols[None, :]
        tl.store(c + at, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
        at_record = record(records, room, at_record, MULTIPLY, 0)


@shoal.jit
def all_gather_matmul_pull(
    x, gathered, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    """c = everybody's `M × K` rows @ b, with the rows read where they are. `x` is symmetric; whoever launches sees to it that
    everybody's is there, and stays until all ranks are done. A program computes one block; programs walk down the rows of
    all ranks, this one's first, before the next columns of b. With `gathered`, those of the first columns also copy their rows
    there, which are in the cache then."""
    down = tl.cdiv(M, BLOCK_M)
    place = tl.program_id(0) % (down * tl.num_ranks())
    owner = (tl.rank() + place // down) % tl.num_ranks()
    rows = place % down * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) // (down * tl.num_ranks()) * BLOCK_N + tl.arange(0, BLOCK_N)
    a = tl.symm_at(x, owner)
    acc = block_product(a, b, rows, cols, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
    at = (owner.to(tl.int64) * M + rows[:, None]) * N + cols[None, :]
    tl.store(c + at, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
    if gathered is not None:
        if tl.program_id(0) < down * tl.num_ranks():
            first = (place % down * BLOCK_M).to(tl.int64) * K
            end = tl.minimum(first + tl.cast(BLOCK_M, tl.int64) * K, tl.cast(M, tl.int64) * K)
            for start in range(first, end, COPIED):
                copied = start + tl.arange(0, COPIED)
                row = tl.load(a + copied, mask=copied < end)
                tl.store(gathered + owner.to(tl.int64) * M * K + copied, row, mask=copied < end)


@shoal.jit
def read_clock(words):
    """The time of the clock that records are made with."""
    tl.store(words, globaltimer().to(tl.uint64))
