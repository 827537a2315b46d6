//! Smaller worlds, fewer launches, smaller sizes and fewer programs in which the same mistake is found: what is easiest
//! to look at.

use shoal_interp::explore::{Finding, Found, Settings, find, replay};

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
        if found.finding.takes_all_steps() {
            continue;
        }
        let (found, case) = (found.clone(), case.clone());
        let known: Vec<Finding> = verdict.found().iter().map(|found| found.finding.clone()).collect();
        let mut shrinking = Shrinking { harness, watcher, found, case, known, left: CASES };
        // What is small for one mistake is often small for the next.
        let is_small = smallest.clone().is_some_and(|case| shrinking.shows(case));
        if !is_small {
            shrinking.run();
        }
        shrinking.cut_grids();
        let Shrinking { found, case, .. } = shrinking;
        smallest = Some(CheckOptions { grid_cut: None, ..case.options.clone() });
        verdict.replace(at, found, case);
    }
}

struct Shrinking<'s, 'h> {
    harness: &'s mut Shrinkable<'h>,
    watcher: &'s mut dyn Watcher,
    found: Found,
    case: Case,
    /// All that was found.
    known: Vec<Finding>,
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

    /// The smallest grids, whatever the harness says, that show the same race for the same reason. Not of other mistakes:
    /// a deadlock may come of the very programs that are cut off.
    fn cut_grids(&mut self) {
        if !matches!(self.found.finding, Finding::Race(_)) {
            return;
        }
        let Ok(recording) = (self.harness.record)(&self.case.options) else { return };
        for programs in (0..32).map(|bit| 1 << bit).take_while(|&programs| programs < recording.largest_extent()) {
            let before = (self.found.clone(), self.case.clone());
            if self.shows(CheckOptions { grid_cut: Some(programs), ..self.case.options.clone() }) {
                if self.shows_what_is_known() {
                    return;
                }
                (self.found, self.case) = before;
            }
        }
    }

    /// Whether the case shows nothing that was not found in the case that was asked for.
    fn shows_what_is_known(&mut self) -> bool {
        let Ok(recording) = (self.harness.record)(&self.case.options) else { return false };
        let settings = self.case.options.settings();
        let replayed = replay(&recording.scenario(), &settings, &self.found.schedule, &mut Silent(self.watcher));
        let is_known = |finding: &Finding| self.known.iter().any(|known| known.is_like(finding));
        replayed.is_ok_and(|(findings, _)| findings.iter().all(is_known))
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
        // The same places may race for another reason in a smaller world.
        if remedy(&found.finding) != remedy(&self.found.finding) {
            return false;
        }
        self.found = Found { times: self.found.times, ..found };
        self.case = Case::new(&case, &recording);
        true
    }
}

/// What would mend a race.
fn remedy(finding: &Finding) -> Option<String> {
    match finding {
        Finding::Race(race) => Some(race.remedy()),
        Finding::Deadlock(_)
        | Finding::UnwrittenRead(_)
        | Finding::UnwrittenOutput { .. }
        | Finding::Nan { .. }
        | Finding::WrongOutput { .. }
        | Finding::Failure(_) => None,
    }
}

/// Runs of smaller cases, and of each mutant, are no progress of the check.
pub(super) struct Silent<'a>(pub(super) &'a mut dyn Watcher);

impl Watcher for Silent<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.0.is_interrupted()
    }
}
