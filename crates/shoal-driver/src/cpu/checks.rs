//! The hooks of code that checks its accesses; [`Hook`](shoal_abi::Hook) specifies them.

use super::{bounds::Bounds, context::ProgramContext, hooks::fail};
use crate::last_writer::{Change, remember};
use core::slice;
use shoal_abi::{AccessKind, CheckedAccess, coordinates};

/// Checks the addresses `first + i * step` for each bit `i` of `mask`.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `access` is valid for the life of the code.
pub(crate) unsafe extern "C" fn shoal_check_range(
    ctx: *mut ProgramContext,
    access: *const CheckedAccess,
    first: u64,
    step: i64,
    mask: u64,
) {
    // SAFETY: by contract.
    let (launch, access) = unsafe { (ProgramContext::launch(ctx), &*access) };
    let Some(bounds) = launch.bounds() else { return };
    if mask == 0 {
        return;
    }
    let at = |lane: u32| first.wrapping_add_signed(step.wrapping_mul(i64::from(lane)));
    let (a, b) = (at(mask.trailing_zeros()), at(63 - mask.leading_zeros()));
    let bytes = u64::from(access.bytes);
    let aligned = (first | step.cast_unsigned()).is_multiple_of(bytes);
    // What lies between two addresses of one argument lies in it, too.
    if !aligned || !bounds.allow(access, a.min(b), a.max(b).saturating_add(bytes)) {
        // SAFETY: by contract.
        unsafe { complain(ctx, bounds, access, lanes(mask).map(at)) };
    }
    // SAFETY: by contract.
    unsafe { remember_flags(ctx, access, mask, at) };
}

/// Checks the address of each lane whose bit in `mask` is set.
///
/// # Safety
///
/// As [`shoal_check_range`]; `addresses` points at one number for each lane up to the last in the mask.
pub(crate) unsafe extern "C" fn shoal_check_each(
    ctx: *mut ProgramContext,
    access: *const CheckedAccess,
    addresses: *const u64,
    mask: u64,
) {
    // SAFETY: by contract.
    let (launch, access) = unsafe { (ProgramContext::launch(ctx), &*access) };
    let Some(bounds) = launch.bounds() else { return };
    // SAFETY: by contract.
    let addresses = unsafe { slice::from_raw_parts(addresses, (64 - mask.leading_zeros()) as usize) };
    let bytes = u64::from(access.bytes);
    let fine =
        |address: u64| address.is_multiple_of(bytes) && bounds.allow(access, address, address.saturating_add(bytes));
    if !lanes(mask).all(|lane| fine(addresses[lane as usize])) {
        // SAFETY: by contract.
        unsafe { complain(ctx, bounds, access, lanes(mask).map(|lane| addresses[lane as usize])) };
    }
    // SAFETY: by contract.
    unsafe { remember_flags(ctx, access, mask, |lane| addresses[lane as usize]) };
}

/// Remembers who wrote words that others may wait for: single stores, and atomics on other ranks' memory. (On its own, a
/// program that waits by atomics would remember itself.)
///
/// # Safety
///
/// `ctx` is the context the calling program was given, `access` its access.
unsafe fn remember_flags(ctx: *mut ProgramContext, access: &CheckedAccess, mask: u64, at: impl Fn(u32) -> u64) {
    let change = match AccessKind::from_number(access.kind) {
        Some(AccessKind::Write) if mask.count_ones() == 1 => Change::Stored,
        Some(AccessKind::Atomic) => Change::Atomic,
        Some(AccessKind::Write | AccessKind::Read) | None => return,
    };
    // SAFETY: by contract.
    let Some(view) = (unsafe { ProgramContext::launch(ctx) }).ranks().filter(|_| matches!(access.bytes, 4 | 8)) else {
        return;
    };
    // SAFETY: by contract.
    let program = unsafe { coordinates((*ctx).shared.program, (*ctx).shared.grid) };
    for address in lanes(mask).map(|lane| at(lane) as usize) {
        let owner = view.owner_of(address);
        if let Some(owner) = owner.filter(|&owner| change == Change::Stored || owner != view.rank() as usize) {
            // SAFETY: heaps are mapped as long as the launch, and the site is the access's.
            unsafe { remember(view, (owner, address), program, &raw const access.site, change) };
        }
    }
}

fn lanes(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// Ends the launch, if one of the addresses is wrong.
///
/// # Safety
///
/// `ctx` is the context the calling program was given, `access` its access.
#[cold]
unsafe fn complain(
    ctx: *mut ProgramContext,
    bounds: &Bounds,
    access: &CheckedAccess,
    addresses: impl Iterator<Item = u64>,
) {
    if let Some(complaint) = bounds.complaint(access, addresses) {
        // SAFETY: the contract of the hooks; the message is handed over.
        unsafe { fail(ctx, &raw const access.site, complaint) };
    }
}
