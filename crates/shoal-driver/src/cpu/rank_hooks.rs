//! The hooks of operations between ranks; [`Hook`](shoal_abi::Hook) specifies them.

use super::{context::ProgramContext, hooks::fail};
use crate::rank_view::RankView;
use shoal_abi::{Reach, Site};

/// This rank's number.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `site` is null or valid for the life of the code.
pub(crate) unsafe extern "C" fn shoal_rank(ctx: *mut ProgramContext, site: *const Site, axis: i32) -> i32 {
    // SAFETY: the contract of `count`.
    unsafe { count(ctx, site, axis, |view| view.rank().cast_signed()) }
}

/// The number of ranks.
///
/// # Safety
///
/// As [`shoal_rank`].
pub(crate) unsafe extern "C" fn shoal_num_ranks(ctx: *mut ProgramContext, site: *const Site, axis: i32) -> i32 {
    // SAFETY: the contract of `count`. A view has no more ranks than fit.
    unsafe { count(ctx, site, axis, |view| i32::try_from(view.size()).unwrap_or(i32::MAX)) }
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
    match place {
        Ok(place) => place as u64,
        // SAFETY: by contract; the message is handed over.
        Err(message) => unsafe { fail(ctx, site, message) },
    }
}

/// # Safety
///
/// As [`shoal_rank`].
unsafe fn count(ctx: *mut ProgramContext, site: *const Site, axis: i32, of: impl Fn(&RankView) -> i32) -> i32 {
    // SAFETY: by contract.
    let view = unsafe { view(ctx, site) };
    if axis >= 0 {
        // SAFETY: by contract; the message is handed over.
        unsafe { fail(ctx, site, format!("this world has no mesh, so there is no axis {axis}")) };
    }
    of(view)
}

/// The launch's view of the world; fails if it has none.
///
/// # Safety
///
/// As [`shoal_rank`].
unsafe fn view<'a>(ctx: *mut ProgramContext, site: *const Site) -> &'a RankView {
    // SAFETY: by contract.
    match unsafe { ProgramContext::launch(ctx) }.ranks() {
        Some(view) => view,
        None => {
            let message = "this kernel asks for other ranks, but was launched outside of a world".to_owned();
            // SAFETY: by contract; the message is handed over.
            unsafe { fail(ctx, site, message) }
        }
    }
}
