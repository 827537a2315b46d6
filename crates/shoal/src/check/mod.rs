//! Checking the kernels of a world: races, deadlocks, residency, stray accesses, before anything runs on a device.
//!
//! A *harness* says what the host of each rank does: it allocates buffers, launches kernels and meets the other hosts.
//! It is a function of the kernel file (`@shoal.harness`, see [`Module::harnesses`]) or of a Rust test
//! ([`check_with`]). The world that it describes is run by the interpreter under many schedules, and every access is
//! followed; see [`shoal_interp::explore`].
//!
//! ```
//! use shoal::check::{CheckOptions, check};
//!
//! let text = "
//! import shoal
//! import shoal.language as tl
//!
//! @shoal.jit
//! def count(total):
//!     tl.store(total, tl.load(total) + 1)
//!
//! @shoal.harness
//! def two_programs(world):
//!     count[(2,)](world.symm(1, 'int32'))
//! ";
//! let module = shoal::Module::from_source("count.py", text)?;
//! let verdict = check(&module, "two_programs", &CheckOptions { ranks: 1, ..CheckOptions::default() })?;
//! assert!(verdict.to_string().contains("data race"));
//! # Ok::<(), shoal::Error>(())
//! ```

mod devices;
mod file_harness;
mod mutate;
mod recording;
mod report;
mod stream_harness;
mod streams;
mod sweep;
mod token;

pub use devices::{DEVICES, DeviceModel, device_named};
pub use mutate::{Mutant, mutate};
pub use recording::{Contents, HostBuffer, RankHost};
pub use report::Verdict;
pub use shoal_interp::explore::{Finding, Found, Outcome, Watcher};
pub use shoal_lang::{HarnessDecl, HarnessValue};
pub use shoal_interp::Compare;
pub use streams::{HostEvent, HostGraph, HostPlace, HostStream};
pub use sweep::{Setting, sweep};
pub use token::Token;

use shoal_interp::explore::{Settings, explore, needed_residency, replay};

use crate::{Error, Module};
use recording::Recording;

/// How a harness is checked.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// The size of the world.
    pub ranks: usize,
    /// How often the harness launches: what it sees as `world.launches`.
    pub launches: usize,
    /// How many schedules are run.
    pub schedules: usize,
    /// The first seed.
    pub seed: u64,
    /// How many programs of a rank are resident at once; `None` for all.
    pub resident: Option<usize>,
    /// Values for parameters of the harness.
    pub params: Vec<(String, HarnessValue)>,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions { ranks: 2, launches: 2, schedules: 200, seed: 1, resident: None, params: Vec::new() }
    }
}

impl CheckOptions {
    fn settings(&self) -> Settings {
        Settings { schedules: self.schedules, seed: self.seed, resident: self.resident, ..Settings::default() }
    }
}

impl Module {
    /// The harnesses of the file, in its order: functions with the decorator `@shoal.harness`.
    #[must_use]
    pub fn harnesses(&self) -> Vec<HarnessDecl> {
        self.program().harnesses()
    }
}

/// Checks a harness of a file.
///
/// # Errors
/// When the harness is wrong, or a kernel does not compile. What is wrong with the kernels is in the verdict.
pub fn check(module: &Module, harness: &str, options: &CheckOptions) -> Result<Verdict, Error> {
    check_watched(module, harness, options, &mut ())
}

/// The same, watched.
///
/// # Errors
/// As [`check`].
pub fn check_watched(
    module: &Module,
    harness: &str,
    options: &CheckOptions,
    watcher: &mut dyn Watcher,
) -> Result<Verdict, Error> {
    let recording = file_harness::record(module, harness, options)?;
    explored(&recording, options, watcher)
}

/// Checks what a function does for each rank.
///
/// # Errors
/// The function's own errors, and those of [`check`].
pub fn check_with(
    options: &CheckOptions,
    host: impl FnMut(&mut RankHost<'_>) -> Result<(), Error>,
) -> Result<Verdict, Error> {
    explored(&Recording::new(options, host)?, options, &mut ())
}

/// Runs a harness of a file under the one schedule of a token, in a world as it says.
///
/// # Errors
/// As [`check`].
pub fn replay_token(
    module: &Module,
    harness: &str,
    token: &Token,
    params: &[(String, HarnessValue)],
) -> Result<Verdict, Error> {
    let options = CheckOptions {
        ranks: token.ranks,
        launches: token.launches,
        resident: token.resident,
        params: params.to_vec(),
        ..CheckOptions::default()
    };
    let recording = file_harness::record(module, harness, &options)?;
    let scenario = recording.scenario();
    let findings = replay(&scenario, &options.settings(), &token.schedule, &mut ()).map_err(cannot_run)?;
    let found = |finding| Found { finding, schedule: token.schedule.clone(), times: 1 };
    let outcome = Outcome { found: findings.into_iter().map(found).collect(), schedules: 1, ..Outcome::default() };
    Ok(Verdict::new(&recording, &options, outcome, None))
}

fn explored(recording: &Recording, options: &CheckOptions, watcher: &mut dyn Watcher) -> Result<Verdict, Error> {
    let (scenario, settings) = (recording.scenario(), options.settings());
    let outcome = explore(&scenario, &settings, watcher).map_err(cannot_run)?;
    let grid = recording.largest_grid();
    // How many must be resident is worth knowing of what is right, and of what only has too little room.
    let only_room = outcome.found.iter().all(|found| matches!(found.finding, Finding::Deadlock(_)));
    let needed = match options.resident {
        Some(_) if only_room => {
            let free = Settings { resident: None, schedules: settings.schedules.min(24), ..settings.clone() };
            let right = explore(&scenario, &free, watcher).map_err(cannot_run)?.found.is_empty();
            right.then(|| needed_residency(&scenario, &settings, grid, watcher)).transpose().map_err(cannot_run)?
        }
        _ => None,
    };
    Ok(Verdict::new(recording, options, outcome, needed))
}

fn cannot_run(error: shoal_interp::Error) -> Error {
    Error::Interpreter(error.to_string())
}
