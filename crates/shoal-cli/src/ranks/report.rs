//! What ranks report of a run, as a table.

use serde::{Deserialize, Serialize};
use shoal::world::Rank;
use shoal_kernels::{Checked, Work};

use crate::failure::Failure;
use crate::numbers::{digits, seconds};
use crate::table::{Align, Table};

/// What one rank has to say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Seconds of the first run, with compilation.
    first: f64,
    /// Seconds of the shortest run.
    best: f64,
    rate: f64,
    unit: String,
    outputs: Vec<Output>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Output {
    name: String,
    max_error: f64,
    share: f64,
    passed: bool,
    at: usize,
    found: f64,
    expected: f64,
}

impl Report {
    pub(crate) fn new(first: f64, best: f64, work: Work, checked: &[Checked]) -> Report {
        let (rate, unit) = work.rate(best);
        let output = |checked: &Checked| Output {
            name: checked.output.to_owned(),
            // JSON has no infinity.
            max_error: checked.max_error.min(f64::MAX),
            share: checked.worst.min(f64::MAX),
            passed: checked.passed(),
            at: checked.at,
            found: if checked.found.is_finite() { checked.found } else { f64::MAX },
            expected: checked.expected,
        };
        Report { first, best, rate, unit: unit.to_owned(), outputs: checked.iter().map(output).collect() }
    }
}

/// Everybody's reports, in the order of the ranks. Collective over the world.
pub(crate) fn gather(rank: &Rank, report: &Report) -> Result<Vec<Report>, Failure> {
    let unreadable = |why: serde_json::Error| Failure::new(format!("a rank's report cannot be read: {why}"));
    let bytes = serde_json::to_vec(report).map_err(unreadable)?;
    let all = rank.world().all_gather(&bytes)?;
    all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(unreadable)).collect()
}

/// Shows the reports; an error if a result is wrong.
pub(crate) fn show(reports: &[Report]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("rank", Align::Right),
        ("first run", Align::Right),
        ("best run", Align::Right),
        ("rate", Align::Right),
        ("output", Align::Left),
        ("max error", Align::Right),
        ("of allowed", Align::Right),
        ("", Align::Left),
    ]);
    let mut wrong = None;
    for (rank, report) in reports.iter().enumerate() {
        for output in &report.outputs {
            table.row([
                rank.to_string(),
                seconds(report.first),
                seconds(report.best),
                format!("{} {}", digits(report.rate), report.unit),
                output.name.clone(),
                digits(output.max_error),
                format!("{:.0} %", 100.0 * output.share),
                if output.passed { "ok" } else { "WRONG" }.to_owned(),
            ]);
            if !output.passed && wrong.is_none() {
                let Output { name, at, found, expected, .. } = output;
                wrong =
                    Some(format!("`{name}` of rank {rank} is wrong at element {at}: {found} instead of {expected}"));
            }
        }
    }
    out!("{table}");
    wrong.map_or(Ok(()), |text| Err(Failure::new(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_kernels::Tolerance;

    #[test]
    fn a_wrong_result_is_named_with_its_rank() {
        let exact = Tolerance { absolute: 0.0, relative: 0.0 };
        let report =
            |found: f64| Report::new(1.0, 0.5, Work::Bytes(1e9), &[Checked::new("out", &[found], &[2.0], exact)]);
        assert!(show(&[report(2.0), report(2.0)]).is_ok());
        let text = show(&[report(2.0), report(3.0)]).expect_err("it is wrong").to_string();
        assert_eq!(text, "`out` of rank 1 is wrong at element 0: 3 instead of 2");
        assert!(show(&[report(f64::NAN)]).is_err());
    }
}
