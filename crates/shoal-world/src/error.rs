//! What can go wrong in a world, in the words of the person who started it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use shoal_driver::LaunchError;
use shoal_driver::cuda::CudaError;

use crate::engine::{Awaited, Call};
use crate::wait_report::{Told, WaitReport, by_fault, spelled};

/// Why something in a world did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The world cannot be what was asked for.
    #[error("{0}")]
    Setup(String),
    /// An environment variable is missing or makes no sense.
    #[error("{name}{}: {problem}", .value.as_ref().map(|value| format!("={value}")).unwrap_or_default())]
    Environment {
        /// The variable.
        name: &'static str,
        /// What it says, if it is set.
        value: Option<String>,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The world has failed: a rank died, left too early, timed out or returned an error.
    #[error("{}{failure}{}", reporting(*rank, .awaited.as_ref(), failure), listed(.others))]
    Failed {
        /// The rank that reports it.
        rank: usize,
        /// What that rank was waiting for, if it was.
        awaited: Option<Awaited>,
        /// What happened.
        failure: Failure,
        /// What kernels of the other ranks were waiting for, where one program runs them all.
        others: Vec<WaitReport>,
    },
    /// The members of a team called different operations.
    #[error("the members of {team} are not in step: {}", grouped(.calls))]
    OutOfStep {
        /// The team.
        team: String,
        /// Rank in the world, and what it called.
        calls: Vec<(usize, Call)>,
    },
    /// The members of a team passed different values where all must pass the same.
    #[error("the members of {team} disagree on {what}: {}", grouped(.values))]
    Disagreement {
        /// The team.
        team: String,
        /// What they should agree on.
        what: &'static str,
        /// Rank in the world, and its value.
        values: Vec<(usize, String)>,
    },
    /// The symmetric heap has no block that large.
    #[error(
        "the symmetric heap has no room for {requested} bytes (aligned to {alignment}): {free} of {heap} bytes are free on \
         each rank, the largest block has {largest}; make the heap larger with `heap_bytes` or \
         SHOAL_HEAP_BYTES"
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Their alignment.
        alignment: usize,
        /// Free bytes.
        free: usize,
        /// Bytes of the largest free block.
        largest: usize,
        /// Bytes of the whole heap.
        heap: usize,
    },
    /// A size, a rank, an address or a range that cannot be.
    #[error("{0}")]
    Argument(String),
    /// A signal pad is too small for a launch.
    #[error(
        "the signal pad has {slots} slots, but {programs} programs on {ranks} ranks need {needed}; launch fewer programs, or \
         make the pad larger with `WorldOptions::pad_slots` or SHOAL_PAD_SLOTS"
    )]
    PadTooSmall {
        /// Slots of each rank's pad.
        slots: usize,
        /// Programs of the launch.
        programs: usize,
        /// Ranks that signal each other.
        ranks: usize,
        /// Slots that they need.
        needed: u128,
    },
    /// A stream ended before it came to what was waited for.
    #[error("{source}")]
    Stream {
        /// What ended it.
        source: Arc<WorldError>,
    },
    /// A kernel of this rank failed on a GPU, or waited in vain.
    #[error(transparent)]
    Launch(Box<LaunchError>),
    /// Programs of several ranks wait for each other in vain.
    #[error("ranks wait in vain:\n{}", spelled(.waits))]
    Deadlock {
        /// What each rank waits for, that of a rank at fault first.
        waits: Vec<WaitReport>,
    },
    /// A GPU failed.
    #[error(transparent)]
    Gpu(Box<CudaError>),
    /// The function of a rank returned an error.
    #[error("rank {rank}: {source}{}", listed(.others))]
    Rank {
        /// The rank.
        rank: usize,
        /// Its error.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// What kernels of the other ranks were waiting for.
        others: Vec<WaitReport>,
    },
    /// The function of a rank panicked.
    #[error("rank {rank} panicked: {message}{}", listed(.others))]
    Panicked {
        /// The rank.
        rank: usize,
        /// The panic's message.
        message: String,
        /// What kernels of the other ranks were waiting for.
        others: Vec<WaitReport>,
    },
}

impl WorldError {
    pub(crate) fn gpu(error: CudaError) -> WorldError {
        WorldError::Gpu(Box::new(error))
    }

    /// This rank's word of what has ended the world.
    pub(crate) fn failed(rank: usize, awaited: Option<Awaited>, failure: Failure) -> WorldError {
        WorldError::Failed { rank, awaited, failure, others: Vec::new() }
    }

    /// What ranks waited for, as far as this error tells; those at fault first.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitReport> {
        match self {
            WorldError::Deadlock { waits } => waits.clone(),
            WorldError::Failed { rank, awaited, others, .. } => {
                let own = awaited.as_ref().and_then(|awaited| WaitReport::of(*rank, [Told::from(awaited)]));
                by_fault(own.into_iter().chain(others.iter().cloned()).collect())
            }
            WorldError::Stream { source } => source.waits(),
            _ => Vec::new(),
        }
    }

    /// The rank at fault where members of a team did not do the same: one of the fewest that agree.
    #[must_use]
    pub fn odd_one(&self) -> Option<usize> {
        match self {
            WorldError::OutOfStep { calls, .. } => odd_one(calls),
            WorldError::Disagreement { values, .. } => odd_one(values),
            _ => None,
        }
    }

    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(rustix::io::Errno) -> WorldError {
        let doing = doing.into();
        move |source| WorldError::System { doing, source: source.into() }
    }
}

/// What ended a world. All its ranks report the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The rank that failed.
    pub rank: usize,
    /// What happened, naming the rank.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// How many of many are named: failures have little room.
const NAMED: usize = 8;

/// The first of these names, and how many more there are.
pub(crate) fn listed_names(names: &[String]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Who reports a failure, and what it waited for; nothing if the failure begins with that rank.
fn reporting(rank: usize, awaited: Option<&Awaited>, failure: &Failure) -> String {
    match awaited {
        Some(awaited) => format!("rank {rank}, {awaited}: "),
        None if failure.reason.starts_with(&format!("rank {rank} ")) => String::new(),
        None => format!("rank {rank}: "),
    }
}

/// What other ranks were waiting for, each on a line of its own.
fn listed(others: &[WaitReport]) -> String {
    if others.is_empty() { String::new() } else { format!("\n{}", spelled(others)) }
}

/// A rank among the fewest that say the same; `None` if all do.
pub(crate) fn odd_one<T: PartialEq>(values: &[(usize, T)]) -> Option<usize> {
    let agreeing = |value: &T| values.iter().filter(|(_, other)| other == value).count();
    let odd = values.iter().rev().min_by_key(|(_, value)| agreeing(value))?;
    (agreeing(&odd.1) < values.len()).then_some(odd.0)
}

/// `rank 3: broadcast from rank 1; ranks 0, 1: barrier`; ranks of the same value share an entry, the fewest come first.
pub(crate) fn grouped<T: fmt::Display>(values: &[(usize, T)]) -> String {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (rank, value) in values {
        let value = value.to_string();
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, ranks)) => ranks.push(*rank),
            None => groups.push((value, vec![*rank])),
        }
    }
    groups.sort_by_key(|(_, ranks)| ranks.len());
    let more: usize = groups.iter().skip(NAMED).map(|(_, ranks)| ranks.len()).sum();
    let mut told: Vec<String> = groups
        .into_iter()
        .take(NAMED)
        .map(|(value, ranks)| {
            let plural = if ranks.len() == 1 { "" } else { "s" };
            format!("rank{plural} {}: {value}", ranges(&ranks))
        })
        .collect();
    if more > 0 {
        told.push(format!("{more} ranks more: something else"));
    }
    told.join("; ")
}

/// `0, 1, 5 to 7`: numbers in their order, those of a long range by its ends; the first ones, where there are many.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|before, after| before + 1 == *after).flat_map(|run| match run {
        [first, _, .., last] => vec![(format!("{first} to {last}"), run.len())],
        few => few.iter().map(|number| (number.to_string(), 1)).collect(),
    });
    let (told, counts): (Vec<String>, Vec<usize>) = runs.take(NAMED).unzip();
    match numbers.len() - counts.iter().sum::<usize>() {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// A duration as people say it.
pub(crate) fn spell(duration: Duration) -> String {
    let (unit, name) = match duration.as_nanos() {
        1_000_000_000.. => (1.0, "s"),
        1_000_000.. => (1e3, "ms"),
        1_000.. => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    let number = format!("{:.1}", duration.as_secs_f64() * unit);
    format!("{} {name}", number.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_say_the_same_are_told_in_a_few_words() {
        let said = |value: fn(usize) -> usize| grouped(&(0..5000).map(|rank| (rank, value(rank))).collect::<Vec<_>>());
        assert_eq!(said(|rank| usize::from(rank == 5)), "rank 5: 1; ranks 0 to 4, 6 to 4999: 0");
        assert_eq!(said(|rank| usize::from(rank < 2)), "ranks 0, 1: 1; ranks 2 to 4999: 0");
        let odd = "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2492 more: 0; ranks 1, 3, 5, 7, 9, 11, 13, 15 and 2492 more: 1";
        assert_eq!(said(|rank| rank % 2), odd);
        let all = "rank 0: 0; rank 1: 1; rank 2: 2; rank 3: 3; rank 4: 4; rank 5: 5; rank 6: 6; rank 7: 7; 4992 ranks more: \
                   something else";
        assert_eq!(said(|rank| rank), all);
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let said = [300.0, 1.5, 0.5, 0.25, 0.000_001, 2e-9].map(|seconds| spell(Duration::from_secs_f64(seconds)));
        assert_eq!(said, ["300 s", "1.5 s", "500 ms", "250 ms", "1 µs", "2 ns"]);
    }
}
