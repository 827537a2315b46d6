//! The engine `openshmem`: ranks are processes that Open MPI's `oshrun` has started, on one host or on several. Its
//! library is loaded at run time.
//!
//! Every rank's block of the library's symmetric memory is a [board](board) followed by the segment that kernels see. A
//! rank writes other ranks' boards and polls its own, by stores where `shmem_ptr` finds their memory, and through the
//! library elsewhere ([`port`]). After the ranks have met, no collective of the library is called but the last: a wait
//! of ours has an end, and one of the library's has none.
//!
//! `oshrun` ends all ranks when one dies, and says which. A rank that exits without leaving the world tells the others
//! first.

mod board;
mod exchange;
mod exit;
mod library;
mod meeting;
pub(crate) mod membership;
mod os_signals;
mod port;
mod session;
mod static_data;

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use shoal_abi::team::sync_words;
use shoal_driver::Transport;

use super::{Call, Certainty, Engine, EngineKind, Route};
use crate::error::{Failure, WorldError};
use crate::giving_up::BETWEEN_LOOKS;
use crate::launcher;
use crate::options::WorldOptions;
use crate::team_register::handle_of;
use crate::vigil::Beat;
use board::{Board, RankState};
use membership::Membership;
use port::Port;

/// Finds the library, and says which; for `shoal doctor`.
pub fn find_library() -> Result<String, WorldError> {
    library::Library::load().map(|library| library.version())
}

/// One rank's view of a world of `oshrun`.
pub(crate) struct OpenShmemEngine(Arc<Shared>);

/// What the engine and the end of the process know of the world.
pub(crate) struct Shared {
    rank: usize,
    size: usize,
    port: Arc<Port>,
    board: Board,
    /// For each rank a number that those share which reach each other's memory by load and store.
    hosts: Vec<u32>,
    names: Vec<String>,
    symmetric: usize,
    pad: usize,
    timeout: Duration,
    /// Whether this rank has said what it was doing: the first thing counts.
    has_posted_report: AtomicBool,
    /// One thread of this rank at a time ends the world.
    ending: Mutex<()>,
    /// What ended the world, as this rank says for itself: who finds that out does not answer.
    own_conclusion: OnceLock<Failure>,
}

/// What a rank says has ended the world.
struct Ending {
    told_by: usize,
    failure: Failure,
    certainty: Certainty,
}

impl fmt::Debug for OpenShmemEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenShmemEngine({} of {})", self.0.rank, self.0.size)
    }
}

/// Joins the world that `oshrun` has started this process for.
pub(crate) fn join(membership: &Membership, options: &WorldOptions) -> Result<OpenShmemEngine, WorldError> {
    let shared = Arc::new(meeting::meet(membership, options)?);
    shared.publish_state(RankState::Running);
    session::set_active(&shared);
    Ok(OpenShmemEngine(shared))
}

impl Shared {
    /// Tells all ranks of this one's state.
    fn publish_state(&self, state: RankState) {
        for peer in 0..self.size {
            self.port.set(peer, self.board.state_at(self.rank), state.code());
        }
        self.port.quiet();
    }

    fn has_left(&self, rank: usize) -> bool {
        self.port.own_word(self.board.state_at(rank)).load(Ordering::Acquire) == RankState::Left.code()
    }

    /// Tells the ranks that are there; those that have left do not ask, and may be gone.
    fn beat(&self, beat: Option<Beat>) {
        for peer in (0..self.size).filter(|&peer| !self.has_left(peer)) {
            self.port.set(peer, self.board.beat_at(self.rank), Beat::encode(beat));
        }
        self.port.quiet();
    }

    /// What ended the world. Several ranks may say so at the same time: the first of them counts, for all who have heard
    /// of it.
    fn ending(&self) -> Option<Ending> {
        (0..self.size).find_map(|told_by| {
            let (failure, certainty) = self.board.read_failure(&self.port, told_by)?;
            Some(Ending { told_by, failure, certainty })
        })
    }

    /// What ended the world, if something did.
    fn failure(&self) -> Option<Failure> {
        let Ending { told_by, failure, .. } = self.ending()?;
        let conclusion = self.board.read_conclusion(&self.port, told_by);
        conclusion.or_else(|| self.own_conclusion.get().cloned()).or(Some(failure))
    }

    /// The process of this rank ends in the middle of the world.
    fn exits(&self) {
        let reason = format!("{} exited without leaving the world", self.names[self.rank]);
        // What the world has failed of before counts.
        let _ = self.fail(Failure { rank: self.rank, reason }, Certainty::Known);
        self.publish_state(RankState::Left);
    }

    /// Whether all ranks of a world that has failed say within a time what they were waiting for, or leave.
    fn all_answer(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let answers = |rank: usize| self.has_left(rank) || self.board.read_report(&self.port, rank).is_some();
        while !(0..self.size).all(answers) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        true
    }

    /// Ends the world, on all ranks.
    fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure> {
        let _alone = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = self.failure() {
            return Err(earlier);
        }
        self.board.write_failure(&self.port, self.rank, &failure, certainty);
        launcher::tell(&failure);
        Ok(())
    }
}

impl Engine for OpenShmemEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::OpenShmem
    }

    fn rank(&self) -> usize {
        self.0.rank
    }

    fn size(&self) -> usize {
        self.0.size
    }

    fn hosts(&self) -> Vec<u32> {
        self.0.hosts.clone()
    }

    fn name(&self, rank: usize) -> String {
        self.0.names[rank].clone()
    }

    fn segment_bytes(&self) -> usize {
        self.0.symmetric
    }

    fn base(&self, rank: usize) -> Option<NonNull<u8>> {
        self.0.port.segment(rank)
    }

    fn transport(&self) -> Option<Arc<dyn Transport>> {
        let needed = (0..self.0.size).any(|rank| self.0.port.segment(rank).is_none());
        needed.then(|| Arc::clone(&self.0.port) as Arc<dyn Transport>)
    }

    fn exchange(&self, route: &Route<'_>, call: Call, mine: &[u8]) -> Result<Vec<Vec<u8>>, WorldError> {
        exchange::exchange(self, route, call, mine)
    }

    fn prepare_slot(&self, slot: usize) {
        let Shared { port, board, size, pad, .. } = &*self.0;
        for source in 0..*size {
            port.own_word(board.arrival_at(slot, source)).store(0, Ordering::Release);
        }
        for word in 0..sync_words::ROW {
            let offset = board.bytes() + pad + sync_words::offset(handle_of(slot), word);
            port.own_word(offset).store(0, Ordering::Release);
        }
    }

    fn retire_slot(&self, route: &Route<'_>) -> Result<(), WorldError> {
        exchange::exchange(self, route, Call::FreeTeam, &[]).map(drop)
    }

    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }

    fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure> {
        self.0.fail(failure, certainty)
    }

    /// For all ranks if this one had the suspicion; else, or when another had it at the same time and says no more, for itself.
    fn conclude(&self, failure: &Failure) {
        let Shared { rank, board, port, .. } = &*self.0;
        if board.read_failure(port, *rank).is_some() && board.read_conclusion(port, *rank).is_none() {
            board.write_conclusion(port, *rank, failure);
            launcher::tell(failure);
        } else {
            self.0.own_conclusion.get_or_init(|| failure.clone());
        }
    }

    fn is_undecided(&self) -> bool {
        let Shared { board, port, own_conclusion, .. } = &*self.0;
        let is_open = |ending: Ending| {
            ending.certainty == Certainty::Suspected && board.read_conclusion(port, ending.told_by).is_none()
        };
        own_conclusion.get().is_none() && self.0.ending().is_some_and(is_open)
    }

    fn post_report(&self, report: &str) {
        if !self.0.has_posted_report.swap(true, Ordering::AcqRel) {
            self.0.board.write_report(&self.0.port, self.0.rank, report);
        }
    }

    fn report_of(&self, rank: usize) -> Option<String> {
        self.0.board.read_report(&self.0.port, rank)
    }

    fn beat(&self, beat: Option<Beat>) {
        self.0.beat(beat);
    }

    fn beat_of(&self, rank: usize) -> Option<Beat> {
        Beat::decode(self.0.port.own_word(self.0.board.beat_at(rank)).load(Ordering::Acquire))
    }

    fn has_left(&self, rank: usize) -> bool {
        self.0.has_left(rank)
    }

    fn enter(&self) {
        self.0.publish_state(RankState::Running);
    }

    fn leave(&self) {
        // A child made by `fork` is not the rank.
        if self.0.port.is_own_process() {
            self.0.publish_state(RankState::Left);
            session::clear_active(&self.0);
        }
    }
}

impl Drop for OpenShmemEngine {
    fn drop(&mut self) {
        if !self.0.has_left(self.0.rank) {
            self.leave();
        }
        session::give_back(&self.0.port);
    }
}
