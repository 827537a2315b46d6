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
//!
//! A test of a kernel file is one line: [`assert_clean`] checks all its harnesses and fails with the report.

mod devices;
mod file_harness;
mod mutate;
mod occupancy;
mod order;
mod recording;
mod report;
mod shrink;
mod speed;
mod stream_harness;
mod streams;
mod sweep;
mod token;
mod topology;

use std::path::Path;

pub use devices::{DEVICES, DeviceModel, UnitLimits, device_named};
pub use mutate::{Mutant, Mutants, Mutated, mutate};
pub use occupancy::{Footprint, KernelRoom};
pub use recording::{Contents, HostBuffer, RankHost};
pub use report::Verdict;
pub use shoal_interp::Compare;
pub use shoal_interp::explore::{Finding, Found, Outcome, Watcher};
pub use shoal_lang::{HarnessDecl, HarnessValue};
pub use speed::{Speed, speed};
pub use streams::{HostEvent, HostGraph, HostPlace, HostStream};
pub use sweep::{Setting, Sweep, Values, sweep};
pub use token::Token;

use shoal_interp::explore::{Settings, explore, needed_residency, replay, search};

use crate::{Error, Module};
use recording::Recording;
use shrink::Shrinkable;

/// How many programs of a rank are resident at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Room {
    /// All.
    #[default]
    All,
    /// So many of any kernel.
    Programs(usize),
    /// So many of each kernel, in the order in which they are first launched.
    Kernels(Vec<usize>),
    /// As many of each kernel as the device holds.
    Device(DeviceModel),
}

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
    /// How many programs of a rank are resident at once.
    pub room: Room,
    /// Values for parameters of the harness.
    pub params: Vec<(String, HarnessValue)>,
    /// The most programs that launches have along an axis of their grids, whatever the harness says; `None`: as it says.
    /// Outputs are not looked at then. It is for races, which need few programs.
    pub grid_cut: Option<u32>,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        let (room, params, grid_cut) = (Room::All, Vec::new(), None);
        CheckOptions { ranks: 2, launches: 2, schedules: 200, seed: 1, room, params, grid_cut }
    }
}

impl CheckOptions {
    fn settings(&self) -> Settings {
        let resident = match self.room {
            Room::Programs(programs) => Some(programs),
            // These are limits of launches.
            Room::All | Room::Kernels(_) | Room::Device(_) => None,
        };
        Settings { schedules: self.schedules, seed: self.seed, resident, ..Settings::default() }
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
    let sizes = shrink::sizes(module, harness, options);
    let mut record = |options: &CheckOptions| file_harness::record(module, harness, options);
    explored(&mut Shrinkable { record: &mut record, sizes }, options, watcher)
}

/// Checks what a function does for each rank.
///
/// # Errors
/// The function's own errors, and those of [`check`].
pub fn check_with(
    options: &CheckOptions,
    mut host: impl FnMut(&mut RankHost<'_>) -> Result<(), Error>,
) -> Result<Verdict, Error> {
    let mut record = |options: &CheckOptions| Recording::new(options, &mut host);
    explored(&mut Shrinkable { record: &mut record, sizes: Vec::new() }, options, &mut ())
}

/// Checks every harness of a kernel file in worlds of these sizes, each under 200 schedules.
///
/// ```
/// // In a test: `assert_clean("kernels/ring.py", &[2, 3, 4])`.
/// let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/pass/relaxed_wait.py");
/// shoal::check::assert_clean(ring, &[2, 3]);
/// ```
///
/// # Panics
/// With the report, if anything is found; with the error, if the file or a harness is wrong or there is no harness.
#[track_caller]
pub fn assert_clean(file: impl AsRef<Path>, ranks: &[usize]) {
    let file = file.as_ref();
    let module = Module::from_file(file).unwrap_or_else(|error| panic!("{error}"));
    let harnesses = module.harnesses();
    assert!(!harnesses.is_empty(), "{} has no harness: a function with `@shoal.harness`", file.display());
    for harness in harnesses {
        for &ranks in ranks {
            let options = CheckOptions { ranks, ..CheckOptions::default() };
            let verdict = check(&module, &harness.name, &options).unwrap_or_else(|error| panic!("{error}"));
            assert!(verdict.is_clean(), "{}:{}:\n{verdict}", file.display(), harness.name);
        }
    }
}

/// Runs a harness of a file under the one schedule of a token, in a world as it says. [`Verdict::order`] tells the order
/// in which everybody moved.
///
/// # Errors
/// As [`check`].
pub fn replay_token(module: &Module, harness: &str, token: &Token) -> Result<Verdict, Error> {
    let options = token.options();
    let recording = file_harness::record(module, harness, &options)?;
    let scenario = recording.scenario();
    let replayed = replay(&scenario, &options.settings(), &token.schedule, &mut ());
    let (findings, turns) = replayed.map_err(cannot_run)?;
    let found = |finding| Found { finding, schedule: token.schedule.clone(), times: 1 };
    let outcome = Outcome { found: findings.into_iter().map(found).collect(), schedules: 1, ..Outcome::default() };
    Ok(Verdict::new(&recording, &options, outcome, None).of_token(token.clone(), turns))
}

fn explored(harness: &mut Shrinkable<'_>, options: &CheckOptions, watcher: &mut dyn Watcher) -> Result<Verdict, Error> {
    let recording = (harness.record)(options)?;
    let (scenario, settings) = (recording.scenario(), options.settings());
    let outcome = explore(&scenario, &settings, watcher).map_err(cannot_run)?;
    // How many must be resident is worth knowing of what is right, and of what only has too little room.
    let only_room = outcome.found.iter().all(|found| matches!(found.finding, Finding::Deadlock(_)));
    let needed = match options.room {
        Room::All => None,
        Room::Programs(_) | Room::Kernels(_) | Room::Device(_) if !only_room || outcome.interrupted => None,
        Room::Programs(_) | Room::Kernels(_) | Room::Device(_) => {
            let scenario = recording.roomy_scenario();
            let free = Settings { resident: None, schedules: settings.schedules.min(24), ..settings };
            let right = search(&scenario, &free, watcher).map_err(cannot_run)?.found.is_empty();
            let grid = recording.largest_grid();
            right.then(|| needed_residency(&scenario, &free, grid, watcher)).transpose().map_err(cannot_run)?
        }
    };
    let mut verdict = Verdict::new(&recording, options, outcome, needed);
    drop(scenario);
    shrink::shrink(&mut verdict, harness, watcher);
    Ok(verdict)
}

fn cannot_run(error: shoal_interp::Error) -> Error {
    Error::Interpreter(error.to_string())
}
