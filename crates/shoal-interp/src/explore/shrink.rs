//! Shorter schedules that show the same.

use super::{Explorer, Found, Schedule, Watcher};
use crate::launch::Order;

/// Runs spent on one finding. A fixed number, so that a report does not depend on the machine.
const BUDGET: usize = 160;

/// One finding, while simpler ways to it are tried.
struct Shrinking<'e, 'p, 's, 'w> {
    explorer: &'e Explorer<'p, 's>,
    watcher: &'w mut dyn Watcher,
    found: &'e mut Found,
    left: usize,
}

impl Explorer<'_, '_> {
    /// Looks for a simpler schedule with the same finding: each program in turn, or one with fewer switches between
    /// programs.
    pub(super) fn shrink(&self, found: &mut Found, watcher: &mut dyn Watcher) {
        if found.finding.takes_all_steps() {
            return;
        }
        let mut shrinking = Shrinking { explorer: self, watcher, found, left: BUDGET };
        let starts = shrinking.found.schedule.starts();
        let mut simple = vec![Schedule::Order(Order::RoundRobin), Schedule::choosing(Vec::new())];
        simple.extend(starts.map(|seed| Schedule::Choices { starts: Some(seed), choices: Vec::new() }));
        if simple.contains(&shrinking.found.schedule) || simple.into_iter().any(|schedule| shrinking.shows(schedule)) {
            return;
        }
        let trace = self.run(&shrinking.found.schedule, &mut ()).trace;
        let choices: Vec<u32> = trace.iter().map(|choice| choice.chosen).collect();
        // Starts as the grid says are simpler still, if they show it.
        let made = |starts| Schedule::Choices { starts, choices: choices.clone() };
        let starts = if shrinking.shows(made(None)) { None } else { starts };
        if starts.is_none() || shrinking.shows(made(starts)) {
            shrinking.with_fewer_switches(starts, choices);
        }
    }
}

impl Shrinking<'_, '_, '_, '_> {
    /// Whether a schedule shows the finding; it is kept if so.
    fn shows(&mut self, schedule: Schedule) -> bool {
        if self.left == 0 || self.watcher.is_interrupted() {
            return false;
        }
        self.left -= 1;
        let run = self.explorer.run(&schedule, self.watcher);
        match run.findings.into_iter().find(|finding| finding.is_like(&self.found.finding)) {
            Some(finding) => {
                self.found.finding = finding;
                self.found.schedule = schedule;
                true
            }
            None => false,
        }
    }

    /// The shortest beginning that suffices, then fewer switches in it: halves at first, single ones at last, until none
    /// can go.
    fn with_fewer_switches(&mut self, starts: Option<u64>, mut choices: Vec<u32>) {
        let (mut low, mut high) = (0, choices.len());
        while low < high && self.left > 0 {
            let middle = low + (high - low) / 2;
            if self.shows(Schedule::Choices { starts, choices: choices[..middle].to_vec() }) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        choices.truncate(high);
        let mut size = switches(&choices).len().div_ceil(2);
        while size > 0 && self.left > 0 {
            let mut went = false;
            for group in switches(&choices).chunks(size) {
                let mut fewer = choices.clone();
                for &at in group {
                    fewer[at] = 0;
                }
                while fewer.last() == Some(&0) {
                    fewer.pop();
                }
                if self.shows(Schedule::Choices { starts, choices: fewer.clone() }) {
                    fewer.resize(choices.len(), 0);
                    choices = fewer;
                    went = true;
                }
            }
            // Without one of them another may be needless.
            size = if size == 1 && went { 1 } else { size / 2 };
        }
    }
}

/// The places of choices that switch.
fn switches(choices: &[u32]) -> Vec<usize> {
    (0..choices.len()).filter(|&at| choices[at] != 0).collect()
}
