//! Many schedules of one scenario: what can go wrong in any of them.
//!
//! Every run is checked for races, deadlocks, stray accesses, reads of memory never written and outputs never written.
//! Runs differ in whose turn it is: each program in turn; at random; by random priorities, which find mistakes that need
//! one program to be late; rank by rank, which finds those that need a whole rank to be; with a signal that comes after
//! changes of its word that nothing in the first run holds it to precede; and a search through the first choices of a run,
//! one after the other. Whatever is found comes with the schedule that shows it, which repeats it
//! exactly and has as few switches as a short search finds.

mod batch;
mod finding;
mod scenario;
mod schedule_token;
mod shrink;

use std::collections::HashMap;

use shoal_ir::{Const, Scalar, Span};

pub use finding::{BlockedProgram, Deadlock, Finding};
pub use scenario::{Buffer, Expectation, Initial, Output, Scenario};
pub use schedule_token::{NoSchedule, Schedule};

use crate::check::{Checker, Overtakable};
use crate::error::Error;
use crate::launch::{Actors, Host, Idle, Options, Order, Residency};
use crate::memory::{Address, Memory};
use crate::pick::{Choice, Picker};
use crate::rank::{Plans, WorldPlan};
use crate::transfer::Delivery;
use crate::turn::Turn;
use finding::Signature;

/// How a scenario is explored.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many schedules are run.
    pub schedules: usize,
    /// The first seed.
    pub seed: u64,
    /// How many programs of a rank may be resident at once; `None` for all.
    pub resident: Option<usize>,
    /// How many operations a run may execute. A run that needs more ends the exploration: others would need as long.
    pub max_steps: u64,
    /// How many different findings end the exploration.
    pub max_findings: usize,
    /// Whether accesses are followed. Without, no race and nothing unwritten is found, and runs take as long as the plain
    /// interpreter's.
    pub follow_accesses: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            schedules: 200,
            seed: 1,
            resident: None,
            max_steps: 10_000_000,
            max_findings: 8,
            follow_accesses: true,
        }
    }
}

/// A finding, and the shortest known way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What.
    pub finding: Finding,
    /// A schedule that shows it.
    pub schedule: Schedule,
    /// In how many of the schedules it was found.
    pub times: usize,
}

/// What came of an exploration.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was found, each mistake once.
    pub found: Vec<Found>,
    /// Schedules run.
    pub schedules: usize,
    /// Operations executed.
    pub steps: u64,
    /// Accesses followed.
    pub events: u64,
    /// Whether the search has seen every schedule that there is.
    pub exhaustive: bool,
    /// Whether the watcher stopped it before its end.
    pub interrupted: bool,
}

/// One run.
struct Run {
    findings: Vec<Finding>,
    trace: Vec<Choice>,
    turns: Vec<Turn>,
    overtakable: Vec<(u64, Overtakable)>,
    steps: u64,
    events: u64,
    interrupted: bool,
}

/// Asked between runs and now and then within; gets the number of runs that are over.
pub trait Watcher {
    /// Whether to stop.
    fn is_interrupted(&mut self) -> bool {
        false
    }

    /// So many schedules are run.
    fn progress(&mut self, _schedules: usize) {}
}

/// Who does not watch.
impl Watcher for () {}

/// The host of an explored run: lines that kernels print would come once for every schedule, so they are dropped.
struct Quiet<'a>(&'a mut dyn Watcher);

impl Host for Quiet<'_> {
    fn print(&mut self, _line: String) {}

    fn is_interrupted(&mut self) -> bool {
        self.0.is_interrupted()
    }

    fn idle(&mut self) -> Idle {
        Idle::Nobody
    }
}

/// A scenario made ready to be run many times.
struct Explorer<'p, 's> {
    scenario: &'p Scenario<'p>,
    world: WorldPlan<'p>,
    settings: &'s Settings,
}

/// Runs a scenario under many schedules, and finds a simple one for each mistake.
///
/// # Errors
/// When it cannot be run at all: a kernel is missing or its arguments do not fit.
pub fn explore(scenario: &Scenario<'_>, settings: &Settings, watcher: &mut dyn Watcher) -> Result<Outcome, Error> {
    let plans = Plans::new(&scenario.hosts);
    let explorer = Explorer::new(scenario, &plans, settings)?;
    let mut outcome = explorer.search(watcher, |_| false);
    for found in &mut outcome.found {
        explorer.shrink(found, watcher);
    }
    Ok(outcome)
}

/// The same, each mistake with the first schedule that showed it.
///
/// # Errors
/// As [`explore`].
pub fn search(scenario: &Scenario<'_>, settings: &Settings, watcher: &mut dyn Watcher) -> Result<Outcome, Error> {
    let plans = Plans::new(&scenario.hosts);
    Ok(Explorer::new(scenario, &plans, settings)?.search(watcher, |_| false))
}

/// Looks for one mistake: the first schedule that shows it, made simple; `None` if none of them does.
///
/// # Errors
/// As [`explore`].
pub fn find(
    scenario: &Scenario<'_>,
    settings: &Settings,
    mistake: &Finding,
    watcher: &mut dyn Watcher,
) -> Result<Option<Found>, Error> {
    let plans = Plans::new(&scenario.hosts);
    let explorer = Explorer::new(scenario, &plans, settings)?;
    let outcome = explorer.search(watcher, |finding| finding.is_like(mistake));
    let mut found = outcome.found.into_iter().find(|found| found.finding.is_like(mistake));
    if let Some(found) = &mut found {
        explorer.shrink(found, watcher);
    }
    Ok(found)
}

/// Runs a scenario under one schedule; gives what is found there, and the order in which everybody moved.
///
/// # Errors
/// As [`explore`].
pub fn replay(
    scenario: &Scenario<'_>,
    settings: &Settings,
    schedule: &Schedule,
    watcher: &mut dyn Watcher,
) -> Result<(Vec<Finding>, Vec<Turn>), Error> {
    let plans = Plans::new(&scenario.hosts);
    let mut picker = schedule.picker();
    picker.remember_turns();
    let run = Explorer::new(scenario, &plans, settings)?.run_with(picker, watcher);
    Ok((run.findings, run.turns))
}

/// The smallest number of resident programs for which no deadlock is found, of a scenario that has none when all are.
///
/// # Errors
/// As [`explore`].
pub fn needed_residency(
    scenario: &Scenario<'_>,
    settings: &Settings,
    most: usize,
    watcher: &mut dyn Watcher,
) -> Result<usize, Error> {
    let (mut low, mut high) = (1, most.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        let few = Settings { resident: Some(middle), schedules: settings.schedules.min(24), ..settings.clone() };
        let stuck = |found: &Found| matches!(found.finding, Finding::Deadlock(_));
        if search(scenario, &few, watcher)?.found.iter().any(stuck) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Runs of fewer operations are over before a thread has started.
const SHORT_RUN: u64 = 2_000;

/// Schedules that are run at once, at first and at last.
const SMALLEST_BATCH: usize = 8;
const LARGEST_BATCH: usize = 64;

/// Whether a run belongs to the search.
fn is_searched(number: usize) -> bool {
    number > 0 && number.is_multiple_of(4)
}

/// What the first run tells those after it.
#[derive(Default)]
struct Guide {
    /// How many choices it had.
    horizon: u32,
    /// Orders in which a signal is overtaken that might be.
    overtaken: Vec<Order>,
}

/// Ways to overtake one signal that are tried.
const MOST_OVERTAKINGS: u32 = 16;

impl Guide {
    fn new(first: &Run) -> Guide {
        let horizon = u32::try_from(first.trace.len()).unwrap_or(u32::MAX).max(1);
        // Signals of one line are much the same: one of each comes before the second of any.
        let mut known: HashMap<(Span, u32), u32> = HashMap::new();
        let mut orders = Vec::new();
        for &(transfer, Overtakable { span, changes }) in &first.overtakable {
            for times in [changes].into_iter().chain(1..changes.min(MOST_OVERTAKINGS)) {
                let earlier = known.entry((span, times)).or_default();
                orders.push((*earlier, Order::Overtaken { transfer, times }));
                *earlier += 1;
            }
        }
        orders.sort_by_key(|(earlier, _)| *earlier);
        Guide { horizon, overtaken: orders.into_iter().map(|(_, order)| order).collect() }
    }
}

/// The schedule of a run that does not belong to the search.
fn ordered_schedule(number: usize, seed: u64, guide: &Guide) -> Schedule {
    let (seed, horizon) = (seed.wrapping_add(number as u64), guide.horizon);
    if number % 4 == 2
        && let Some(order) = guide.overtaken.get(number / 4)
    {
        return Schedule::Order(*order);
    }
    Schedule::Order(match number % 8 {
        _ if number == 0 => Order::RoundRobin,
        2 => Order::Skewed(seed),
        3 => Order::Pct { seed, depth: 3, horizon },
        5 => Order::Pct { seed, depth: 1, horizon },
        7 => Order::Pct { seed, depth: 2, horizon },
        _ => Order::Random(seed),
    })
}

/// A depth-first search through the first choices of runs.
#[derive(Default)]
struct Search {
    next: Vec<u32>,
    exhausted: bool,
}

/// Choices beyond these are not searched.
const SEARCH_DEPTH: usize = 64;

impl Search {
    /// Goes on from a run: the last choice that can be made otherwise is.
    fn learn(&mut self, trace: &[Choice]) {
        let depth = trace.len().min(SEARCH_DEPTH);
        match trace[..depth].iter().rposition(|choice| choice.chosen + 1 < choice.of) {
            Some(at) => {
                self.next = trace[..at].iter().map(|choice| choice.chosen).collect();
                self.next.push(trace[at].chosen + 1);
            }
            None => self.exhausted = trace.len() <= SEARCH_DEPTH,
        }
    }
}

/// Turns of loops that only count before they are told as a deadlock.
const VAIN_TURNS: u64 = 1 << 11;

/// All programs take turns, and none starts before there is room.
fn exploring() -> Options {
    let delivery = Delivery::AnyTime;
    let options = Options { residency: Residency::Strict, actors: Actors::All, delivery, ..Options::default() };
    Options { vain_turns: VAIN_TURNS, ..options }
}

impl<'p, 's> Explorer<'p, 's> {
    fn new(
        scenario: &'p Scenario<'p>,
        plans: &'p Plans<'p>,
        settings: &'s Settings,
    ) -> Result<Explorer<'p, 's>, Error> {
        let options = Options { topologies: scenario.topologies.clone(), ..exploring() };
        let world = WorldPlan::new(plans, 0, &scenario.heaps, &scenario.hosts, &options)?;
        Ok(Explorer { scenario, world, settings })
    }

    /// Runs one schedule after the other, until there are enough, or a finding is `enough` by itself.
    fn search(&self, watcher: &mut dyn Watcher, enough: impl Fn(&Finding) -> bool) -> Outcome {
        let settings = self.settings;
        let mut outcome = Outcome::default();
        let mut known: HashMap<Signature, usize> = HashMap::new();
        let mut search = Search::default();
        // The first run says how long runs are; what is quickly found is found in small batches.
        let (mut guide, mut at, mut size) = (Guide::default(), 0, 1);
        // The search starts programs as the grid says. Where other orders matter, it has not seen all.
        let is_crowded = self.scenario.is_crowded(settings.resident);
        while at < settings.schedules {
            let end = settings.schedules.min(at + size);
            for batch::Numbered { number, schedule, run, exhausts } in
                batch::run(self, at..end, &guide, &mut search, watcher)
            {
                if number == 0 {
                    guide = Guide::new(&run);
                    let is_short = run.steps < SHORT_RUN || batch::threads() == 1;
                    size = if is_short { 1 } else { SMALLEST_BATCH };
                }
                outcome.schedules += 1;
                outcome.steps += run.steps;
                outcome.events += run.events;
                let done = run.findings.iter().any(|finding| enough(finding) || finding.takes_all_steps());
                for finding in run.findings {
                    let at = *known.entry(finding.signature()).or_insert(outcome.found.len());
                    match outcome.found.get_mut(at) {
                        Some(found) => found.times += 1,
                        None => outcome.found.push(Found { finding, schedule: schedule.clone(), times: 1 }),
                    }
                }
                watcher.progress(outcome.schedules);
                outcome.interrupted = run.interrupted || watcher.is_interrupted();
                outcome.exhaustive = exhausts && !is_crowded;
                if done || outcome.exhaustive || outcome.interrupted || outcome.found.len() >= settings.max_findings {
                    return outcome;
                }
            }
            at = end;
            size = if size == 1 { 1 } else { (2 * size).min(LARGEST_BATCH) };
        }
        outcome
    }

    fn run(&self, schedule: &Schedule, watcher: &mut dyn Watcher) -> Run {
        self.run_with(schedule.picker(), watcher)
    }

    fn run_with(&self, mut picker: Picker, watcher: &mut dyn Watcher) -> Run {
        let options = Options {
            order: Order::RoundRobin,
            max_steps: self.settings.max_steps,
            resident: self.settings.resident.unwrap_or(usize::MAX),
            ..exploring()
        };
        let (mut memory, mut checker) = (self.scenario.memory(), self.scenario.checker());
        let follows = self.settings.follow_accesses.then_some(&mut checker);
        let ran = self.world.run(&mut memory, &options, &mut picker, &mut Quiet(watcher), follows);
        let mut findings: Vec<Finding> = checker.races().iter().cloned().map(Finding::Race).collect();
        findings.extend(checker.unwritten_reads().iter().cloned().map(Finding::UnwrittenRead));
        let (mut steps, mut interrupted) = (0, false);
        match ran {
            Ok(executed) => {
                steps = executed;
                if self.settings.follow_accesses {
                    findings.extend(self.outputs(&memory, &checker));
                }
            }
            Err(Error::Interrupted { .. }) => interrupted = true,
            Err(Error::Deadlock { waiting, hosts, words, writers }) => {
                let mut writers = writers.into_iter();
                let blocked = |(waiting, word): (crate::error::Waiting, Option<(u64, u64)>)| {
                    let address = word.map(|(address, _)| address);
                    let place = address.and_then(|address| memory.place_of(Address(address)));
                    let last_writer = address.and_then(|address| checker.last_writer(address));
                    let writers = writers.next().unwrap_or_default();
                    BlockedProgram { waiting, place, holds: word.map(|(_, value)| value), last_writer, writers }
                };
                let waits = waiting.into_iter().zip(words).map(blocked).collect();
                let resident = self.settings.resident.or(self.scenario.least_room());
                findings.push(Finding::Deadlock(Deadlock { waits, hosts, resident }));
            }
            Err(error) => findings.push(Finding::Failure(error)),
        }
        let (trace, turns) = picker.into_trace();
        Run { findings, trace, turns, overtakable: checker.overtakable(), steps, events: checker.events(), interrupted }
    }

    /// What is wrong with the outputs of a run that has ended.
    fn outputs(&self, memory: &Memory, checker: &Checker) -> Vec<Finding> {
        let mut findings = Vec::new();
        for output in &self.scenario.outputs {
            let Output { address, bytes, element } = *output;
            if let Some(byte) = checker.first_unwritten(address.0, bytes) {
                findings.push(Finding::UnwrittenOutput { near: memory.describe(byte) });
            }
            let size = u64::from(element.bytes());
            let is_nan = |&at: &u64| element.is_float() && number_at(memory, element, at).is_nan();
            let first = (0..bytes / size).map(|i| address.0 + i * size).find(is_nan);
            findings.extend(first.map(|at| Finding::Nan { near: memory.describe(at) }));
        }
        let wrong = self.scenario.expected.iter().find_map(|expected| wrong_output(memory, expected));
        findings.extend(wrong);
        findings
    }
}

/// The first number of an output that is not what it must be.
fn wrong_output(memory: &Memory, expected: &Expectation) -> Option<Finding> {
    let size = u64::from(expected.element.bytes());
    let places = (0..).map(|i| expected.address.0 + i * size);
    let (at, &must) = places.zip(&expected.values).find(|&(at, &must)| {
        // What is not there is told as not written.
        !expected.is_met(number_at(memory, expected.element, at), must)
    })?;
    let found = number_at(memory, expected.element, at);
    Some(Finding::WrongOutput { near: memory.describe(at), expected: must.to_string(), found: found.to_string() })
}

fn number_at(memory: &Memory, element: Scalar, at: u64) -> f64 {
    Const::from_bits(element, memory.load(at, element.bytes()).unwrap_or(0)).as_f64()
}
