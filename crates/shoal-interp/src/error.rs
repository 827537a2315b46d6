//! How a run can fail.

use std::fmt;

use shoal_ir::Span;
use shoal_ir::abi::WaitCondition;

/// Where something happened: in the source and in the grid.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source of the operation.
    pub span: Span,
    /// The rank; `None` outside of a world.
    pub rank: Option<u32>,
    /// The program.
    pub program: [u32; 3],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        if let Some(rank) = self.rank {
            write!(f, "rank {rank}, ")?;
        }
        write!(f, "program ({x}, {y}, {z})")
    }
}

/// What an access does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// An atomic operation.
    Atomic,
}

impl AccessKind {
    fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "atomically accesses",
        }
    }
}

/// What a program waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A value in memory.
    Value {
        /// Where.
        address: u64,
        /// Which bits.
        expected: u64,
        /// What was there instead.
        found: u64,
    },
    /// A signal in memory that compares with a number.
    Comparison {
        /// Where.
        address: u64,
        /// How.
        condition: WaitCondition,
        /// With which number.
        expected: u64,
        /// What was there instead.
        found: u64,
    },
    /// Another rank at a meeting of a team.
    Arrival {
        /// The word in which it would tell of itself.
        address: u64,
        /// The team's handle.
        team: i32,
        /// The rank, which may itself wait for another one there.
        rank: u32,
        /// The number of the meeting.
        expected: u64,
        /// The number of the last meeting that it told of.
        found: u64,
    },
    /// A change of memory that would let its loop go on.
    LoopExit,
}

/// One program that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who and where.
    pub at: Place,
    /// For what.
    pub awaited: Awaited,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.awaited {
            Awaited::Value { address, expected, found } => {
                write!(f, "{} waits for {expected} at {address:#x}, which holds {found}", self.at)
            }
            Awaited::Comparison { address, condition, expected, found } => {
                let how = condition.words();
                write!(f, "{} waits for {how}{expected} at {address:#x}, which holds {found}", self.at)
            }
            Awaited::Arrival { team, rank, .. } => {
                write!(f, "{} waits for rank {rank} at a meeting of team {team}", self.at)
            }
            Awaited::LoopExit => write!(f, "{} repeats a loop that only a change of memory could end", self.at),
        }
    }
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An access outside of every allocation.
    #[error("{at}{} {} {bytes} bytes at {address:#x}, {near}", element_text(element), access.verb())]
    OutOfBounds {
        /// The address.
        address: u64,
        /// How many bytes there.
        bytes: u32,
        /// What was done.
        access: AccessKind,
        /// Which element of the tile; empty for a scalar.
        element: Vec<u32>,
        /// Where the address lies.
        near: String,
        /// Who did it.
        at: Place,
    },
    /// An access to an address that is not a multiple of the element's size.
    #[error("{at}{} {} {bytes} bytes at {address:#x}, which is not a multiple of {bytes}", element_text(element), access.verb())]
    Misaligned {
        /// The address.
        address: u64,
        /// How many bytes there.
        bytes: u32,
        /// What was done.
        access: AccessKind,
        /// Which element of the tile; empty for a scalar.
        element: Vec<u32>,
        /// Who did it.
        at: Place,
    },
    /// A write to memory that is only to be read.
    #[error("{at} writes at {address:#x}, {near}, which is passed to be read only")]
    ReadOnly {
        /// The address.
        address: u64,
        /// Where that lies.
        near: String,
        /// Who did it.
        at: Place,
    },
    /// A device assertion does not hold.
    #[error("assertion failed in {at}{}: {message}", element_text(element))]
    AssertFailed {
        /// The user's words.
        message: String,
        /// Which element of the tile; empty for a scalar.
        element: Vec<u32>,
        /// Who found it.
        at: Place,
    },
    /// Every live program waits, and nobody is left to change what they wait for.
    #[error("deadlock: {}", waiting_text(waiting, hosts))]
    Deadlock {
        /// Which programs wait for what.
        waiting: Vec<Waiting>,
        /// The ranks whose hosts wait, or whose programs have not all started.
        hosts: Vec<HostWaiting>,
        /// For each program that waits, the first word that it looks at and what that holds, if it is known.
        words: Vec<Option<(u64, u64)>>,
        /// For each program that waits, who could still write that word.
        writers: Vec<Vec<Writer>>,
    },
    /// [`crate::Options::max_steps`] is used up.
    #[error("no end after {steps} operations; {at} was running")]
    StepLimit {
        /// The limit.
        steps: u64,
        /// Who was running.
        at: Place,
    },
    /// The host said to stop.
    #[error("interrupted while {at} was running")]
    Interrupted {
        /// Who was running.
        at: Place,
    },
    /// A `gather` looks outside of its tile.
    #[error("{at}{} gathers at index {index} along a dimension of size {size}", element_text(element))]
    IndexOutOfRange {
        /// The index.
        index: i128,
        /// The size of the dimension.
        size: u32,
        /// Which element asked.
        element: Vec<u32>,
        /// Who did it.
        at: Place,
    },
    /// A `for` loop whose step is not positive.
    #[error("the step of a loop is {step} in {at}; it must be positive")]
    LoopStep {
        /// The step.
        step: i128,
        /// Whose loop.
        at: Place,
    },
    /// The operation needs a world, or something of it that is not there.
    #[error("{at}: {message}")]
    World {
        /// What is missing.
        message: String,
        /// Who asked.
        at: Place,
    },
    /// A function of user bitcode.
    #[error("the interpreter cannot call `{symbol}`, which is machine code; run this kernel on a device")]
    ExternFunction {
        /// Its symbol.
        symbol: String,
        /// Who called it.
        at: Place,
    },
    /// Target assembly.
    #[error("the interpreter cannot run inline assembly; run this kernel on the device it is written for")]
    InlineAsm {
        /// Who ran it.
        at: Place,
    },
    /// The module is not what the verifier accepts.
    #[error("this operation is not valid tile IR: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
        /// Where.
        at: Place,
    },
    /// There is no such kernel.
    #[error("there is no kernel `{name}`")]
    NoKernel {
        /// The name asked for.
        name: String,
    },
    /// The arguments do not fit the kernel's parameters.
    #[error("{message}")]
    Arguments {
        /// What does not fit.
        message: String,
    },
}

fn element_text(element: &[u32]) -> String {
    if element.is_empty() { String::new() } else { format!(", element {element:?}") }
}

/// A program that could still write a word: it has a write of that size left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Who, and where it would write.
    pub at: Place,
    /// What keeps it.
    pub state: WriterState,
}

/// What keeps a program from writing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WriterState {
    /// It waits itself, there.
    Waits(Span),
    /// It has not started: there is no room.
    NotStarted,
    /// Nothing.
    Runs,
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            WriterState::Waits(_) => write!(f, "{}, which waits itself", self.at),
            WriterState::NotStarted => write!(f, "{}, which has not started", self.at),
            WriterState::Runs => write!(f, "{}", self.at),
        }
    }
}

/// What keeps the host of a rank from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWaiting {
    /// The rank.
    pub rank: u32,
    /// Programs of its launches that found no room.
    pub unstarted: u64,
    /// It waits for the hosts of other ranks.
    pub at_barrier: bool,
    /// Its streams that wait.
    pub streams: Vec<StreamWaiting>,
}

/// A stream that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamWaiting {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub stream: u32,
    /// Where the source says so.
    pub span: Span,
    /// For what, in words.
    pub what: String,
    /// The word, if it waits for one.
    pub word: Option<u64>,
}

impl fmt::Display for StreamWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} of rank {} waits {}", self.stream, self.rank, self.what)
    }
}

impl fmt::Display for HostWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank;
        let mut said: Vec<String> = self.streams.iter().map(ToString::to_string).collect();
        match (self.unstarted, self.at_barrier) {
            (0, false) => {}
            (0, true) => said.push(format!("the host of rank {rank} waits for the other ranks' hosts")),
            (1, _) => said.push(format!("1 program of rank {rank} has not started: there is no room")),
            (n, _) => said.push(format!("{n} programs of rank {rank} have not started: there is no room")),
        }
        f.write_str(&said.join("; "))
    }
}

/// The first few; a whole grid may be waiting.
fn waiting_text(waiting: &[Waiting], hosts: &[HostWaiting]) -> String {
    const SHOWN: usize = 4;
    let mut text = waiting.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if waiting.len() > SHOWN {
        text.push_str(&format!("; and {} more", waiting.len() - SHOWN));
    }
    for host in hosts {
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(&host.to_string());
    }
    text
}

impl Error {
    /// Where it happened, if at one place.
    pub fn place(&self) -> Option<Place> {
        match self {
            Error::OutOfBounds { at, .. }
            | Error::Misaligned { at, .. }
            | Error::ReadOnly { at, .. }
            | Error::AssertFailed { at, .. }
            | Error::StepLimit { at, .. }
            | Error::Interrupted { at }
            | Error::IndexOutOfRange { at, .. }
            | Error::LoopStep { at, .. }
            | Error::World { at, .. }
            | Error::ExternFunction { at, .. }
            | Error::InlineAsm { at }
            | Error::Invalid { at, .. } => Some(*at),
            Error::Deadlock { waiting, .. } => waiting.first().map(|w| w.at),
            Error::NoKernel { .. } | Error::Arguments { .. } => None,
        }
    }
}
