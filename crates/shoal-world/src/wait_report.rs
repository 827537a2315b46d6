//! What ranks tell of themselves when waits are given up. Reports are values until an error is spelled.

use std::fmt;

use crate::engine::Awaited;

/// How to find out more of words whose last writer is not known.
const UNRECORDED: &str = "\n  who wrote a word last is recorded for `notify` and signals, with SHOAL_DEBUG=1 also for stores \
                          and for other ranks' atomics; `shoal check` tells it always";

/// What a rank does while others wait in vain. Those of a kind that is at fault sooner come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportKind {
    /// It has left, or does not wait.
    NotWaiting,
    /// It waits for its own stream, which does not wait.
    ForItself,
    /// It waits for words of memory, in a kernel or elsewhere.
    ForWords,
    /// It waits for other ranks to come.
    ForRanks,
}

/// What one rank was doing when waits were given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReport {
    /// The rank.
    pub rank: usize,
    /// What it does.
    pub kind: ReportKind,
    /// The same in words: programs with their lines, words with their values.
    pub what: String,
    /// The last writer of one of its words was not recorded.
    pub is_unrecorded: bool,
}

impl WaitReport {
    /// A rank that does not wait.
    pub(crate) fn not_waiting(rank: usize, idle: Idle) -> WaitReport {
        let Told { kind, what, is_unrecorded } = Told::idle(idle);
        WaitReport { rank, kind, what, is_unrecorded }
    }

    /// All that a rank has told; `None` if that is nothing.
    pub(crate) fn of(rank: usize, waits: impl IntoIterator<Item = Told>) -> Option<WaitReport> {
        let mut waits = Vec::from_iter(waits);
        // What a stream waits for says more than that the rank waits for its stream.
        let order = |told: &Told| (told.kind == ReportKind::ForItself, told.kind);
        waits.sort_by(|a, b| (order(a), &a.what).cmp(&(order(b), &b.what)));
        let mut waits = waits.into_iter();
        let Told { kind, what, is_unrecorded } = waits.next()?;
        let first = WaitReport { rank, kind, what, is_unrecorded };
        Some(waits.fold(first, |report, next| WaitReport {
            what: format!("{}\n  and {}", report.what, next.what),
            is_unrecorded: report.is_unrecorded || next.is_unrecorded,
            ..report
        }))
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.what)
    }
}

/// What a rank does that waits for nothing itself. It is said of the rank: `it has left the world`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    HasLeft,
    /// Programs of a kernel run, or are about to.
    RunsKernel,
    /// A thread of it runs something else; its kernels, if there are some, may wait.
    RunsHost,
    /// Its thread waits for what another rank waits for.
    WaitsAsAnother,
    /// It does not say.
    Silent,
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Idle::HasLeft => "has left the world",
            Idle::RunsKernel => "runs a kernel",
            Idle::RunsHost => "runs code of the host",
            Idle::WaitsAsAnother => "waits as another rank, in the same thread",
            Idle::Silent => "has not said what it waits for; it computes, or does not answer",
        })
    }
}

/// The reports, those of ranks at fault first.
pub(crate) fn by_fault(mut reports: Vec<WaitReport>) -> Vec<WaitReport> {
    reports.sort_by_key(|report| (report.kind, report.rank));
    reports
}

/// Each report on lines of its own; the last line tells how to find out more.
pub(crate) fn spelled(reports: &[WaitReport]) -> String {
    let lines: Vec<String> = reports.iter().map(ToString::to_string).collect();
    let more = if reports.iter().any(|report| report.is_unrecorded) { UNRECORDED } else { "" };
    format!("{}{more}", lines.join("\n"))
}

/// What a rank tells of itself, for others to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) kind: ReportKind,
    pub(crate) what: String,
    pub(crate) is_unrecorded: bool,
}

impl Told {
    /// A rank that does not wait tells so.
    pub(crate) fn idle(idle: Idle) -> Told {
        Told { kind: ReportKind::NotWaiting, what: format!("it {idle}"), is_unrecorded: false }
    }

    /// As ranks leave it for each other.
    pub(crate) fn encode(&self) -> String {
        let kind = match (self.kind, self.is_unrecorded) {
            (ReportKind::NotWaiting, _) => 'n',
            (ReportKind::ForItself, _) => 's',
            (ReportKind::ForWords, false) => 'w',
            (ReportKind::ForWords, true) => 'W',
            (ReportKind::ForRanks, _) => 'r',
        };
        format!("{kind}{}", self.what)
    }

    /// What was left; `None` if that is nothing of this kind.
    pub(crate) fn decode(text: &str) -> Option<Told> {
        let mut letters = text.chars();
        let (kind, is_unrecorded) = match letters.next()? {
            'n' => (ReportKind::NotWaiting, false),
            's' => (ReportKind::ForItself, false),
            'w' => (ReportKind::ForWords, false),
            'W' => (ReportKind::ForWords, true),
            'r' => (ReportKind::ForRanks, false),
            _ => return None,
        };
        Some(Told { kind, what: letters.as_str().to_owned(), is_unrecorded })
    }
}

impl From<&Awaited> for Told {
    fn from(awaited: &Awaited) -> Told {
        let kind = match awaited {
            Awaited::Collective { .. } => ReportKind::ForRanks,
            Awaited::Stream { .. } => ReportKind::ForItself,
            Awaited::Word { .. } | Awaited::Kernel { .. } => ReportKind::ForWords,
        };
        Told { kind, what: awaited.to_string(), is_unrecorded: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(kind: ReportKind, what: &str, is_unrecorded: bool) -> Told {
        Told { kind, what: what.to_owned(), is_unrecorded }
    }

    #[test]
    fn what_ranks_tell_travels_as_text() {
        for kind in [ReportKind::NotWaiting, ReportKind::ForItself, ReportKind::ForWords, ReportKind::ForRanks] {
            let wait = wait(kind, "in kernel `k`\n  ünd", kind == ReportKind::ForWords);
            assert_eq!(Told::decode(&wait.encode()), Some(wait));
        }
        assert_eq!(Told::decode(""), None);
    }

    #[test]
    fn ranks_at_fault_come_first_whatever_they_say() {
        let report = |rank, kind, what| WaitReport::of(rank, [wait(kind, what, rank == 2)]).expect("it tells");
        let reports = by_fault(vec![
            report(0, ReportKind::ForRanks, "in barrier of the world"),
            report(2, ReportKind::ForWords, "in kernel `it`"),
            report(1, ReportKind::ForWords, "waiting for a word"),
            WaitReport::not_waiting(3, Idle::HasLeft),
        ]);
        let text = spelled(&reports);
        assert_eq!(reports.iter().map(|report| report.rank).collect::<Vec<_>>(), [3, 1, 2, 0]);
        assert!(
            text.starts_with("rank 3: it has left the world\nrank 1: waiting for a word\nrank 2: in kernel `it`\n")
        );
        assert!(text.ends_with("`shoal check` tells it always") && text.matches("SHOAL_DEBUG").count() == 1, "{text}");
    }

    #[test]
    fn a_rank_may_wait_in_several_places() {
        let two = [wait(ReportKind::ForWords, "here", false), wait(ReportKind::ForRanks, "there", false)];
        assert_eq!(WaitReport::of(4, two).expect("it tells").to_string(), "rank 4: here\n  and there");
        assert_eq!(WaitReport::of(4, []), None);
    }
}
