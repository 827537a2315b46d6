//! Shorter schedules that show the same.

use super::{Explorer, Found, Schedule, Watcher};

/// Runs spent on one finding.
const BUDGET: usize = 60;

impl Explorer<'_, '_> {
    /// Looks for a simpler schedule with the same finding: each program in turn, or fewer choices that are not the first.
    pub(super) fn shrink(&self, found: &mut Found, watcher: &mut dyn Watcher) {
        let signature = found.finding.signature();
        let mut left = BUDGET;
        let mut shows = |schedule: Schedule, found: &mut Found| {
            if left == 0 || watcher.is_interrupted() {
                return false;
            }
            left -= 1;
            let run = self.run(&schedule, watcher);
            match run.findings.into_iter().find(|finding| finding.signature() == signature) {
                Some(finding) => {
                    found.finding = finding;
                    found.schedule = schedule;
                    true
                }
                None => false,
            }
        };
        let simple = [Schedule::Order(crate::launch::Order::RoundRobin), Schedule::Choices(Vec::new())];
        if simple.contains(&found.schedule) || simple.into_iter().any(|schedule| shows(schedule, found)) {
            return;
        }
        let trace = self.run(&found.schedule, &mut ()).trace;
        let mut choices: Vec<u32> = trace.iter().map(|choice| choice.chosen).collect();
        if !shows(Schedule::Choices(choices.clone()), found) {
            return;
        }
        // The shortest beginning that suffices, then fewer choices in it that differ from the first.
        let (mut low, mut high) = (0, choices.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if shows(Schedule::Choices(choices[..middle].to_vec()), found) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        choices.truncate(high);
        let mut size = choices.len().div_ceil(2);
        while size > 0 {
            for start in (0..choices.len()).step_by(size) {
                let end = (start + size).min(choices.len());
                if choices[start..end].iter().all(|&choice| choice == 0) {
                    continue;
                }
                let mut fewer = choices.clone();
                fewer[start..end].fill(0);
                if shows(Schedule::Choices(fewer.clone()), found) {
                    choices = fewer;
                }
            }
            size /= 2;
        }
        while choices.last() == Some(&0) {
            choices.pop();
        }
        shows(Schedule::Choices(choices), found);
    }
}
