//! How fast exploration is, and what following every access costs against the plain interpreter.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use shoal_interp::explore::{Settings, search};

use super::{CheckOptions, cannot_run, file_harness};
use crate::{Error, Module};

/// What an exploration took. Times are processor time, so that a busy machine does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speed {
    /// Schedules run, with and without following accesses each.
    pub schedules: usize,
    /// Operations executed in them.
    pub operations: u64,
    /// Accesses to memory followed, elements of tiles counted one by one.
    pub accesses: u64,
    /// With every access followed.
    pub checked: Duration,
    /// The same schedules in the plain interpreter.
    pub plain: Duration,
}

/// Explores a harness, in turns with and without following accesses, and says how long each took at best.
///
/// # Errors
/// As [`check`](super::check), and when something is found: what is wrong ends runs early.
pub fn speed(module: &Module, harness: &str, options: &CheckOptions, rounds: usize) -> Result<Speed, Error> {
    let recording = file_harness::record(module, harness, options)?;
    let scenario = recording.scenario();
    let run = |follow_accesses| {
        let begin = processor_time();
        let settings = Settings { follow_accesses, ..options.settings() };
        let outcome = search(&scenario, &settings, &mut ()).map_err(cannot_run)?;
        match outcome.found.first() {
            None => Ok((outcome, processor_time() - begin)),
            Some(found) => Err(Error::Text(format!("{harness} is not clean: {}", found.finding))),
        }
    };
    let (mut checked, mut plain) = (Duration::MAX, Duration::MAX);
    let (mut schedules, mut operations, mut accesses) = (0, 0, 0);
    for _ in 0..rounds.max(1) {
        let (outcome, took) = run(true)?;
        checked = checked.min(took);
        (schedules, operations, accesses) = (outcome.schedules, outcome.steps, outcome.events);
        plain = plain.min(run(false)?.1);
    }
    Ok(Speed { schedules, operations, accesses, checked, plain })
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
