//! The hooks of SHMEM operations; [`Hook`](shoal_abi::Hook) specifies them.
//!
//! A rank's memory is memory like any other here, so the calling program copies, and a copy is delivered when it
//! returns; signals and meetings of teams order it for others.

use super::{
    context::ProgramContext,
    hooks::suspend_for,
    rank_hooks::{or_fail, view},
    wait::Wait,
};
use crate::rank_view::RankView;
use core::{
    ptr,
    sync::atomic::{AtomicU64, Ordering, fence},
};
use shoal_abi::{SignalChange, Site, WaitCondition, print::PrintKind, team::sync_words};

/// This rank's place in a team.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `site` is null or valid for the life of the code.
pub(crate) unsafe extern "C" fn shoal_team_rank(ctx: *mut ProgramContext, site: *const Site, team: i32) -> i32 {
    // SAFETY: by contract.
    unsafe { or_fail(ctx, site, view(ctx, site).topology().team_rank(team)) }
}

/// The number of a team's members.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_team_size(ctx: *mut ProgramContext, site: *const Site, team: i32) -> i32 {
    // SAFETY: by contract.
    unsafe { or_fail(ctx, site, view(ctx, site).topology().team_size(team)) }
}

/// A member's place in another team.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_team_translate(
    ctx: *mut ProgramContext,
    site: *const Site,
    team: i32,
    member: i32,
    other: i32,
) -> i32 {
    // SAFETY: by contract.
    unsafe { or_fail(ctx, site, view(ctx, site).topology().translate(team, member, other)) }
}

/// Copies to another rank's heap.
///
/// # Safety
///
/// As [`shoal_team_rank`]; `bytes` bytes at `source` can be read.
pub(crate) unsafe extern "C" fn shoal_put(
    ctx: *mut ProgramContext,
    site: *const Site,
    target: u64,
    source: u64,
    bytes: u64,
    rank: i32,
) {
    // SAFETY: by contract; what is found lies in a heap, which is mapped as long as the launch.
    unsafe {
        let place = or_fail(ctx, site, range(view(ctx, site), target, bytes, rank));
        copy(place, source as usize, bytes);
    }
}

/// Copies from another rank's heap.
///
/// # Safety
///
/// As [`shoal_team_rank`]; `bytes` bytes at `target` can be written.
pub(crate) unsafe extern "C" fn shoal_get(
    ctx: *mut ProgramContext,
    site: *const Site,
    target: u64,
    source: u64,
    bytes: u64,
    rank: i32,
) {
    // SAFETY: by contract; what is found lies in a heap, which is mapped as long as the launch.
    unsafe {
        let place = or_fail(ctx, site, range(view(ctx, site), source, bytes, rank));
        copy(target as usize, place, bytes);
    }
}

/// Copies the same part of every member's heap.
///
/// # Safety
///
/// As [`shoal_team_rank`]; `bytes` bytes for each member at `target` can be written.
pub(crate) unsafe extern "C" fn shoal_collect(
    ctx: *mut ProgramContext,
    site: *const Site,
    team: i32,
    target: u64,
    source: u64,
    bytes: u64,
) {
    // SAFETY: by contract; what is found lies in a heap, which is mapped as long as the launch.
    unsafe {
        let view = view(ctx, site);
        let mut target = target as usize;
        for &member in or_fail(ctx, site, view.topology().members(team)) {
            let place = or_fail(ctx, site, range(view, source, bytes, member.cast_signed()));
            copy(target, place, bytes);
            target += bytes as usize;
        }
    }
}

/// Changes a word of another rank's heap, after all that the program did before.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_signal(
    ctx: *mut ProgramContext,
    site: *const Site,
    address: u64,
    signal: u64,
    change: u32,
    rank: i32,
) {
    // SAFETY: by contract; the word lies in a heap, is aligned and only accessed atomically.
    unsafe {
        let word = word(or_fail(ctx, site, signal_word(view(ctx, site), address, rank)));
        match SignalChange::from_number(change) {
            Some(SignalChange::Add) => drop(word.fetch_add(signal, Ordering::AcqRel)),
            Some(SignalChange::Set) | None => word.store(signal, Ordering::Release),
        }
    }
}

/// Waits until a word of this rank compares with a number.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_signal_wait(
    ctx: *mut ProgramContext,
    site: *const Site,
    address: u64,
    expected: u64,
    condition: u32,
) {
    // SAFETY: by contract; the word lies in a heap, is aligned and only accessed atomically.
    unsafe {
        let view = view(ctx, site);
        let place = or_fail(ctx, site, signal_word(view, address, view.rank().cast_signed()));
        let condition = WaitCondition::from_number(condition).unwrap_or(WaitCondition::Equal);
        await_word(ctx, site, place, expected, condition);
    }
}

/// What was put before is delivered before what is put later.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_fence(_ctx: *mut ProgramContext) {
    fence(Ordering::SeqCst);
}

/// What was put or asked for is delivered.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_quiet(_ctx: *mut ProgramContext) {
    fence(Ordering::SeqCst);
}

/// Waits until all members of a team have come.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_team_barrier(ctx: *mut ProgramContext, site: *const Site, team: i32) {
    // SAFETY: by contract; the words of teams lie in heaps, are aligned and only accessed atomically.
    unsafe {
        let view = view(ctx, site);
        if or_fail(ctx, site, view.topology().round(team, 0)).is_none() {
            return;
        }
        let at = |rank: u32, word: usize| or_fail(ctx, site, view.sync_word(rank, team, word));
        let own = view.rank();
        let busy = word(at(own, sync_words::BUSY));
        or_fail(ctx, site, come(busy, own, team));
        let count = word(at(own, sync_words::COUNT)).fetch_add(1, Ordering::Relaxed) + 1;
        for k in 0.. {
            let Some(round) = or_fail(ctx, site, view.topology().round(team, k)) else { break };
            // Whoever hears of this has heard of all that this program did, and of what it has heard of.
            word(at(round.tell, round.word)).store(count, Ordering::Release);
            await_word(ctx, site, at(own, round.word), count, WaitCondition::GreaterEqual);
        }
        busy.store(0, Ordering::Release);
    }
}

/// One program of a rank at a time can be in a meeting: two would take each other's signs.
fn come(busy: &AtomicU64, rank: u32, team: i32) -> Result<(), String> {
    match busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "two programs of rank {rank} are at meetings of team {team} at a time, or a launch was ended there; \
             let one program of each rank come"
        )),
    }
}

/// # Safety
///
/// As [`shoal_team_rank`]; the place is an aligned word of a heap, which is only accessed atomically.
unsafe fn await_word(
    ctx: *mut ProgramContext,
    site: *const Site,
    place: usize,
    expected: u64,
    condition: WaitCondition,
) {
    loop {
        // SAFETY: by contract. The program may go on on another thread after each wait.
        unsafe {
            if condition.holds(word(place).load(Ordering::Acquire), expected) {
                return;
            }
            let address = ptr::with_exposed_provenance(place);
            let kind = PrintKind::U64.number();
            suspend_for(ctx, Wait::for_value(site, address, expected, kind, condition.number()));
        }
    }
}

/// Bytes of another rank's heap, or why there are none.
fn range(view: &RankView, address: u64, bytes: u64, rank: i32) -> Result<usize, String> {
    match usize::try_from(bytes).ok().filter(|&bytes| isize::try_from(bytes).is_ok()) {
        Some(bytes) => view.symmetric_range(address as usize, bytes, rank),
        None => Err(format!("{} bytes cannot be copied", bytes.cast_signed())),
    }
}

/// A word of a rank's heap, or why there is none.
fn signal_word(view: &RankView, address: u64, rank: i32) -> Result<usize, String> {
    let place = view.symmetric_range(address as usize, size_of::<u64>(), rank)?;
    match place.is_multiple_of(align_of::<AtomicU64>()) {
        true => Ok(place),
        false => Err(format!("the signal at {address:#x} is not at a multiple of 8")),
    }
}

/// # Safety
///
/// The place is an aligned word of mapped memory, which is only accessed atomically.
unsafe fn word<'a>(place: usize) -> &'a AtomicU64 {
    // SAFETY: by contract.
    unsafe { AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(place)) }
}

/// # Safety
///
/// So many bytes can be read there and written here. They may overlap.
unsafe fn copy(target: usize, source: usize, bytes: u64) {
    let (source, target) = (ptr::with_exposed_provenance::<u8>(source), ptr::with_exposed_provenance_mut::<u8>(target));
    // SAFETY: by contract.
    unsafe { ptr::copy(source, target, bytes as usize) }
}
