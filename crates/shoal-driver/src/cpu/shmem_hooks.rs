//! The hooks of SHMEM operations; [`Hook`](shoal_abi::Hook) specifies them.
//!
//! Where loads and stores reach a rank's memory, the calling program copies, and a copy is delivered when it returns;
//! signals and meetings of teams order it for others. Elsewhere the world's [`Transport`] does it.

use super::{
    context::ProgramContext,
    fiber,
    hooks::suspend_for,
    rank_hooks::{or_fail, view},
    wait::Wait,
};
use crate::{
    last_writer::{Change, remember},
    rank_view::{Place, RankView},
    transport::Transport,
};
use core::{
    ptr,
    sync::atomic::{AtomicU64, Ordering, fence},
};
use shoal_abi::{SignalChange, Site, WaitCondition, coordinates, print::PrintKind, team::sync_words};

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
        let view = view(ctx, site);
        match or_fail(ctx, site, range(view, target, bytes, rank)) {
            Place::Here(place) => copy(place, source as usize, bytes),
            Place::There { rank, offset } => {
                let source = ptr::with_exposed_provenance(source as usize);
                carry(ctx, view, |transport| transport.put(rank, offset, source, bytes as usize));
            }
        }
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
        let view = view(ctx, site);
        fetch(ctx, view, or_fail(ctx, site, range(view, source, bytes, rank)), target as usize, bytes);
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
            fetch(ctx, view, place, target, bytes);
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
        let view = view(ctx, site);
        let place = or_fail(ctx, site, signal_word(view, address, rank));
        let change = SignalChange::from_number(change).unwrap_or(SignalChange::Set);
        change_word(ctx, view, place, signal, change);
        if let Place::Here(at) = place {
            let program = coordinates((*ctx).shared.program, (*ctx).shared.grid);
            remember(view, (rank.cast_unsigned() as usize, at), program, site, Change::of_signal(change, signal));
        }
    }
}

/// Changes a word of a rank's heap when all that the program did before has happened, at whatever rank.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_notify(
    ctx: *mut ProgramContext,
    site: *const Site,
    address: u64,
    signal: u64,
    change: u32,
    rank: i32,
) {
    // SAFETY: by contract, which is that of a signal.
    unsafe {
        if let Some(view) = ProgramContext::launch(ctx).ranks() {
            carry(ctx, view, |transport| transport.quiet());
        }
        shoal_signal(ctx, site, address, signal, change, rank);
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
        let place = or_fail(ctx, site, own_signal_word(view, address));
        let condition = WaitCondition::from_number(condition).unwrap_or(WaitCondition::Equal);
        await_word(ctx, site, place, expected, condition);
    }
}

/// What was put before is delivered before what is put later.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_fence(ctx: *mut ProgramContext) {
    fence(Ordering::SeqCst);
    // SAFETY: by contract.
    if let Some(view) = unsafe { ProgramContext::launch(ctx) }.ranks() {
        // SAFETY: by contract.
        unsafe { carry(ctx, view, |transport| transport.fence()) };
    }
}

/// What was put or asked for is delivered.
///
/// # Safety
///
/// As [`shoal_team_rank`].
pub(crate) unsafe extern "C" fn shoal_quiet(ctx: *mut ProgramContext) {
    fence(Ordering::SeqCst);
    // SAFETY: by contract.
    if let Some(view) = unsafe { ProgramContext::launch(ctx) }.ranks() {
        // SAFETY: by contract.
        unsafe { carry(ctx, view, |transport| transport.quiet()) };
    }
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
        let own = |word: usize| or_fail(ctx, site, view.own_sync_word(team, word));
        let busy = word(own(sync_words::BUSY));
        or_fail(ctx, site, come(busy, view.rank(), team));
        let count = word(own(sync_words::COUNT)).fetch_add(1, Ordering::Relaxed) + 1;
        for k in 0.. {
            let Some(round) = or_fail(ctx, site, view.topology().round(team, k)) else { break };
            // Whoever hears of this has heard of all that this program did, and of what it has heard of.
            let told = or_fail(ctx, site, view.sync_word(round.tell, team, round.word));
            change_word(ctx, view, told, count, SignalChange::Set);
            await_word(ctx, site, own(round.word), count, WaitCondition::GreaterEqual);
        }
        busy.store(0, Ordering::Release);
    }
}

/// Has the transport do something, if there is one.
///
/// # Safety
///
/// As [`shoal_team_rank`]; `work` does not suspend the program.
unsafe fn carry(ctx: *mut ProgramContext, view: &RankView, work: impl FnOnce(&dyn Transport)) {
    if let Some(transport) = view.transport() {
        // SAFETY: by contract.
        unsafe { fiber::on_thread_stack(ctx, || work(transport)) };
    }
}

/// Copies from a place of a rank's heap.
///
/// # Safety
///
/// As [`shoal_team_rank`]; the place was found in the view, and `bytes` bytes at `target` can be written.
unsafe fn fetch(ctx: *mut ProgramContext, view: &RankView, place: Place, target: usize, bytes: u64) {
    // SAFETY: by contract; what was found lies in a heap, which is mapped as long as the launch.
    unsafe {
        match place {
            Place::Here(source) => copy(target, source, bytes),
            Place::There { rank, offset } => {
                let target = ptr::with_exposed_provenance_mut(target);
                carry(ctx, view, |transport| transport.get(rank, offset, target, bytes as usize));
            }
        }
    }
}

/// Changes a word of a rank's heap, after what the program did there before.
///
/// # Safety
///
/// As [`shoal_team_rank`]; the place is an aligned word of a heap, which is only accessed atomically.
unsafe fn change_word(ctx: *mut ProgramContext, view: &RankView, place: Place, signal: u64, change: SignalChange) {
    // SAFETY: by contract.
    unsafe {
        match (place, change) {
            (Place::Here(at), SignalChange::Add) => drop(word(at).fetch_add(signal, Ordering::AcqRel)),
            (Place::Here(at), SignalChange::Set) => word(at).store(signal, Ordering::Release),
            (Place::There { rank, offset }, _) => {
                carry(ctx, view, |transport| transport.signal(rank, offset, signal, change));
            }
        }
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
                (*ctx).shared.passed += 1;
                return;
            }
            let address = ptr::with_exposed_provenance(place);
            let kind = PrintKind::U64.number();
            suspend_for(ctx, Wait::for_value(site, address, expected, kind, condition.number()));
        }
    }
}

/// Bytes of another rank's heap, or why there are none.
fn range(view: &RankView, address: u64, bytes: u64, rank: i32) -> Result<Place, String> {
    match usize::try_from(bytes).ok().filter(|&bytes| isize::try_from(bytes).is_ok()) {
        Some(bytes) => view.named_range(address as usize, bytes, rank),
        None => Err(format!("{} bytes cannot be copied", bytes.cast_signed())),
    }
}

/// A word of a rank's heap, or why there is none.
fn signal_word(view: &RankView, address: u64, rank: i32) -> Result<Place, String> {
    let place = view.named_range(address as usize, size_of::<u64>(), rank)?;
    match address.is_multiple_of(align_of::<AtomicU64>() as u64) {
        true => Ok(place),
        false => Err(format!("the signal at {address:#x} is not at a multiple of 8")),
    }
}

/// A word of this rank's own heap, or why there is none.
fn own_signal_word(view: &RankView, address: u64) -> Result<usize, String> {
    signal_word(view, address, view.rank().cast_signed()).map(|_| address as usize)
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
