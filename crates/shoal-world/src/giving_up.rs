//! Waits in vain: every rank tells what it was waiting for, in kernels, in barriers and elsewhere.
//!
//! Where all ranks are threads of one process, they find out together that nobody is left to end their waits
//! ([`LaunchGroup`](shoal_driver::LaunchGroup)), and tell each other. If all are in kernels, these end, and the ranks may go
//! on; otherwise the world ends.
//!
//! Elsewhere, and when a rank is too late, the rank that gives up first tells the others by ending the world, which ends
//! their waits, in kernels and elsewhere. Each leaves what it was waiting for where all can read it; the first one collects
//! that, and does not wait for long for ranks that say nothing: they compute, or hang.
//!
//! Reports begin with who is at fault, as far as that shows: ranks that have left or do not wait, then those that wait for
//! something that no rank has to bring, then those that wait for other ranks to come.

use std::time::{Duration, Instant};

use shoal_driver::{AwaitedValue, Doing, LaunchError, Verdict};

use crate::engine::{Awaited, Engine, EngineKind};
use crate::error::{Failure, WorldError, listed_names, spell};
use crate::launcher;
use crate::rank::Rank;

/// How long the others have to say what they wait for. Launchers give ranks a second after the first has failed.
pub(crate) const COLLECTING: Duration = Duration::from_millis(600);
pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How to find out more of words whose last writer is not known.
const UNRECORDED: &str = "\n  who wrote a word last is recorded for `notify` and signals, with SHOAL_DEBUG=1 also for stores \
                          and for other ranks' atomics; `shoal check` tells it always";

impl Rank {
    /// What every rank waits for, that of a rank at fault first, when a launch of this one is stuck.
    ///
    /// Unless all ranks share a process and all wait in launches, this ends the world.
    ///
    /// # Errors
    ///
    /// The error of this rank alone, if the world had ended already.
    pub fn wait_in_vain(&self, stuck: &LaunchError) -> Result<Vec<String>, WorldError> {
        let waits = told(stuck);
        let verdict = self.group().and_then(|group| group.take_verdict(self.rank()));
        if let Some(failure) = self.failure() {
            if matches!(stuck, LaunchError::Stuck { waiting, .. } if waiting.is_empty()) {
                return Err(WorldError::failed(self.rank(), None, failure));
            }
            self.access().post_wait(&waits);
            return Err(self.ended_in_kernel(&waits, failure));
        }
        if let Some(verdict) = verdict {
            return Ok(told_together(self.access(), &verdict, waits));
        }
        match self.engine() {
            EngineKind::Cuda => Ok(once(self.wait_together(&waits))),
            // Others may be anywhere: in a barrier, in another kernel, or gone.
            EngineKind::Threads | EngineKind::Processes | EngineKind::OpenShmem | EngineKind::Nvshmem => {
                self.give_up(&waits).map(once)
            }
        }
    }

    /// Kernels of all ranks of this process have ended because they waited in vain, or will.
    fn wait_together(&self, waits: &str) -> Vec<String> {
        let left = || (0..self.size()).find(|&rank| self.access().has_left(rank));
        if left().is_none()
            && let Ok(reports) = self.world().all_gather(waits.as_bytes())
        {
            let report = |(rank, text): (usize, &Vec<u8>)| format!("rank {rank}: {}", String::from_utf8_lossy(text));
            return reports.iter().enumerate().map(report).collect();
        }
        self.access().post_wait(waits);
        let reports = collect(self.access());
        if let Some(rank) = left() {
            let (who, why) = (self.access().name(rank), waits.lines().next().unwrap_or_default());
            self.end_world(Failure {
                rank,
                reason: format!("{who} left the world while {} waited: {why}", self.name()),
            });
        }
        reports
    }

    /// Ends the world because programs of this rank wait in vain.
    fn give_up(&self, waits: &str) -> Result<Vec<String>, WorldError> {
        // Before the world ends, so that whoever sees its end finds this.
        self.access().post_wait(waits);
        let why = waits.lines().next().unwrap_or_default();
        // Others leave because the world ends.
        let left_alone = self.left_alone(why).filter(|_| self.engine() != EngineKind::Threads);
        let is_left = left_alone.clone().filter(|_| others_wait(self.access()));
        let failure = is_left.unwrap_or_else(|| self.late(why));
        let ended = self.end_world(failure.clone());
        if ended != failure {
            return Err(self.ended_in_kernel(waits, ended));
        }
        let reports = collect(self.access());
        let is_silent = |rank: &usize| self.access().wait_of(*rank).is_none() && !self.access().has_left(*rank);
        let silent = (0..self.size()).find(is_silent).map(|rank| {
            let reason = format!("{} does not answer: {}", self.access().name(rank), failure.reason);
            Failure { rank, reason }
        });
        if self.engine() != EngineKind::Threads
            && let Some(culprit) = silent.or(left_alone)
        {
            launcher::tell(&culprit);
        }
        Ok(reports)
    }

    /// That ranks have left while this one waited, if some have.
    fn left_alone(&self, why: &str) -> Option<Failure> {
        let left: Vec<usize> = (0..self.size()).filter(|&rank| self.access().has_left(rank)).collect();
        let who: Vec<String> = left.iter().map(|&rank| self.access().name(rank)).collect();
        let reason = format!("{} left the world while {} waited {why}", listed_names(&who), self.name());
        left.first().map(|&rank| Failure { rank, reason })
    }

    /// What ends the world when programs of this rank have waited for too long.
    fn late(&self, why: &str) -> Failure {
        let running = (0..self.size()).find_map(|rank| Some((rank, runs(self.access(), rank)?)));
        match running {
            Some((rank, what)) => {
                let (who, limit) = (self.access().name(rank), spell(self.options().timeout));
                Failure { rank, reason: format!("{who} {what}, while {} waited {limit} {why}", self.name()) }
            }
            None => Failure { rank: self.rank(), reason: format!("{} gave up {why}", self.name()) },
        }
    }

    fn ended_in_kernel(&self, waits: &str, failure: Failure) -> WorldError {
        let waits = waits
            .trim_end_matches(UNRECORDED)
            .trim_start_matches("in ")
            .lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("; ");
        WorldError::failed(self.rank(), Some(Awaited::Kernel { waits }), failure)
    }

    /// The world has ended while this rank waited.
    pub(crate) fn ended_while(&self, awaited: Awaited, failure: Failure) -> WorldError {
        self.access().post_wait(&awaited.to_string());
        WorldError::failed(self.rank(), Some(awaited), failure)
    }

    /// `rank 1: kernel …`, if programs of this rank waited when the world ended.
    pub(crate) fn waited_in_kernel(&self) -> Option<String> {
        let wait = self.access().wait_of(self.rank()).filter(|wait| wait.starts_with("in kernel "))?;
        Some(format!("rank {}: {}", self.rank(), wait.trim_end_matches(UNRECORDED)))
    }
}

/// A collective in which some members did not come: the world ends, unless it has. The rank that ends it tells what all
/// others wait for.
pub(crate) fn unmet(access: &dyn Engine, error: WorldError) -> WorldError {
    let WorldError::Failed { rank, awaited: Some(awaited), failure, .. } = error else { return error };
    let is_first = access.failure().is_none();
    access.post_wait(&awaited.to_string());
    let ended = access.fail(failure.clone());
    // Ranks on GPUs keep no record of their waits.
    if !is_first || ended != failure || access.wait_of(rank).is_none() {
        return WorldError::failed(rank, Some(awaited), ended);
    }
    let own = format!("rank {rank}: ");
    let mut others = collect(access);
    others.retain(|report| !report.starts_with(&own));
    WorldError::Failed { rank, awaited: Some(awaited), failure, others: once(others) }
}

/// Whether all other ranks that have not left say that they wait.
fn others_wait(access: &dyn Engine) -> bool {
    let is_other = |rank: &usize| *rank != access.rank() && !access.has_left(*rank);
    (0..access.size()).filter(is_other).all(|rank| access.beat_of(rank).is_some())
}

/// Nobody is left who could bring what this rank waits for.
pub(crate) fn deadlocked(access: &dyn Engine, verdict: &Verdict, waits: String) -> WorldError {
    WorldError::Deadlock { waits: told_together(access, verdict, waits) }
}

/// What all ranks tell that wait in vain. Unless all can end what they are in, the world ends.
fn told_together(access: &dyn Engine, verdict: &Verdict, waits: String) -> Vec<String> {
    let told = verdict.tell(access.rank(), waits);
    let of = |rank: usize| {
        let told: Vec<&str> = told.iter().filter(|(of, _)| *of == rank).map(|(_, text)| text.as_str()).collect();
        if told.is_empty() { told_by(access, rank) } else { format!("rank {rank}: {}", told.join("\n  and ")) }
    };
    let reports = once(by_fault((0..access.size()).map(of).collect()));
    if !verdict.only_launches() {
        let first = reports.first().map(String::as_str).unwrap_or_default();
        let rank = (0..access.size()).find(|rank| first.starts_with(&format!("rank {rank}: "))).unwrap_or_default();
        let first = first.lines().next().unwrap_or_default();
        access.fail(Failure { rank, reason: format!("no rank could go on; {first}") });
    }
    reports
}

/// The reports, those of ranks at fault first.
fn by_fault(mut reports: Vec<String>) -> Vec<String> {
    reports.sort_by_key(|report| {
        let (_, text) = report.split_once(": ").unwrap_or_default();
        match () {
            () if text.starts_with("it ") => 0,
            () if text.starts_with("in kernel ") || text.starts_with("waiting for ") => 1,
            () => 2,
        }
    });
    reports
}

/// What every rank has told, after a while.
fn collect(access: &dyn Engine) -> Vec<String> {
    let until = Instant::now() + COLLECTING;
    let is_silent = |rank: usize| access.wait_of(rank).is_none() && !access.has_left(rank);
    while (0..access.size()).any(is_silent) && Instant::now() < until {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    by_fault((0..access.size()).map(|rank| told_by(access, rank)).collect())
}

fn told_by(access: &dyn Engine, rank: usize) -> String {
    match access.wait_of(rank) {
        Some(wait) => format!("rank {rank}: {wait}"),
        None if access.has_left(rank) => format!("rank {rank}: it has left the world"),
        None => match runs(access, rank) {
            Some(what) => format!("rank {rank}: it {what}"),
            None => format!("rank {rank}: it has not said what it waits for; it computes, or does not answer"),
        },
    }
}

/// What a rank does that does not wait, if that is known.
fn runs(access: &dyn Engine, rank: usize) -> Option<&'static str> {
    match access.doing(rank)? {
        Doing::RunsKernel => Some("runs a kernel and waits for nothing"),
        Doing::RunsHost => Some("runs code of the host and waits for nothing"),
        Doing::Waits | Doing::Nothing => None,
    }
}

/// What programs wait for, and how to find out more.
fn told(stuck: &LaunchError) -> String {
    let (LaunchError::Stuck { waiting, .. }, Some(waits)) = (stuck, stuck.waits()) else { return stuck.to_string() };
    let is_unknown = |value: &AwaitedValue| value.place.is_some() && value.last_writer.is_none();
    let more = waiting.iter().filter_map(|waiting| waiting.value.as_ref()).any(is_unknown);
    format!("{waits}{}", if more { UNRECORDED } else { "" })
}

/// The reports, of which the last alone tells how to find out more.
fn once(mut reports: Vec<String>) -> Vec<String> {
    let mut more = "";
    for report in &mut reports {
        if report.contains(UNRECORDED) {
            *report = report.replace(UNRECORDED, "");
            more = UNRECORDED;
        }
    }
    if let Some(last) = reports.last_mut() {
        last.push_str(more);
    }
    reports
}
