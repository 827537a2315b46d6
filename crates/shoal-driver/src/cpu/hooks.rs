//! The functions that generated code calls by name; [`Hook`](shoal_abi::Hook) specifies them.
//!
//! No panic leaves a hook: what user code in a print sink throws becomes the launch's failure.
//!
//! A fiber may continue on another thread after it was suspended. So nothing here that suspends touches
//! thread-local state, and functions that do stay out of line, where no address of such state can be kept across a
//! suspension.

use super::{
    context::{Course, ProgramContext},
    fiber::{self, Suspend},
    launch_state::{End, Role},
    wait::Wait,
};
use crate::{
    error::Failure,
    rank_view::RankView,
    source_site::{SourceSite, text},
};
use core::{panic::AssertUnwindSafe, slice};
use shoal_abi::{
    Site, coordinates,
    print::{PrintFlags, PrintKind, Printed, render_text},
};
use std::{panic::catch_unwind, process, time::Instant};

/// Scheduling point of a spin loop.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `site` is null or valid for the life of the code.
pub(crate) unsafe extern "C" fn shoal_yield(ctx: *mut ProgramContext, site: *const Site) {
    // SAFETY: the contract of `suspend_for`.
    unsafe { suspend_for(ctx, Wait::at(site)) }
}

/// Scheduling point of a program that watches a number in memory.
///
/// # Safety
///
/// As [`shoal_yield`]; `address` stays readable as long as the launch.
pub(crate) unsafe extern "C" fn shoal_wait(
    ctx: *mut ProgramContext,
    site: *const Site,
    address: *const u8,
    expected: u64,
    kind: u32,
    condition: u32,
) {
    // SAFETY: the contract of `suspend_for`.
    unsafe { suspend_for(ctx, Wait::for_value(site, address, expected, kind, condition)) }
}

/// Lets other programs run.
///
/// # Safety
///
/// `ctx` is the context the calling program was given.
pub(super) unsafe fn suspend_for(ctx: *mut ProgramContext, wait: Wait) {
    // SAFETY: by contract only this program uses its context now.
    let on_fiber = unsafe {
        if let Some(transport) = ProgramContext::launch(ctx).ranks().and_then(RankView::transport) {
            fiber::on_thread_stack(ctx, || transport.progress());
        }
        (*ctx).course = match () {
            () if (*ctx).passed != (*ctx).shared.passed => Course::Moved,
            () if wait.counts_looks() => Course::Stepped,
            () => Course::InVain,
        };
        ((*ctx).passed, (*ctx).wait) = ((*ctx).shared.passed, wait);
        (*ctx).waited = true;
        fiber::suspend(ctx, Suspend::Wait)
    };
    if !on_fiber {
        std::thread::yield_now();
    }
}

/// Gives a program more fuel; says whether it is to end instead (not 0).
///
/// # Safety
///
/// `ctx` is the context the calling program was given.
pub(crate) unsafe extern "C" fn shoal_check_stop(ctx: *mut ProgramContext) -> i32 {
    // SAFETY: by contract only this program uses its context now.
    let (launch, role, refills) = unsafe { (ProgramContext::launch(ctx), (*ctx).role, (*ctx).refills) };
    let now = Instant::now();
    if role == Role::Owner && launch.host_poll_is_due(now) {
        // SAFETY: by contract; polling suspends nothing.
        unsafe { fiber::on_thread_stack(ctx, || launch.poll_host(now)) };
    }
    let ending = launch.is_ending();
    let refills = refills.next(now);
    // SAFETY: as above. Without fuel, the end of every further round comes here again.
    unsafe {
        (*ctx).refills = refills;
        (*ctx).shared.fuel = if ending { 0 } else { refills.amount() };
    }
    i32::from(ending)
}

/// Monotonic nanoseconds since some moment.
pub(crate) extern "C" fn shoal_clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Where the words are that the launch's programs share.
///
/// # Safety
///
/// `ctx` is the context the calling program was given.
pub(crate) unsafe extern "C" fn shoal_grid_words(ctx: *mut ProgramContext) -> u64 {
    // SAFETY: by contract; the launch, and its words with it, outlives its programs.
    let words = unsafe { ProgramContext::launch(ctx) }.grid_words();
    words.as_ptr().expose_provenance() as u64
}

/// Ends the launch with a failure of the calling program.
///
/// # Safety
///
/// `ctx` is the context the calling program was given, `site` null or valid, `message` null or `len` readable bytes.
pub(crate) unsafe extern "C" fn shoal_fail(
    ctx: *mut ProgramContext,
    site: *const Site,
    message: *const u8,
    len: u64,
) -> ! {
    // SAFETY: by contract. Everything allocated in `record` is owned by the launch when it returns, so nothing on
    // this stack needs dropping when it is abandoned.
    unsafe { fail(ctx, site, text(message, len)) }
}

/// Ends the launch with a failure of the calling program.
///
/// # Safety
///
/// As [`shoal_fail`]; no value on this stack above the generated code needs dropping.
pub(crate) unsafe fn fail(ctx: *mut ProgramContext, site: *const Site, message: String) -> ! {
    // SAFETY: by contract. The message is owned by the launch when `record` returns.
    unsafe {
        record(ctx, site, message);
        fiber::suspend(ctx, Suspend::Failed);
    }
    // Not on a fiber: there is no way to leave the generated code, and none to go on in it.
    let failure = "a kernel that was described as unable to fail has failed; the process cannot continue";
    eprintln!("shoal: {failure}");
    process::abort()
}

/// Keeps why the launch ends.
///
/// # Safety
///
/// As [`shoal_fail`].
#[inline(never)]
unsafe fn record(ctx: *mut ProgramContext, site: *const Site, message: String) {
    // SAFETY: the contract of `shoal_fail`.
    unsafe {
        let program = coordinates((*ctx).shared.program, (*ctx).shared.grid);
        let failure = Failure { program, site: SourceSite::read(site), message, report: None };
        ProgramContext::launch(ctx).end(End::Failed(failure));
    }
}

/// Prints one operand of a `device_print`.
///
/// # Safety
///
/// `ctx` and `site` as in [`shoal_fail`]; `prefix`, `shape` and `data` are readable as [`Hook::PrintValue`](shoal_abi::Hook::PrintValue) says.
#[allow(clippy::too_many_arguments, reason = "the binary interface is flat")]
pub(crate) unsafe extern "C" fn shoal_print_value(
    ctx: *mut ProgramContext,
    site: *const Site,
    prefix: *const u8,
    prefix_len: u64,
    kind: u32,
    flags: u32,
    data: *const u8,
    rank: u32,
    shape: *const u32,
) {
    // SAFETY: by contract; a rank-0 operand has one element and needs no shape.
    unsafe {
        let shape: &[u32] = if rank == 0 { &[] } else { slice::from_raw_parts(shape, rank as usize) };
        let count: usize = shape.iter().map(|&extent| extent as usize).product();
        let program = coordinates((*ctx).shared.program, (*ctx).shared.grid);
        deliver(ctx, site, move || {
            let kind = PrintKind::from_number(kind)?;
            let elements = slice::from_raw_parts(data, count * kind.size()).chunks_exact(kind.size());
            let (prefix, flags) = (text(prefix, prefix_len), PrintFlags::from_bits(flags));
            Some(Printed { program, prefix: &prefix, kind, flags, shape }.render(elements.map(bits)))
        });
    }
}

/// The bits of an element in memory.
fn bits(element: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..element.len()].copy_from_slice(element);
    u64::from_le_bytes(bytes)
}

/// Prints the text of a `device_print` without operands.
///
/// # Safety
///
/// As [`shoal_fail`].
pub(crate) unsafe extern "C" fn shoal_print_text(
    ctx: *mut ProgramContext,
    site: *const Site,
    data: *const u8,
    len: u64,
) {
    // SAFETY: by contract.
    unsafe {
        let program = coordinates((*ctx).shared.program, (*ctx).shared.grid);
        deliver(ctx, site, move || Some(render_text(program, &text(data, len))));
    }
}

/// Sends what `render` makes to the sink, away from the fiber's small stack. A panic becomes a failure.
///
/// # Safety
///
/// `ctx` and `site` as in [`shoal_fail`].
#[inline(never)]
unsafe fn deliver(ctx: *mut ProgramContext, site: *const Site, render: impl FnOnce() -> Option<String>) {
    // SAFETY: by contract.
    let launch = unsafe { ProgramContext::launch(ctx) };
    let panicked = || {
        let deliver = || render().map(|text| launch.sink().write(&text));
        catch_unwind(AssertUnwindSafe(deliver)).is_err()
    };
    // SAFETY: by contract.
    if unsafe { fiber::on_thread_stack(ctx, panicked) } {
        let message = "the print sink panicked".to_owned();
        // SAFETY: by contract; the message is handed over.
        unsafe {
            record(ctx, site, message);
            // Off a fiber the program goes on; its launch fails all the same.
            fiber::suspend(ctx, Suspend::Failed);
        }
    }
}
