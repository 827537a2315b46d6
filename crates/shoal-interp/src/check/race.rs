//! What a race is reported with: both sides, what fails to order them, and what would.

use std::fmt;
use std::rc::Rc;

use shoal_ir::op::Scope;

use super::Checker;
use super::access::{Access, Stamp};
use super::clock::Clock;
use super::sync::Miss;
use crate::error::AccessKind;

/// A read that saw a write, but did not bring the writer's past along.
#[derive(Clone, Debug)]
pub(crate) struct NearMiss {
    /// When, for the reader.
    pub(crate) time: u32,
    pub(crate) writer: u32,
    pub(crate) reader: u32,
    pub(crate) why: Miss,
    pub(crate) clock: Rc<Clock>,
}

/// A read of memory that nothing was written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// The read.
    pub access: Access,
    /// The first such byte.
    pub address: u64,
    /// Where that lies.
    pub near: String,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one that came first in the schedule that was run.
    pub first: Access,
    /// The other.
    pub second: Access,
    /// A byte that both access.
    pub address: u64,
    /// Where that lies.
    pub near: String,
    /// Why nothing orders them.
    pub cause: Cause,
}

/// Why a read did not synchronise with the write that it saw.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unordered {
    /// The write must release.
    WriteOrder,
    /// The read must acquire.
    ReadOrder,
    /// The scope of the write is too small.
    WriteScope,
    /// The scope of the read is too small.
    ReadScope,
    /// The scope of the fence before the write is too small.
    WriteFence,
    /// The scope of the fence after the read is too small.
    ReadFence,
}

/// Why nothing orders two accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A flag between them was written and read, but not in a way that orders.
    Flag {
        /// Who wrote it.
        writer: Access,
        /// Who read it.
        reader: Access,
        /// What is missing.
        missing: Unordered,
    },
    /// Both are atomic, but the scope of one does not contain the other's program.
    Scope,
    /// Both are atomic, of different sizes.
    Sizes,
    /// One is atomic, the other is not.
    Mixed,
    /// The source or the destination of a transfer that is not complete.
    Pending,
    /// They are done by lanes of one program, or by one and the program as a whole.
    Lanes,
    /// The other side knows of another lane of the program, which had not met the one that made the access.
    OtherLane,
    /// A lane of the later one's program knows of the access, and had not met who made the later one.
    LaneAlone,
    /// The memory is overwritten while another may still read it.
    Overwritten,
    /// Nothing at all.
    Nothing,
}

impl Checker {
    /// Why nothing orders two accesses.
    pub(crate) fn cause(&self, first: Stamp, second: Stamp) -> Cause {
        let access = |info: u32| self.infos[info as usize];
        let (a, b) = (access(first.info), access(second.info));
        match (a.order, b.order) {
            (Some(_), Some(_)) if a.bytes != b.bytes => return Cause::Sizes,
            (Some(_), Some(_)) => return Cause::Scope,
            (Some(_), None) | (None, Some(_)) | (None, None) => {}
        }
        if let Some(miss) = self.miss_between(first, second) {
            let missing = match miss.why {
                Miss::WriteOrder => Unordered::WriteOrder,
                Miss::ReadOrder => Unordered::ReadOrder,
                Miss::WriteScope => Unordered::WriteScope,
                Miss::ReadScope => Unordered::ReadScope,
                Miss::WriteFence => Unordered::WriteFence,
                Miss::ReadFence => Unordered::ReadFence,
            };
            return Cause::Flag { writer: access(miss.writer), reader: access(miss.reader), missing };
        }
        let program = |stamp: Stamp| self.actors[stamp.actor as usize].identity.program;
        if a.is_pending() || b.is_pending() {
            Cause::Pending
        } else if program(first) == program(second) {
            Cause::Lanes
        } else if self.lane_knows(first, second) {
            Cause::LaneAlone
        } else if self.knows_another_lane(first, second) {
            Cause::OtherLane
        } else if a.order.is_some() != b.order.is_some() {
            Cause::Mixed
        } else if !a.writes && b.writes {
            Cause::Overwritten
        } else {
            Cause::Nothing
        }
    }
}

impl Checker {
    /// A flag that would have ordered two accesses: one that the later one's actor read, if there is one.
    fn miss_between(&self, first: Stamp, second: Stamp) -> Option<&NearMiss> {
        let clock = &self.actors[second.actor as usize].clock;
        let of = |reader: u32| {
            let misses = self.misses.get(&reader).into_iter().flatten().rev();
            misses.filter(move |miss| clock.covers(reader, miss.time))
        };
        let others = (0..self.actors.len() as u32).rev().filter(|&reader| reader != second.actor);
        std::iter::once(second.actor).chain(others).flat_map(of).find(|m| m.clock.covers(first.actor, first.time))
    }

    /// Whether the later access comes after something that another lane of the earlier one's program did.
    fn knows_another_lane(&self, first: Stamp, second: Stamp) -> bool {
        let program = self.actors[first.actor as usize].identity.program;
        let clock = &self.actors[second.actor as usize].clock;
        (0..).zip(&self.actors).any(|(number, actor)| {
            let lane = matches!(actor.party, super::Party::Program { lane: Some(_), .. });
            lane && number != first.actor && actor.identity.program == program && clock.get(number) > 0
        })
    }

    /// Whether a lane of the later access's program comes after the earlier access.
    fn lane_knows(&self, first: Stamp, second: Stamp) -> bool {
        let program = self.actors[second.actor as usize].identity.program;
        (0..).zip(&self.actors).any(|(number, actor)| {
            let lane = matches!(actor.party, super::Party::Program { lane: Some(_), .. });
            let other = lane && number != second.actor && actor.identity.program == program;
            other && actor.clock.covers(first.actor, first.time)
        })
    }
}

impl Race {
    /// The smallest change that would order the two.
    #[must_use]
    pub fn remedy(&self) -> String {
        match &self.cause {
            Cause::Flag { writer, reader, missing } => match missing {
                Unordered::WriteOrder if writer.is_pending() => {
                    "put a `fence()` or `quiet()` before the signal: by itself it comes after nothing".into()
                }
                Unordered::WriteOrder => {
                    format!(
                        "let the write of the flag release: `release` instead of {}, or put a fence before it",
                        order(writer)
                    )
                }
                Unordered::ReadOrder => {
                    format!(
                        "let the read of the flag acquire: `acquire` instead of {}, or put a fence after it",
                        order(reader)
                    )
                }
                Unordered::WriteScope => {
                    format!("write the flag at scope `{}` instead of `{}`", reaching(writer, reader), scope(writer))
                }
                Unordered::ReadScope => {
                    format!("read the flag at scope `{}` instead of `{}`", reaching(writer, reader), scope(reader))
                }
                Unordered::WriteFence => {
                    format!("let the fence before the write of the flag have scope `{}`", reaching(writer, reader))
                }
                Unordered::ReadFence => {
                    format!("let the fence after the read of the flag have scope `{}`", reaching(writer, reader))
                }
            },
            Cause::Scope => {
                let narrow = if scope(&self.first) != Scope::Sys { &self.first } else { &self.second };
                let wide = if self.first.at.rank == self.second.at.rank { "gpu" } else { "sys" };
                format!("use scope `{wide}` instead of `{}`: the other program is not in it", scope(narrow))
            }
            Cause::Sizes => {
                "access the word with one size everywhere: atomics of different sizes exclude nothing".into()
            }
            Cause::Mixed | Cause::Overwritten | Cause::Nothing if self.is_of_a_host() => {
                if self.first.at.rank == self.second.at.rank {
                    "let one wait for the other: a stream for an event of the other stream, or the host for the stream"
                        .into()
                } else {
                    "let the hosts of all ranks meet between them, when their streams are done".into()
                }
            }
            Cause::Mixed => {
                let plain = if self.first.order.is_none() { &self.first } else { &self.second };
                let what = if plain.writes { "store" } else { "load" };
                format!("make the plain {what} atomic, or order it with the atomic access by a barrier or another flag")
            }
            Cause::Pending if self.first.at.rank == self.second.at.rank => {
                "complete the transfer first: `quiet`, or wait for its signal".into()
            }
            Cause::Pending if self.is_of_a_get() => {
                "let `quiet` end the transfer before the flag or meeting that the other rank waits for: a `fence` orders no gets"
                    .into()
            }
            Cause::Pending => {
                "let the other rank wait for the transfer: for the signal of a put with signal, or for one that comes behind \
                 a `fence`, or for a barrier; `sync` completes nothing"
                    .into()
            }
            Cause::Lanes => "put a barrier of the lanes between them: `__syncthreads()`".into(),
            Cause::OtherLane => "let the lanes meet before one of them releases for all: `__syncthreads()`".into(),
            Cause::LaneAlone => "let the lanes meet after one of them acquired for all: `__syncthreads()`".into(),
            Cause::Overwritten => {
                "let the readers tell that they are done (a barrier, or a flag with release), and wait for that before \
                 the memory is overwritten"
                    .into()
            }
            Cause::Nothing => {
                let side = if self.first.kind == AccessKind::Read { "read" } else { "write" };
                format!(
                    "put a barrier between them, or a flag: release after the {side}, acquire before the other access"
                )
            }
        }
    }

    /// Whether one of them is made by a host or in a stream, and not by a program.
    fn is_of_a_host(&self) -> bool {
        [self.first, self.second].iter().any(|access| !matches!(access.party, super::Party::Program { .. }))
    }

    /// Whether a transfer reads what another rank has: puts read their own rank's memory.
    fn is_of_a_get(&self) -> bool {
        let reads = |access: &Access| access.is_pending() && access.kind == AccessKind::Read;
        reads(&self.first) || reads(&self.second)
    }

    /// What fails to order the two.
    #[must_use]
    pub fn explanation(&self) -> String {
        match &self.cause {
            Cause::Flag { writer, reader, missing } => {
                let why = match missing {
                    Unordered::WriteOrder => "the write releases nothing",
                    Unordered::ReadOrder => "the read acquires nothing",
                    Unordered::WriteScope => "the scope of the write does not reach the reader",
                    Unordered::ReadScope => "the scope of the read does not reach the writer",
                    Unordered::WriteFence => "the scope of the fence before the write does not reach the reader",
                    Unordered::ReadFence => "the scope of the fence after the read does not reach the writer",
                };
                format!("{writer} {} a flag that {reader} {}, but {why}", writer.verb(), reader.verb())
            }
            Cause::Scope => "both are atomic, but the scope of one does not contain the other's program".into(),
            Cause::Sizes => "both are atomic, but of different sizes".into(),
            Cause::Mixed => "only one of them is atomic".into(),
            Cause::Pending if self.first.at.rank == self.second.at.rank => {
                "the transfer was issued, but nothing has completed it".into()
            }
            Cause::Pending => "the transfer was issued, but nothing that the other rank has seen comes after it".into(),
            Cause::Lanes => "lanes of a program are ordered by barriers only".into(),
            Cause::OtherLane => {
                "another lane of the program released or fenced, and publishes its own past only: it had not met this one"
                    .into()
            }
            Cause::LaneAlone => {
                "another lane of the program acquired, and knows it alone: it had not met the one that made the access".into()
            }
            Cause::Overwritten => "nothing makes the write wait for the read".into(),
            Cause::Nothing => "no flag, barrier or launch orders them".into(),
        }
    }
}

fn order(access: &Access) -> String {
    access.order.map_or_else(|| "a plain access".into(), |(sem, _)| format!("`{sem}`"))
}

/// The scope that contains both.
fn reaching(a: &Access, b: &Access) -> &'static str {
    if a.at.rank == b.at.rank { "gpu" } else { "sys" }
}

fn scope(access: &Access) -> Scope {
    access.order.map_or(Scope::Cta, |(_, scope)| scope)
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Race { first, second, near, .. } = self;
        write!(f, "data race {near}: {first} {}, and {second} {}; {}", first.verb(), second.verb(), self.explanation())
    }
}
