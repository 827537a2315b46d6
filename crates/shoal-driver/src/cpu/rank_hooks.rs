//! The hooks of operations between ranks; [`Hook`](shoal_abi::Hook) specifies them.

use super::{context::ProgramContext, hooks::fail};
use crate::rank_view::RankView;
use shoal_abi::team::OUTSIDE_OF_A_WORLD;
use shoal_abi::{AxisPosition, Reach, Site};

/// This rank's number.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `site` is null or valid for the life of the code.
pub(crate) unsafe extern "C" fn shoal_rank(ctx: *mut ProgramContext, site: *const Site, axis: i32) -> i32 {
    // SAFETY: the contract of `count`.
    unsafe { count(ctx, site, axis, |view| view.rank(), |along| along.position) }
}

/// The number of ranks.
///
/// # Safety
///
/// As [`shoal_rank`].
pub(crate) unsafe extern "C" fn shoal_num_ranks(ctx: *mut ProgramContext, site: *const Site, axis: i32) -> i32 {
    // SAFETY: the contract of `count`.
    unsafe { count(ctx, site, axis, |view| view.topology().size(), |along| along.size) }
}

/// The same place as another rank has it.
///
/// # Safety
///
/// As [`shoal_rank`].
pub(crate) unsafe extern "C" fn shoal_symm_at(
    ctx: *mut ProgramContext,
    site: *const Site,
    address: u64,
    rank: i32,
    reach: u32,
) -> u64 {
    // SAFETY: by contract.
    let view = unsafe { view(ctx, site) };
    let address = address as usize;
    let place = match Reach::from_number(reach) {
        Some(Reach::OwnRank) => view.own(address, rank),
        Some(Reach::AnyRank) | None => view.symmetric(address, rank),
    };
    // SAFETY: by contract.
    unsafe { or_fail(ctx, site, place) as u64 }
}

/// A number of the world, or along an axis of its mesh if that is not negative.
///
/// # Safety
///
/// As [`shoal_rank`].
unsafe fn count(
    ctx: *mut ProgramContext,
    site: *const Site,
    axis: i32,
    of_world: impl Fn(&RankView) -> u32,
    of_axis: impl Fn(AxisPosition) -> u32,
) -> i32 {
    // SAFETY: by contract.
    let view = unsafe { view(ctx, site) };
    let number = match u32::try_from(axis) {
        Ok(axis) => view.topology().axis(axis).map(of_axis),
        Err(_) => Ok(of_world(view)),
    };
    // SAFETY: by contract. There are no more ranks than fit.
    unsafe { or_fail(ctx, site, number) }.cast_signed()
}

/// What there is; the program fails where there is nothing.
///
/// # Safety
///
/// As [`shoal_rank`]; no value on this stack above the generated code needs dropping.
pub(super) unsafe fn or_fail<T: Copy>(ctx: *mut ProgramContext, site: *const Site, found: Result<T, String>) -> T {
    match found {
        Ok(found) => found,
        // SAFETY: by contract; the message is handed over.
        Err(message) => unsafe { fail(ctx, site, message) },
    }
}

/// The launch's view of the world; fails if it has none.
///
/// # Safety
///
/// As [`shoal_rank`].
pub(super) unsafe fn view<'a>(ctx: *mut ProgramContext, site: *const Site) -> &'a RankView {
    // SAFETY: by contract.
    match unsafe { ProgramContext::launch(ctx) }.ranks() {
        Some(view) => view,
        None => {
            // SAFETY: by contract; the message is handed over.
            unsafe { fail(ctx, site, OUTSIDE_OF_A_WORLD.to_owned()) }
        }
    }
}
