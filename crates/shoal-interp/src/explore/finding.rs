//! What an exploration finds.

use std::fmt;

use crate::check::{Access, Race, Unwritten};
use crate::error::{Awaited, Error, HostWaiting, Place, Waiting, Writer};

/// Something that is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Two accesses that nothing orders.
    Race(Race),
    /// Nothing can go on.
    Deadlock(Deadlock),
    /// Memory is read that nothing was written to.
    UnwrittenRead(Unwritten),
    /// An output was not written.
    UnwrittenOutput {
        /// Where: `at byte 8 of x (64 bytes)`.
        near: String,
    },
    /// An output holds a number that is none.
    Nan {
        /// Where.
        near: String,
    },
    /// An output holds another number than it must.
    WrongOutput {
        /// Where.
        near: String,
        /// What it must hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// A program failed: an access out of bounds, an assertion, a place that is not there.
    Failure(Error),
}

/// Nothing can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The programs that wait.
    pub waits: Vec<BlockedProgram>,
    /// The ranks whose hosts wait, or whose programs have not all started.
    pub hosts: Vec<HostWaiting>,
    /// How many programs of a rank could be resident, if that was limited.
    pub resident: Option<usize>,
}

/// A program that waits, and what is known of the word it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedProgram {
    /// Who waits for what.
    pub waiting: Waiting,
    /// Where the word lies.
    pub place: Option<String>,
    /// What the word holds.
    pub holds: Option<u64>,
    /// Who wrote it last.
    pub last_writer: Option<Access>,
    /// Who could still have written it.
    pub writers: Vec<Writer>,
}

/// What kind of mistake it is, and where; findings of one kind at the same places are one.
pub(crate) type Signature = (u8, Vec<shoal_ir::Span>);

impl Finding {
    /// One word for it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Finding::Race(_) => "race",
            Finding::Deadlock(_) => "deadlock",
            Finding::UnwrittenRead(_) => "unwritten-read",
            Finding::UnwrittenOutput { .. } => "unwritten-output",
            Finding::Nan { .. } => "nan",
            Finding::WrongOutput { .. } => "wrong-output",
            Finding::Failure(_) => "failure",
        }
    }

    /// Whether every run that shows it takes as many steps as a run may.
    #[must_use]
    pub fn takes_all_steps(&self) -> bool {
        matches!(self, Finding::Failure(Error::StepLimit { .. }))
    }

    /// Where it is, if at one place.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Finding::Race(race) => Some(race.second.at),
            Finding::Deadlock(deadlock) => deadlock.waits.first().map(|blocked| blocked.waiting.at),
            Finding::UnwrittenRead(read) => Some(read.access.at),
            Finding::UnwrittenOutput { .. } | Finding::Nan { .. } | Finding::WrongOutput { .. } => None,
            Finding::Failure(error) => error.place(),
        }
    }

    /// Whether it is the same mistake: of one kind, at the same places of the source.
    #[must_use]
    pub fn is_like(&self, other: &Finding) -> bool {
        self.signature() == other.signature()
    }

    pub(crate) fn signature(&self) -> Signature {
        let mut spans: Vec<_> = match self {
            Finding::Race(race) => vec![race.first.at.span, race.second.at.span],
            Finding::Deadlock(_) => Vec::new(),
            Finding::UnwrittenRead(read) => vec![read.access.at.span],
            Finding::UnwrittenOutput { .. } | Finding::Nan { .. } | Finding::WrongOutput { .. } => Vec::new(),
            Finding::Failure(error) => error.place().map(|at| at.span).into_iter().collect(),
        };
        spans.sort();
        let kind = match self {
            Finding::Race(_) => 0,
            Finding::Deadlock(_) => 1,
            Finding::UnwrittenRead(_) => 2,
            Finding::UnwrittenOutput { .. } => 3,
            Finding::Nan { .. } => 4,
            Finding::Failure(_) => 5,
            Finding::WrongOutput { .. } => 6,
        };
        (kind, spans)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Race(race) => write!(f, "{race}"),
            Finding::Deadlock(deadlock) => write!(f, "{deadlock}"),
            Finding::UnwrittenRead(read) => {
                write!(f, "{} reads memory that was never written, {}", read.access, read.near)
            }
            Finding::UnwrittenOutput { near } => write!(f, "an output was not written {near}"),
            Finding::Nan { near } => write!(f, "an output is NaN {near}"),
            Finding::WrongOutput { near, expected, found } => {
                write!(f, "an output is {found} and must be {expected} {near}")
            }
            Finding::Failure(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadlock: nothing can go on")?;
        for blocked in &self.waits {
            write!(f, "\n  {blocked}")?;
        }
        for host in &self.hosts {
            write!(f, "\n  {host}")?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiting { at, awaited } = &self.waiting;
        match (&self.place, awaited) {
            (Some(place), Awaited::Value { expected, found, .. }) => {
                write!(f, "{at} waits for {expected} in {place}, which holds {found}")?;
            }
            (Some(place), Awaited::Comparison { condition, expected, found, .. }) => {
                let how = condition.words();
                write!(f, "{at} waits for {how}{expected} in {place}, which holds {found}")?;
            }
            (Some(place), Awaited::Arrival { .. }) => write!(f, "{} ({place})", self.waiting)?,
            (Some(place), Awaited::LoopExit) => {
                let holds = self.holds.unwrap_or(0).cast_signed();
                write!(f, "{}: {place} holds {holds}", self.waiting)?;
            }
            (None, _) => write!(f, "{}", self.waiting)?,
        }
        match (&self.last_writer, self.holds) {
            (Some(writer), _) => write!(f, "; {writer} wrote it last"),
            (None, Some(_)) => f.write_str("; nobody wrote it"),
            (None, None) => Ok(()),
        }
    }
}
