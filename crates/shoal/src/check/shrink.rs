//! Smaller worlds, fewer launches and smaller sizes in which the same mistake is found: what is easiest to look at.

use shoal_interp::explore::{Found, Settings, find};

use super::recording::Recording;
use super::report::{Case, Verdict};
use super::{CheckOptions, HarnessValue, Watcher};
use crate::{Error, Module};

/// Schedules run in a smaller case before it counts as right.
const SCHEDULES: usize = 24;

/// Smaller cases tried for one finding. A fixed number, so that a report does not depend on the machine.
const CASES: usize = 40;

/// A parameter of a harness, and the values that are simpler than the one it has, the simplest first.
pub(super) type Size = (String, Vec<HarnessValue>);

/// A harness that can be recorded anew, in a smaller world or with smaller sizes.
pub(super) struct Shrinkable<'a> {
    pub(super) record: &'a mut dyn FnMut(&CheckOptions) -> Result<Recording, Error>,
    pub(super) sizes: Vec<Size>,
}

/// The parameters of a harness that the user left alone and that are numbers.
pub(super) fn sizes(module: &Module, harness: &str, options: &CheckOptions) -> Vec<Size> {
    let defaults = module.program().harness_defaults(harness);
    let left_alone = |name: &str| !options.params.iter().any(|(given, _)| given == name);
    let size = |(name, value): (String, HarnessValue)| match value {
        HarnessValue::Int(n) if left_alone(&name) => Some((name, below(0, n))),
        _ => None,
    };
    defaults.into_iter().filter_map(size).collect()
}

/// Some numbers from `low` up to `high`, which is left out: powers of two apart from the low end.
pub(super) fn below(low: i128, high: i128) -> Vec<HarnessValue> {
    let steps = std::iter::once(0).chain((0..64).map(|bit| 1i128 << bit));
    steps.map(|step| low + step).take_while(|&value| value < high).map(HarnessValue::Int).collect()
}

/// Replaces each finding of a verdict by the smallest case of it that is found.
pub(super) fn shrink(verdict: &mut Verdict, harness: &mut Shrinkable<'_>, watcher: &mut dyn Watcher) {
    let mut smallest: Option<CheckOptions> = None;
    for at in 0..verdict.found().len() {
        let Some((found, case)) = verdict.finding_and_case(at) else { return };
        let mut shrinking = Shrinking { harness, watcher, found: found.clone(), case: case.clone(), left: CASES };
        // What is small for one mistake is often small for the next.
        let known = smallest.clone().is_some_and(|case| shrinking.shows(case));
        if !known {
            shrinking.run();
        }
        let Shrinking { found, case, .. } = shrinking;
        smallest = Some(case.options.clone());
        verdict.replace(at, found, case);
    }
}

struct Shrinking<'s, 'h> {
    harness: &'s mut Shrinkable<'h>,
    watcher: &'s mut dyn Watcher,
    found: Found,
    case: Case,
    left: usize,
}

impl Shrinking<'_, '_> {
    fn run(&mut self) {
        for ranks in 1..self.case.options.ranks {
            if self.shows(CheckOptions { ranks, ..self.case.options.clone() }) {
                break;
            }
        }
        for launches in 1..self.case.options.launches {
            if self.shows(CheckOptions { launches, ..self.case.options.clone() }) {
                break;
            }
        }
        for (name, values) in self.harness.sizes.clone() {
            for value in values {
                let mut case = self.case.options.clone();
                case.params.retain(|(given, _)| *given != name);
                case.params.push((name.clone(), value));
                if self.shows(case) {
                    break;
                }
            }
        }
    }

    /// Whether the mistake is found in a case; it is kept if so. A harness may not allow it.
    fn shows(&mut self, case: CheckOptions) -> bool {
        if self.left == 0 || self.watcher.is_interrupted() {
            return false;
        }
        let Ok(recording) = (self.harness.record)(&case) else { return false };
        self.left -= 1;
        let settings = Settings { schedules: SCHEDULES.min(case.schedules), ..case.settings() };
        let scenario = recording.scenario();
        let Ok(Some(found)) = find(&scenario, &settings, &self.found.finding, &mut Silent(self.watcher)) else {
            return false;
        };
        self.found = Found { times: self.found.times, ..found };
        self.case = Case::new(&case, &recording);
        true
    }
}

/// Runs of smaller cases are no progress of the check.
struct Silent<'a>(&'a mut dyn Watcher);

impl Watcher for Silent<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.0.is_interrupted()
    }
}
