//! Accesses to all ranks at once, and signals and waits of single lanes.

use super::harness::check;

fn float(number: usize) -> i32 {
    (number as f32).to_bits() as i32
}

/// The sum of a function over all ranks.
fn sum(ranks: usize, of: impl Fn(usize) -> usize) -> usize {
    (0..ranks).map(of).sum()
}

#[test]
fn sums_of_all_ranks_are_loaded_and_written_to_all() {
    let body = "f = x.to(tl.pointer_type(tl.float32))
at = tl.arange(0, 4)
tl.store(f + at, (me * 10 + at).to(tl.float32))
shm.barrier_all_block()
a, b, c, d = multimem_ld_reduce_v4(shm.remote_mc_ptr(shm.NVSHMEMX_TEAM_NODE, f))
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
shm.barrier_all_block()
everywhere = shm.remote_mc_ptr(shm.NVSHMEM_TEAM_WORLD, y)
if me == n - 1:
    multimem_st_b32(everywhere + 2, 77 + n)
    multimem_st_v4(everywhere + 4, a, b, c, d)
shm.barrier_all_block()";
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank * 10 + i);
        for i in 0..4 {
            buffers.x[i] = float(rank * 10 + i);
            buffers.y[4 + i] = float(total(i));
        }
        (buffers.y[0], buffers.y[1]) = (total(0) as i32, total(3) as i32);
        buffers.y[2] = 77 + ranks as i32;
    });
}

#[test]
fn narrow_elements_are_added_in_pairs() {
    let body = "h = x.to(tl.pointer_type(tl.bfloat16))
at = tl.arange(0, 8)
tl.store(h + at, (me + at).to(tl.bfloat16))
shm.barrier_all_block()
a, b, c, d = multimem_ld_reduce_v4(h, tl.float32)
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
shm.barrier_all_block()";
    // The bits of two numbers that bfloat16 has exactly.
    let pair = |low: usize, high: usize| {
        let half = |number: usize| (float(number) as u32) >> 16;
        (half(low) | half(high) << 16) as i32
    };
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank + i);
        for i in 0..4 {
            buffers.x[i] = pair(rank + 2 * i, rank + 2 * i + 1);
        }
        (buffers.y[0], buffers.y[1]) = (pair(total(0), total(1)), pair(total(6), total(7)));
    });
}

#[test]
fn lanes_notify_and_wait_for_themselves() {
    let body = "tl.store(y, me)
t = tid(0)
if t < n:
    dl.notify(flags + me, t, signal=me + 5)
    dl.notify(flags + 6, t, signal=1, sig_op='add')
    token = dl.wait(flags + t, 1, 'sys', 'acquire', waitValue=t + 5)
dl.wait(flags + 6 + t * 0, 1, 'sys', 'acquire', waitValue=n)
peer_of = dl.symm_at(y, peer)
tl.store(y + 1, tl.load(peer_of))";
    check(body, |rank, ranks, buffers| {
        for source in 0..ranks {
            buffers.signals[source] = source as i64 + 5;
        }
        buffers.signals[6] = ranks as i64;
        (buffers.y[0], buffers.y[1]) = (rank as i32, ((rank + 1) % ranks) as i32);
    });
}
