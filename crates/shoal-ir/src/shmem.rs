//! SHMEM operations: one-sided copies, signals, and meetings of teams.
//!
//! Three moments of a copy are kept apart: *issued*, *locally complete* (the source may be reused) and *delivered*
//! (visible there). When an operation returns, its [`Completion`] has come; `fence` and `quiet` do the rest.
//!
//! # Who acts
//!
//! Operands that may differ from lane to lane are written `T…`: they are all scalars, or all tiles of one shape over the
//! lanes of the program, with a mask (`i1…`) as the last operand if some lanes take no part. With scalars the program
//! acts once. With tiles [`Participants`] says who acts: every lane that takes part, for itself; or every warp, or the
//! program, of which a lane takes part, with the operands of its first such lane.

use crate::comm::SignalOp;
use crate::op::{CmpOp, spelled};

/// Lanes of a warp.
pub const WARP_LANES: u32 = 32;

/// What a SHMEM operation does. Operands and results are given as in [`crate::OpKind`]; ranks are ranks of the world.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShmemOp {
    /// `(team: i32) -> i32`: this rank's place in a team; -1 in the invalid team.
    TeamRank,
    /// `(team: i32) -> i32`: the number of a team's members; -1 for the invalid team.
    TeamSize,
    /// `(team: i32, member: i32, other: i32) -> i32`: the member's place in another team; -1 if it has none.
    TeamTranslate,
    /// `(target: ptr…, source: ptr…, bytes: i64…, rank: i32…, mask?)`: a copy between this rank's memory and the heap of
    /// another: a put writes the target there, a get reads the source there. That side is named by its place in this
    /// rank's heap.
    Copy {
        /// From or to the other rank.
        way: Way,
        /// What has happened when the operation returns.
        completion: Completion,
        /// Who copies.
        by: Participants,
    },
    /// `(target: ptr…, source: ptr…, bytes: i64…, word: ptr<u64>…, signal: u64…, rank: i32…, mask?)`: a put, and a signal
    /// that changes only after the data is delivered.
    PutSignal {
        /// How the word changes.
        op: SignalOp,
        /// What has happened when the operation returns.
        completion: Completion,
        /// Who copies.
        by: Participants,
    },
    /// `(target: ptr…, value: T…, rank: i32…, mask?)`: writes one element to the heap of another rank; locally complete
    /// at once.
    PutValue,
    /// `(word: ptr<u64>…, signal: u64…, rank: i32…, mask?)`: changes a word of a rank's heap atomically, ordered with
    /// earlier copies by `fence` and `quiet` only.
    Signal {
        /// How the word changes.
        op: SignalOp,
    },
    /// `(word: ptr<u64>…, value: u64…, mask?)`: blocks until the word of this rank compares with the value, unsigned.
    /// Acquires, at `sys`, what was delivered before the signal that it sees.
    SignalWait {
        /// The comparison that must hold: word, then value.
        cmp: CmpOp,
    },
    /// `()`: what this program put and signalled before is delivered to each rank before what it puts and signals there
    /// after.
    Fence,
    /// `()`: all that this program issued is delivered.
    Quiet,
    /// `(team: i32)`: all members arrive before any leaves; acquires and releases at `sys`.
    Meet {
        /// Whether it is quiet first.
        meeting: Meeting,
        /// Who comes for the rank.
        by: Participants,
    },
    /// `(team: i32, target: ptr, source: ptr, bytes: i64)`: gets the source of every member, in the team's order, one
    /// behind the other. Complete on return. A collective is this between two meetings.
    Collect {
        /// Who copies.
        by: Participants,
    },
}

spelled! {
    /// Whether a copy goes to another rank or comes from it.
    Way {
        /// To the other rank.
        Put = "put",
        /// From the other rank.
        Get = "get",
    }
}

spelled! {
    /// What has happened when an operation returns.
    Completion {
        /// A put is locally complete, a get is delivered.
        Local = "local",
        /// It is issued, and goes on until `quiet`. (SHMEM: *nbi*.)
        Issued = "issued",
    }
}

spelled! {
    /// Who does an operation together. All of them must come to it.
    Participants {
        /// A lane by itself.
        Lane = "lane",
        /// The lanes of a warp.
        Warp = "warp",
        /// The lanes of the program.
        Program = "program",
    }
}

spelled! {
    /// Kinds of meetings.
    Meeting {
        /// What the members issued is delivered first.
        Barrier = "barrier",
        /// It need not be.
        Sync = "sync",
    }
}

impl Participants {
    /// How many neighbouring lanes act together, of `lanes`.
    pub fn group(self, lanes: u32) -> u32 {
        match self {
            Participants::Lane => 1,
            Participants::Warp => WARP_LANES.min(lanes),
            Participants::Program => lanes,
        }
    }
}

impl ShmemOp {
    /// Who acts, where the operands may differ from lane to lane.
    pub fn participants(self) -> Participants {
        match self {
            ShmemOp::Copy { by, .. }
            | ShmemOp::PutSignal { by, .. }
            | ShmemOp::Meet { by, .. }
            | ShmemOp::Collect { by } => by,
            ShmemOp::PutValue | ShmemOp::Signal { .. } | ShmemOp::SignalWait { .. } => Participants::Lane,
            ShmemOp::TeamRank | ShmemOp::TeamSize | ShmemOp::TeamTranslate | ShmemOp::Fence | ShmemOp::Quiet => {
                Participants::Program
            }
        }
    }

    /// The mask's place among the operands, if the operation can have one.
    pub fn mask_at(self) -> Option<usize> {
        match self {
            ShmemOp::Copy { .. } => Some(4),
            ShmemOp::PutSignal { .. } => Some(6),
            ShmemOp::PutValue | ShmemOp::Signal { .. } => Some(3),
            ShmemOp::SignalWait { .. } => Some(2),
            ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::Fence
            | ShmemOp::Quiet
            | ShmemOp::Meet { .. }
            | ShmemOp::Collect { .. } => None,
        }
    }
}
