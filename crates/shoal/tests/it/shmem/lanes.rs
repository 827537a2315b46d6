//! Code for single threads: each lane acts for itself, each warp once.

use super::harness::{Buffers, check, source};

#[test]
fn each_lane_signals_and_waits_for_a_rank() {
    let body = "t = tid(0)\n\
                if t < n:\n    \
                    shm.signal_op(flags + me, number + me, shm.NVSHMEM_SIGNAL_SET, t)\n\
                if t < n:\n    \
                    shm.signal_wait_until(flags + t, shm.NVSHMEM_CMP_EQ, number + t)\n\
                __syncthreads()\n\
                shm.barrier_all_block()";
    check(body, |_, ranks, buffers| {
        buffers.signals.iter_mut().zip(3..).take(ranks).for_each(|(signal, value)| *signal = value);
    });
}

#[test]
fn each_lane_puts_for_itself() {
    let body = "t = tid(0)\n\
                if t < n:\n    \
                    shm.int_p(y + me, t * 10 + me, t)\n    \
                    shm.putmem(y + 4 + me, x + t, 4, t)\n\
                shm.barrier_all_block()";
    check(body, |rank, ranks, buffers| {
        for other in 0..ranks {
            buffers.y[other] = (rank * 10 + other) as i32;
            buffers.y[4 + other] = Buffers::of_rank(other).x[rank];
        }
    });
}

#[test]
fn one_lane_adds_once_and_a_warp_adds_once() {
    let body = "t = tid(0)\n\
                if t == 5:\n    \
                    shm.fence()\n    \
                    shm.signal_op(flags, 1, shm.NVSHMEM_SIGNAL_ADD, peer)\n\
                warp = t // 32\n\
                if warp < n:\n    \
                    shm.putmem_signal_warp(y + me, x + warp, 4, flags + 1, 1, shm.NVSHMEM_SIGNAL_ADD, warp)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_GE, 1)\n\
                shm.signal_wait_until(flags + 1, shm.NVSHMEM_CMP_EQ, n)\n\
                if t == 0:\n    \
                    shm.barrier_all()\n\
                __syncthreads()";
    check(body, |rank, ranks, buffers| {
        buffers.signals[..2].copy_from_slice(&[1, ranks as i64]);
        for other in 0..ranks {
            buffers.y[other] = Buffers::of_rank(other).x[rank];
        }
    });
}

#[test]
fn lanes_reach_ranks_by_pointers() {
    let body = "t = tid(0)\n\
                if t < n:\n    \
                    st(shm.remote_ptr(y + me, t), me + 1, scope=\"sys\", semantic=\"relaxed\")\n    \
                    st(dl.symm_at(y + 4 + me, t), me + 2, scope=\"sys\", semantic=\"relaxed\")\n\
                shm.barrier_all_block()\n\
                if t == 0:\n    \
                    shm.putmem_signal(y + 8, x, 4, flags, 9, shm.NVSHMEM_SIGNAL_SET, peer)\n\
                shm.signal_wait_until(flags, shm.NVSHMEM_CMP_EQ, 9)\n\
                shm.barrier_all_block()";
    check(body, |rank, ranks, buffers| {
        for other in 0..ranks {
            buffers.y[other] = other as i32 + 1;
            buffers.y[4 + other] = other as i32 + 2;
        }
        buffers.y[8] = Buffers::of_rank(source(rank, ranks)).x[0];
        buffers.signals[0] = 9;
    });
}
