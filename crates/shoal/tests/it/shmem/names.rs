//! Every name does what it says, on worlds of one to four ranks.

use super::harness::{Buffers, N, check, source};

/// The bytes of `x` that are copied: not all of them, so that the rest can be seen to stay.
const COUNT: usize = 17;

fn of(rank: usize) -> Vec<i32> {
    Buffers::of_rank(rank).x
}

#[test]
fn puts_write_to_the_peer() {
    let names = [
        "putmem",
        "putmem_block",
        "putmem_warp",
        "putmem_wave",
        "putmem_wg",
        "putmem_nbi",
        "putmem_nbi_block",
        "putmem_nbi_warp",
        "putmem_nbi_wave",
        "putmem_nbi_wg",
        "putmem_rma",
        "putmem_rma_block",
        "putmem_rma_warp",
        "putmem_rma_nbi",
        "putmem_rma_nbi_block",
        "putmem_rma_nbi_warp",
    ];
    for name in names {
        let body = format!("shm.{name}(y + 1, x + 2, {COUNT} * 4, peer)\nshm.quiet()\nshm.barrier_all()");
        check(&body, |rank, ranks, buffers| {
            buffers.y[1..1 + COUNT].copy_from_slice(&of(source(rank, ranks))[2..2 + COUNT]);
        });
    }
}

#[test]
fn gets_read_from_the_peer() {
    let names = [
        "getmem",
        "getmem_block",
        "getmem_warp",
        "getmem_wave",
        "getmem_wg",
        "getmem_nbi",
        "getmem_nbi_block",
        "getmem_nbi_warp",
        "getmem_nbi_wave",
        "getmem_nbi_wg",
    ];
    for name in names {
        let body = format!("shm.{name}(y, x, bytes={COUNT} * 4, pe=peer)\nshm.quiet_pe(peer)\nshm.sync_all()");
        check(&body, |rank, ranks, buffers| {
            buffers.y[..COUNT].copy_from_slice(&of((rank + 1) % ranks)[..COUNT]);
        });
    }
}

#[test]
fn puts_with_signals_signal_after_the_data() {
    let names = [
        "putmem_signal",
        "putmem_signal_block",
        "putmem_signal_warp",
        "putmem_signal_wave",
        "putmem_signal_wg",
        "putmem_signal_nbi",
        "putmem_signal_nbi_block",
        "putmem_signal_nbi_warp",
        "putmem_signal_nbi_wave",
        "putmem_signal_nbi_wg",
        "putmem_signal_rma",
        "putmem_signal_rma_block",
        "putmem_signal_rma_warp",
        "putmem_signal_rma_nbi",
        "putmem_signal_rma_nbi_block",
        "putmem_signal_rma_nbi_warp",
    ];
    for (i, name) in names.into_iter().enumerate() {
        let (op, signal) = if i % 2 == 0 { ("SET", 5) } else { ("ADD", 6) };
        let body = format!(
            "shm.{name}(y, x, {COUNT} * 4, flags + 2, {signal}, shm.NVSHMEM_SIGNAL_{op}, peer)\n\
             shm.signal_wait_until(flags + 2, shm.NVSHMEM_CMP_EQ, {signal})\n\
             at = tl.arange(0, 32)\n\
             v = tl.load(y + at, mask=at < {COUNT})\n\
             tl.store(y + at, v + 1, mask=at < {COUNT})"
        );
        check(&body, |rank, ranks, buffers| {
            let sent = of(source(rank, ranks));
            buffers.y.iter_mut().zip(sent).take(COUNT).for_each(|(y, x)| *y = x + 1);
            buffers.signals[2] = signal;
        });
    }
    let body = "shm.ulong_put_signal(y, x, 4, flags, number, shm.ROCSHMEM_SIGNAL_ADD, peer)\n\
                shm.uint64_wait_until_equals(flags, 3)\nshm.sync_all_block()";
    check(body, |rank, ranks, buffers| {
        buffers.y[..8].copy_from_slice(&of(source(rank, ranks))[..8]);
        buffers.signals[0] = 3;
    });
}

#[test]
fn single_numbers_are_put() {
    check("shm.int_p(y + 3, me * 10 - 1, peer)\nshm.barrier_all_block()", |rank, ranks, buffers| {
        buffers.y[3] = source(rank, ranks) as i32 * 10 - 1;
    });
}

#[test]
fn signals_set_add_and_are_compared() {
    let body = "shm.signal_op(flags, 7, shm.NVSHMEM_SIGNAL_SET, peer)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_GT, 6)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_GE, 7)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_NE, 0)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_LT, 8)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_LE, 7)\n\
                for pe in range(n):\n    shm.signal_op(flags + 1, number + me, shm.NVSHMEM_SIGNAL_ADD, pe)\n\
                shm.signal_wait_until(flags + 1, shm.NVSHMEM_CMP_EQ, n * 3 + n * (n - 1) // 2)\n\
                shm.fence()\n\
                shm.barrier_all_block()\n\
                shm.signal_op(flags + 2, -1, shm.NVSHMEM_SIGNAL_ADD, me)\n\
                shm.signal_wait_until(flags + 2, shm.NVSHMEM_CMP_GT, 1 << 40)";
    check(body, |_, ranks, buffers| {
        buffers.signals[0] = 7;
        buffers.signals[1] = (ranks * 3 + ranks * (ranks - 1) / 2) as i64;
        buffers.signals[2] = -1;
    });
}

#[test]
fn remote_pointers_are_those_of_the_peer() {
    let body = "tl.store(shm.remote_ptr(y, peer) + 4, me + 1)\nshm.barrier_all_warp()";
    check(body, |rank, ranks, buffers| buffers.y[4] = source(rank, ranks) as i32 + 1);
}

#[test]
fn teams_are_counted_and_translated() {
    let body = "tl.store(y, shm.my_pe())\n\
                tl.store(y + 1, shm.n_pes())\n\
                tl.store(y + 2, shm.team_my_pe(shm.NVSHMEM_TEAM_WORLD))\n\
                tl.store(y + 3, shm.team_n_pes(shm.NVSHMEM_TEAM_WORLD))\n\
                tl.store(y + 4, shm.team_my_pe(shm.NVSHMEMX_TEAM_NODE))\n\
                tl.store(y + 5, shm.team_n_pes(shm.NVSHMEM_TEAM_SHARED))\n\
                tl.store(y + 6, shm.team_n_pes(shm.NVSHMEMX_TEAM_SAME_MYPE_NODE))\n\
                tl.store(y + 7, shm.team_translate_pe(shm.NVSHMEMX_TEAM_NODE, peer, shm.NVSHMEM_TEAM_WORLD))\n\
                tl.store(y + 8, shm.team_my_pe(shm.NVSHMEM_TEAM_INVALID))\n\
                tl.store(y + 9, shm.team_n_pes(shm.NVSHMEM_TEAM_INVALID))";
    check(body, |rank, ranks, buffers| {
        let (me, n) = (rank as i32, ranks as i32);
        buffers.y[..10].copy_from_slice(&[me, n, me, n, me, n, 1, (me + 1) % n, -1, -1]);
    });
}

#[test]
fn broadcasts_reach_everybody() {
    for (name, count) in [
        ("broadcast", COUNT),
        ("broadcast_block", COUNT),
        ("broadcast_warp", COUNT),
        ("broadcastmem", 4 * COUNT),
        ("broadcastmem_block", 4 * COUNT),
        ("broadcastmem_warp", 4 * COUNT),
    ] {
        let body = format!("shm.{name}(shm.NVSHMEM_TEAM_WORLD, y, x, {count}, n - 1)");
        check(&body, |_, ranks, buffers| buffers.y[..COUNT].copy_from_slice(&of(ranks - 1)[..COUNT]));
    }
}

#[test]
fn collects_put_the_members_one_behind_the_other() {
    const EACH: usize = 5;
    for (name, count) in [
        ("fcollect", EACH),
        ("fcollect_block", EACH),
        ("fcollect_warp", EACH),
        ("fcollectmem", 4 * EACH),
        ("fcollectmem_block", 4 * EACH),
        ("fcollectmem_warp", 4 * EACH),
    ] {
        let body = format!("shm.{name}(shm.NVSHMEM_TEAM_WORLD, y, x + 1, {count})");
        check(&body, |_, ranks, buffers| {
            for rank in 0..ranks {
                buffers.y[rank * EACH..(rank + 1) * EACH].copy_from_slice(&of(rank)[1..1 + EACH]);
            }
        });
    }
    const { assert!(4 * EACH <= N) };
}
