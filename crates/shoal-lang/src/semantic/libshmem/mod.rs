//! The names of `libshmem_device`, in terms of the IR's SHMEM operations.
//!
//! A name says who acts and when it returns: `_block` and `_wg` are the program, `_warp` and `_wave` a warp, nothing is one
//! thread; `_nbi` only issues a copy. Called outside of code for single threads, each is done once by the program.
//! Signals are unsigned words of 64 bits.

mod act;
mod constants;
mod copies;
mod signals;
mod symbols;
mod teams;

use crate::builtin::Builtin;

pub(crate) use constants::{constant, names as constant_names};
pub(crate) use symbols::{call_symbol, of_symbol};

use copies::{run_copy, run_put_signal, run_put_signal_elements, run_put_value, run_remote_ptr};
use signals::{run_fence, run_quiet, run_signal, run_wait, run_wait_equal};
use teams::{
    run_all_meet, run_broadcast, run_broadcast_bytes, run_collect, run_collect_bytes, run_context, run_count,
    run_multicast, run_team_count, run_team_meet, run_translate,
};

const COPY: &str = "dest, source, bytes, pe";
const PUT_SIGNAL: &str = "dest, source, bytes, sig_addr, signal, sig_op: const, pe";
const BROADCAST: &str = "team, dest, source, nelems, pe_root";
const COLLECT: &str = "team, dest, source, nelems";

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("libshmem_device.my_pe", "", run_count),
    Builtin::kernel("libshmem_device.n_pes", "", run_count),
    Builtin::kernel("libshmem_device.team_my_pe", "team", run_team_count),
    Builtin::kernel("libshmem_device.team_n_pes", "team", run_team_count),
    Builtin::kernel("libshmem_device.team_translate_pe", "src_team, pe, dest_team", run_translate),
    Builtin::kernel("libshmem_device.remote_ptr", "local_ptr, pe", run_remote_ptr),
    Builtin::kernel("libshmem_device.remote_mc_ptr", "team, ptr", run_multicast),
    Builtin::kernel("libshmem_device.set_rocshmem_ctx", "ctx", run_context),
    Builtin::kernel("libshmem_device.barrier_all", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier_all_block", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier_all_warp", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier_all_vec", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier_all_wave", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier_all_wg", "", run_all_meet),
    Builtin::kernel("libshmem_device.sync_all", "", run_all_meet),
    Builtin::kernel("libshmem_device.sync_all_block", "", run_all_meet),
    Builtin::kernel("libshmem_device.sync_all_warp", "", run_all_meet),
    Builtin::kernel("libshmem_device.barrier", "team", run_team_meet),
    Builtin::kernel("libshmem_device.barrier_block", "team", run_team_meet),
    Builtin::kernel("libshmem_device.barrier_warp", "team", run_team_meet),
    Builtin::kernel("libshmem_device.sync", "team", run_team_meet),
    Builtin::kernel("libshmem_device.team_sync_block", "team", run_team_meet),
    Builtin::kernel("libshmem_device.team_sync_warp", "team", run_team_meet),
    Builtin::kernel("libshmem_device.quiet", "", run_quiet),
    Builtin::kernel("libshmem_device.quiet_pe", "pe", run_quiet),
    Builtin::kernel("libshmem_device.fence", "", run_fence),
    Builtin::kernel("libshmem_device.getmem", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_wave", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_wg", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_nbi", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_nbi_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_nbi_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_nbi_wave", COPY, run_copy),
    Builtin::kernel("libshmem_device.getmem_nbi_wg", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_wave", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_wg", COPY, run_copy),
    // The queue pair is a matter of the network.
    Builtin::kernel("libshmem_device.putmem_nbi", "dest, source, bytes, pe, qp_id=0", run_copy),
    Builtin::kernel("libshmem_device.putmem_nbi_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_nbi_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_nbi_wave", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_nbi_wg", COPY, run_copy),
    // These go through the network even where a store would do; the outcome is the same.
    Builtin::kernel("libshmem_device.putmem_rma", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_rma_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_rma_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_rma_nbi", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_rma_nbi_block", COPY, run_copy),
    Builtin::kernel("libshmem_device.putmem_rma_nbi_warp", COPY, run_copy),
    Builtin::kernel("libshmem_device.int_p", "dest, value, pe", run_put_value),
    Builtin::kernel("libshmem_device.putmem_signal", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_block", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_warp", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_wave", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_wg", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_nbi", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_nbi_block", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_nbi_warp", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_nbi_wave", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_nbi_wg", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma_block", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma_warp", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma_nbi", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma_nbi_block", PUT_SIGNAL, run_put_signal),
    Builtin::kernel("libshmem_device.putmem_signal_rma_nbi_warp", PUT_SIGNAL, run_put_signal),
    Builtin::kernel(
        "libshmem_device.ulong_put_signal",
        "dest, source, nelems, sig_addr, signal, sig_op: const, pe",
        run_put_signal_elements,
    ),
    Builtin::kernel("libshmem_device.signal_op", "sig_addr, signal, sig_op: const, pe", run_signal),
    Builtin::kernel("libshmem_device.signal_wait_until", "sig_addr, cmp_: const, cmp_val", run_wait),
    Builtin::kernel("libshmem_device.uint64_wait_until_equals", "sig_addr, cmp_val", run_wait_equal),
    Builtin::kernel("libshmem_device.broadcast", BROADCAST, run_broadcast),
    Builtin::kernel("libshmem_device.broadcast_block", BROADCAST, run_broadcast),
    Builtin::kernel("libshmem_device.broadcast_warp", BROADCAST, run_broadcast),
    Builtin::kernel("libshmem_device.broadcastmem", BROADCAST, run_broadcast_bytes),
    Builtin::kernel("libshmem_device.broadcastmem_block", BROADCAST, run_broadcast_bytes),
    Builtin::kernel("libshmem_device.broadcastmem_warp", BROADCAST, run_broadcast_bytes),
    Builtin::kernel("libshmem_device.fcollect", COLLECT, run_collect),
    Builtin::kernel("libshmem_device.fcollect_block", COLLECT, run_collect),
    Builtin::kernel("libshmem_device.fcollect_warp", COLLECT, run_collect),
    Builtin::kernel("libshmem_device.fcollectmem", COLLECT, run_collect_bytes),
    Builtin::kernel("libshmem_device.fcollectmem_block", COLLECT, run_collect_bytes),
    Builtin::kernel("libshmem_device.fcollectmem_warp", COLLECT, run_collect_bytes),
];
