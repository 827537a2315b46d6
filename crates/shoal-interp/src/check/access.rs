//! Accesses as the checker remembers them, and which of them race.

use std::fmt;

use shoal_ir::op::{Scope, Sem};

use super::Effect;
use crate::error::{AccessKind, Place};

/// Who accessed memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// A program of a kernel.
    Program {
        /// Which launch of its rank, from 0.
        launch: u32,
        /// The lane, where only one of the program's lanes acts.
        lane: Option<u32>,
        /// Whether it made the access itself.
        by: By,
    },
    /// The host program of a rank: copies and fills.
    Host,
    /// A stream of a rank: copies, and words that it writes and waits for.
    Stream {
        /// Its number; 0 is the one that launches go to if nothing is said.
        number: u32,
    },
}

/// How a program makes an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Itself.
    Itself,
    /// By a transfer that it only issued.
    Transfer,
    /// By one that comes after changes of its word which it could have come before.
    OvertakenTransfer,
}

/// One side of a race: who did what, and where in the source.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Rank, program and source.
    pub at: Place,
    /// Who.
    pub party: Party,
    /// What was done.
    pub kind: AccessKind,
    /// The order and the scope of an atomic access.
    pub order: Option<(Sem, Scope)>,
    /// The size of an element of it, in bytes.
    pub bytes: u32,
    /// Whether it changes memory; an atomic may only look.
    pub writes: bool,
}

impl Access {
    /// Whether it is made by a transfer that its program only issued.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.party, Party::Program { by: By::Transfer | By::OvertakenTransfer, .. })
    }

    /// Whether it is made by a transfer whose word was changed by others while it was under way.
    #[must_use]
    pub fn is_overtaken(&self) -> bool {
        matches!(self.party, Party::Program { by: By::OvertakenTransfer, .. })
    }

    /// What was done, as a phrase: `writes`, `reads atomically (acquire, sys)`.
    #[must_use]
    pub fn verb(&self) -> String {
        let what = match (self.kind, self.writes) {
            (AccessKind::Read, _) => "reads",
            (AccessKind::Write, _) => "writes",
            (AccessKind::Atomic, false) => "reads atomically",
            (AccessKind::Atomic, true) => "writes atomically",
        };
        match self.order {
            Some((sem, scope)) => format!("{what} ({sem}, {scope})"),
            None => what.to_owned(),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.party {
            Party::Host => write!(f, "the host of rank {}", self.at.rank.unwrap_or(0)),
            Party::Stream { number } => write!(f, "stream {number} of rank {}", self.at.rank.unwrap_or(0)),
            Party::Program { launch, lane, by } => {
                f.write_str(match by {
                    By::Itself => "",
                    By::Transfer => "a transfer issued by ",
                    By::OvertakenTransfer => "an overtaken transfer issued by ",
                })?;
                write!(f, "{}", self.at)?;
                if let Some(lane) = lane {
                    write!(f, ", lane {lane}")?;
                }
                if launch > 0 {
                    write!(f, " of launch {launch}")?;
                }
                Ok(())
            }
        }
    }
}

/// When an access was made: its actor, the actor's time, and where more is known about it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) actor: u32,
    pub(crate) time: u32,
    /// Its number in the checker's table of accesses.
    pub(crate) info: u32,
}

/// An atomic access: besides when, what its atomicity covers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct AtomicStamp {
    pub(crate) stamp: Stamp,
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) scope: Scope,
    pub(crate) effect: Effect,
}

/// Which of the world's members an actor is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) rank: u32,
    /// The actor that stands for its whole program; lanes have one in common.
    pub(crate) program: u32,
}

/// Whether a scope of `of` contains `other`.
pub(crate) fn contains(scope: Scope, of: Identity, other: Identity) -> bool {
    match scope {
        Scope::Cta => of.program == other.program,
        Scope::Gpu => of.rank == other.rank,
        Scope::Sys => true,
    }
}
