//! Waits in vain: every rank tells what it was waiting for, in kernels, in barriers and elsewhere.
//!
//! Where all ranks are threads of one process, they find out together that nobody is left to end their waits
//! ([`LaunchGroup`](shoal_driver::LaunchGroup)), and tell each other. If all are in kernels, these end, and the ranks may go
//! on; otherwise the world ends.
//!
//! Elsewhere, and when a rank is too late, the rank that gives up first tells the others by ending the world, which ends
//! their waits, in kernels and elsewhere. Each leaves what it was waiting for where all can read it; the first one collects
//! that, and does not wait for long for ranks that say nothing: they compute, or hang. Until then who is at fault is a
//! suspicion; the others wait for its [conclusion](Engine::conclude), so that all name the same rank.
//!
//! Reports begin with who is at fault, as far as that shows: ranks that have left or do not wait, then those that wait for
//! their own streams, for words of memory, and for other ranks to come.

use std::time::{Duration, Instant};

use shoal_driver::{AwaitedValue, Doing, LaunchError, Verdict};

use crate::engine::cuda::GpuRank;
use crate::engine::{Awaited, Call, Certainty, Engine, EngineKind};
use crate::error::{Failure, WorldError, listed_names, spell};
use crate::rank::Rank;
use crate::wait_report::{Idle, ReportKind, Told, WaitReport, by_fault};

/// How long the others have to say what they wait for.
pub(crate) const COLLECTING: Duration = Duration::from_millis(600);
/// How long they wait for what comes of that. Launchers give ranks a second after the first has ended.
pub(crate) const CONCLUDING: Duration = Duration::from_millis(800);
pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

impl Rank {
    /// The error of a launch of this rank that is stuck: [what every rank waits for](WorldError::Deadlock), or that of this
    /// rank alone, if the world had ended already.
    ///
    /// Unless all ranks share a process and all wait in launches, this ends the world.
    #[must_use]
    pub fn wait_in_vain(&self, stuck: &LaunchError) -> WorldError {
        self.note_giving_up();
        let waits = told(stuck);
        let verdict = self.group().and_then(|group| group.take_verdict(self.rank()));
        if let Some(failure) = self.failure() {
            if matches!(stuck, LaunchError::Stuck { waiting, .. } if waiting.is_empty()) {
                return ended_by(self.access(), &Told::idle(Idle::RunsKernel), None, failure);
            }
            return self.ended_in_kernel(&waits, failure);
        }
        if let Some(verdict) = verdict {
            return deadlocked(self.access(), &verdict, &waits);
        }
        match self.engine() {
            EngineKind::Cuda => WorldError::Deadlock { waits: self.wait_together(&waits) },
            // Others may be anywhere: in a barrier, in another kernel, or gone.
            EngineKind::Threads | EngineKind::Processes | EngineKind::OpenShmem | EngineKind::Nvshmem => {
                self.give_up(&waits)
            }
        }
    }

    /// Waits for what this rank has launched on a GPU. If it waits in vain, all ranks tell each other what for.
    pub(crate) fn settle(&self) -> Result<(), WorldError> {
        let Err(error) = self.gpu().map_or(Ok(()), GpuRank::settle) else { return Ok(()) };
        match &error {
            WorldError::Launch(stuck) if matches!(**stuck, LaunchError::Stuck { .. }) => Err(self.wait_in_vain(stuck)),
            WorldError::Failed { awaited, failure, .. } => Err(ended(self.access(), awaited.clone(), failure.clone())),
            _ => Err(error),
        }
    }

    /// Kernels of all ranks of this process have ended because they waited in vain, or will.
    fn wait_together(&self, waits: &Told) -> Vec<WaitReport> {
        let left = || (0..self.size()).find(|&rank| self.access().has_left(rank));
        if left().is_none() {
            match self.world().exchange(Call::GivesUp, waits.encode().as_bytes()) {
                Ok(told) => return told.iter().enumerate().filter_map(|(rank, told)| gathered(rank, told)).collect(),
                Err(WorldError::Deadlock { waits }) => return waits,
                Err(_) => {}
            }
        }
        self.access().post_report(&waits.encode());
        let reports = collect(self.access());
        if let Some(rank) = left() {
            let (who, why) = (self.access().name(rank), first_line(waits));
            self.end_world(Failure {
                rank,
                reason: format!("{who} left the world while {} waited: {why}", self.name()),
            });
        }
        reports
    }

    /// Ends the world because programs of this rank wait in vain.
    fn give_up(&self, waits: &Told) -> WorldError {
        // Before the world ends, so that whoever sees its end finds this.
        self.access().post_report(&waits.encode());
        let why = first_line(waits);
        // Others leave because the world ends.
        let left_alone = self.left_alone(why).filter(|_| self.engine() != EngineKind::Threads);
        let is_left = left_alone.clone().filter(|_| others_wait(self.access()));
        let waited = || format!("{} waited {} {why}", self.name(), spell(self.options().timeout));
        let suspicion = is_left.or_else(|| held_up(self.access(), &waited())).unwrap_or_else(|| {
            let reason = format!("{} gave up {why}", self.name());
            Failure { rank: self.rank(), reason }
        });
        if let Err(earlier) = self.access().fail(suspicion.clone(), Certainty::Suspected) {
            return self.ended_in_kernel(waits, earlier);
        }
        let mut waits = collect(self.access());
        let culprit = culprit(self.access(), &waits, &suspicion).or(left_alone);
        let failure = conclude(self.access(), culprit.unwrap_or(suspicion));
        waits.sort_by_key(|report| report.rank != failure.rank);
        WorldError::Deadlock { waits }
    }

    /// That ranks have left while this one waited, if some have.
    fn left_alone(&self, why: &str) -> Option<Failure> {
        let left: Vec<usize> = (0..self.size()).filter(|&rank| self.access().has_left(rank)).collect();
        let who: Vec<String> = left.iter().map(|&rank| self.access().name(rank)).collect();
        let reason = format!("{} left the world while {} waited {why}", listed_names(&who), self.name());
        left.first().map(|&rank| Failure { rank, reason })
    }

    /// What a thread of this rank waits for did not come, see [`unmet`]. Other threads give it the time to collect.
    pub(crate) fn give_up_on(&self, error: WorldError) -> WorldError {
        self.note_giving_up();
        unmet(self.access(), error)
    }

    fn ended_in_kernel(&self, waits: &Told, failure: Failure) -> WorldError {
        ended_by(self.access(), waits, Some(in_kernel(waits)), failure)
    }

    /// What programs of this rank waited for when the world ended, if they did.
    pub(crate) fn waited_in_kernel(&self) -> Option<WaitReport> {
        let told = posted(self.access(), self.rank()).filter(|told| told.what.starts_with("in kernel "))?;
        WaitReport::of(self.rank(), [Told { is_unrecorded: false, ..told }])
    }
}

/// What a rank says that waits for something, or would, in a world that has ended. If no rank could go on, all give the
/// same report.
pub(crate) fn ended(access: &dyn Engine, awaited: Option<Awaited>, failure: Failure) -> WorldError {
    let told = awaited.as_ref().map_or_else(|| Told::idle(Idle::RunsHost), Told::from);
    ended_by(access, &told, awaited, failure)
}

/// The same of a rank that comes to a collective after the end: it did not wait for the others, whatever they waited for.
/// Where all ranks are threads of this process, that is known.
pub(crate) fn came_late(access: &dyn Engine, awaited: Awaited, failure: Failure) -> WorldError {
    match access.doing(access.rank()) {
        Some(_) => ended(access, Some(awaited), failure),
        None => ended_by(access, &Told::idle(Idle::RunsHost), Some(awaited), failure),
    }
}

/// The same of a rank that tells what it does.
fn ended_by(access: &dyn Engine, told: &Told, awaited: Option<Awaited>, failure: Failure) -> WorldError {
    if let Some(waits) = access.deadlock() {
        return WorldError::Deadlock { waits };
    }
    // Where all ranks are threads of this process, others know that it runs; another thread of the rank may wait.
    let is_asked = access.is_undecided() && access.doing(access.rank()).is_none();
    if told.kind != ReportKind::NotWaiting || is_asked {
        access.post_report(&told.encode());
    }
    WorldError::failed(access.rank(), awaited, concluded(access, failure))
}

/// Tells all ranks who is at fault. Gives what they say.
fn conclude(access: &dyn Engine, failure: Failure) -> Failure {
    access.conclude(&failure);
    // Another rank may have ended the world at the same time.
    concluded(access, failure)
}

/// What has ended the world, once it is known who is at fault, or nobody finds out.
fn concluded(access: &dyn Engine, suspicion: Failure) -> Failure {
    let until = Instant::now() + CONCLUDING;
    while access.is_undecided() && Instant::now() < until {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    if access.is_undecided() {
        // Who asked does not answer itself.
        let suspicion = access.failure().unwrap_or_else(|| suspicion.clone());
        access.conclude(&culprit(access, &reports(access), &suspicion).unwrap_or(suspicion));
    }
    access.failure().unwrap_or(suspicion)
}

/// That another rank runs, as far as that is known, while this one has waited for too long, as is told.
pub(crate) fn held_up(access: &dyn Engine, waited: &str) -> Option<Failure> {
    if runs(access, access.rank()).is_some() {
        return None;
    }
    let (rank, what) = (0..access.size()).find_map(|rank| Some((rank, runs(access, rank)?)))?;
    Some(Failure { rank, reason: format!("{} {what}, while {waited}", access.name(rank)) })
}

/// What a rank waits for did not come: the world ends, unless it has. The rank that ends it tells what all others wait for.
/// [`Rank::give_up_on`] is the same for what other threads of the rank wait for.
pub(crate) fn unmet(access: &dyn Engine, error: WorldError) -> WorldError {
    let WorldError::Failed { rank, awaited, failure: suspicion, .. } = error else { return error };
    let Some(awaited) = awaited else { return ended(access, None, suspicion) };
    // Before the world ends, so that whoever sees its end finds this.
    access.post_report(&Told::from(&awaited).encode());
    if let Err(earlier) = access.fail(suspicion.clone(), Certainty::Suspected) {
        return ended(access, Some(awaited), earlier);
    }
    let mut others = collect(access);
    // What is in its own stream, no other rank has to bring.
    let is_own = matches!(awaited, Awaited::Stream { .. });
    let culprit = if is_own { None } else { culprit(access, &others, &suspicion) };
    let failure = conclude(access, culprit.unwrap_or(suspicion));
    others.retain(|report| report.rank != rank);
    WorldError::Failed { rank, awaited: Some(awaited), failure, others }
}

/// Who does not wait, or for itself alone, unless it is the one that is suspected: the others wait for it, whatever they
/// wait for.
fn culprit(access: &dyn Engine, reports: &[WaitReport], suspicion: &Failure) -> Option<Failure> {
    let waits_for_none = |report: &&WaitReport| matches!(report.kind, ReportKind::NotWaiting | ReportKind::ForItself);
    let idle = reports.iter().filter(waits_for_none).filter(|report| !access.has_left(report.rank));
    let is_idle = idle.clone().any(|report| report.rank == suspicion.rank);
    // One that waits for words did not come to a collective either, and is suspected with those that do not wait.
    let is_for_words = reports.iter().any(|report| report.kind == ReportKind::ForWords);
    if access.has_left(suspicion.rank) || is_idle && !is_for_words {
        return None;
    }
    let (answered, silent): (Vec<&WaitReport>, Vec<&WaitReport>) =
        idle.partition(|report| access.report_of(report.rank).is_some());
    // Threads of this process need not answer.
    if let Some(&&WaitReport { rank, .. }) = silent.first().filter(|_| access.doing(access.rank()).is_none()) {
        let who: Vec<String> = silent.iter().map(|report| access.name(report.rank)).collect();
        let answer = if silent.len() == 1 { "does not answer" } else { "do not answer" };
        return Some(Failure { rank, reason: format!("{} {answer}: {}", listed_names(&who), suspicion.reason) });
    }
    let WaitReport { rank, what, .. } = answered.first()?;
    let does = what.strip_prefix("it ").map_or_else(|| format!("is {what}"), str::to_owned);
    Some(Failure { rank: *rank, reason: format!("{} {does}, while {}", access.name(*rank), suspicion.reason) })
}

/// Whether all other ranks that have not left say that they wait.
fn others_wait(access: &dyn Engine) -> bool {
    let is_other = |rank: &usize| *rank != access.rank() && !access.has_left(*rank);
    (0..access.size()).filter(is_other).all(|rank| access.beat_of(rank).is_some())
}

/// Nobody is left who could bring what this rank waits for: all ranks tell each other. Unless all can end what they are in,
/// the world ends.
pub(crate) fn deadlocked(access: &dyn Engine, verdict: &Verdict, waits: &Told) -> WorldError {
    let told = verdict.tell(access.rank(), waits.encode());
    let of = |rank: usize| {
        let told = told.iter().filter(|(of, _)| *of == rank).filter_map(|(_, text)| Told::decode(text));
        // All wait, so one that is there and tells nothing does so elsewhere.
        let otherwise = if access.has_left(rank) { Idle::HasLeft } else { Idle::WaitsAsAnother };
        WaitReport::of(rank, told).unwrap_or_else(|| WaitReport::not_waiting(rank, otherwise))
    };
    let waits = by_fault((0..access.size()).map(of).collect());
    if !verdict.only_launches() {
        end_in_deadlock(access, &waits);
    }
    WorldError::Deadlock { waits }
}

/// Some members of a team wait in kernels in vain and tell what for, while the others have called something: the world ends.
pub(crate) fn given_up(access: &dyn Engine, team: &str, calls: &[(usize, Call, Vec<u8>)]) -> WorldError {
    let of = |(rank, call, told): &(usize, Call, Vec<u8>)| match call {
        Call::GivesUp => gathered(*rank, told).unwrap_or_else(|| told_by(access, *rank)),
        &call => {
            let Told { kind, what, is_unrecorded } = Told::from(&Awaited::Collective { call, team: team.to_owned() });
            WaitReport { rank: *rank, kind, what, is_unrecorded }
        }
    };
    let waits = by_fault(calls.iter().map(of).collect());
    end_in_deadlock(access, &waits);
    WorldError::Deadlock { waits }
}

/// Ends the world because no rank could go on.
fn end_in_deadlock(access: &dyn Engine, waits: &[WaitReport]) {
    let Some(first) = waits.first() else { return };
    let told = first.to_string();
    let told = told.lines().next().unwrap_or_default();
    if access.failure().is_none() {
        access.post_deadlock(waits);
    }
    let reason = format!("no rank could go on; {told}");
    // What the world has failed of before counts.
    let _ = access.fail(Failure { rank: first.rank, reason }, Certainty::Known);
}

/// What a rank has told in a collective.
pub(crate) fn gathered(rank: usize, told: &[u8]) -> Option<WaitReport> {
    WaitReport::of(rank, Told::decode(&String::from_utf8_lossy(told)))
}

/// What a rank has left to be read.
fn posted(access: &dyn Engine, rank: usize) -> Option<Told> {
    access.report_of(rank).and_then(|text| Told::decode(&text))
}

fn first_line(waits: &Told) -> &str {
    waits.what.lines().next().unwrap_or_default()
}

/// What every rank has told, after a while.
fn collect(access: &dyn Engine) -> Vec<WaitReport> {
    let until = Instant::now() + COLLECTING;
    let is_silent = |rank: usize| access.report_of(rank).is_none() && !access.has_left(rank);
    while (0..access.size()).any(is_silent) && Instant::now() < until {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    reports(access)
}

/// What every rank has told until now, or is seen to do.
fn reports(access: &dyn Engine) -> Vec<WaitReport> {
    by_fault((0..access.size()).map(|rank| told_by(access, rank)).collect())
}

/// The same; nothing if none has told anything.
pub(crate) fn told_by_all(access: &dyn Engine) -> Vec<WaitReport> {
    access.deadlock().unwrap_or_else(|| match (0..access.size()).any(|rank| access.report_of(rank).is_some()) {
        true => reports(access),
        false => Vec::new(),
    })
}

fn told_by(access: &dyn Engine, rank: usize) -> WaitReport {
    if let Some(report) = WaitReport::of(rank, posted(access, rank)) {
        return report;
    }
    let idle = if access.has_left(rank) { Idle::HasLeft } else { runs(access, rank).unwrap_or(Idle::Silent) };
    WaitReport::not_waiting(rank, idle)
}

/// What a rank does that does not wait, if that is known.
pub(crate) fn runs(access: &dyn Engine, rank: usize) -> Option<Idle> {
    match access.doing(rank)? {
        Doing::RunsKernel => Some(Idle::RunsKernel),
        Doing::RunsHost => Some(Idle::RunsHost),
        Doing::Waits | Doing::Nothing => None,
    }
}

/// What programs of a launch wait for, as part of an error of this rank alone.
pub(crate) fn in_kernel(waits: &Told) -> Awaited {
    let waits = waits.what.trim_start_matches("in ").lines().map(str::trim).collect::<Vec<_>>().join("; ");
    Awaited::Kernel { waits }
}

/// What programs of a launch wait for.
pub(crate) fn told(stuck: &LaunchError) -> Told {
    let unknown = match stuck {
        LaunchError::Stuck { waiting, .. } => {
            let is_unknown = |value: &AwaitedValue| value.place.is_some() && value.last_writer.is_none();
            waiting.iter().filter_map(|waiting| waiting.value.as_ref()).any(is_unknown)
        }
        _ => false,
    };
    let what = stuck.waits().unwrap_or_else(|| stuck.to_string());
    Told { kind: ReportKind::ForWords, what, is_unrecorded: unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[test]
    fn who_gives_up_ends_the_collectives_of_others() {
        let world = World::threads(3).unwrap();
        let told = world.run(|rank| {
            let result = match rank.rank() {
                1 => rank.barrier(),
                _ => {
                    let what = "in kernel `k`".to_owned();
                    let told = Told { kind: ReportKind::ForWords, what, is_unrecorded: false }.encode();
                    rank.world().exchange(Call::GivesUp, told.as_bytes()).map(drop)
                }
            };
            Ok::<_, WorldError>(result.expect_err("nobody can go on").to_string())
        });
        for told in told.unwrap() {
            let lines = ["rank 0: in kernel `k`", "rank 2: in kernel `k`", "rank 1: in barrier of the world"];
            assert!(told.ends_with(&lines.join("\n")), "{told}");
        }
    }
}
