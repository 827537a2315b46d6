//! Rows of measurements.

use serde::Serialize;

use crate::numbers::digits;
use crate::table::{Align, Table};

/// One measurement next to a peer's.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// What is measured.
    pub(crate) bench: String,
    /// Size, type, threads.
    pub(crate) case: String,
    /// The unit, and which way is better.
    pub(crate) metric: String,
    /// Shoal's number.
    pub(crate) ours: f64,
    /// Who is compared with.
    pub(crate) peer: String,
    /// The peer's number.
    pub(crate) peer_value: f64,
    /// Above 1: Shoal is better.
    pub(crate) ratio: f64,
}

impl Row {
    /// Ours alone: there is nobody to compare with.
    pub(crate) fn alone(bench: &str, case: &str, unit: Unit, ours: f64) -> Row {
        Row::times(bench, case, unit, ours, "nobody", ours)
    }

    /// Both took some time: shown as a rate if the work is known, else as the time.
    pub(crate) fn times(bench: &str, case: &str, unit: Unit, ours: f64, peer: &str, peers: f64) -> Row {
        Row {
            bench: bench.into(),
            case: case.into(),
            metric: unit.name().into(),
            ours: unit.of(ours),
            peer: peer.into(),
            peer_value: unit.of(peers),
            ratio: peers / ours,
        }
    }
}

/// What times are turned into.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    /// Work in a second: bytes or operations, in units of 10^9.
    Rate(f64, &'static str),
    Milliseconds,
    Microseconds,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Rate(_, name) => name,
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
        }
    }

    fn of(self, seconds: f64) -> f64 {
        match self {
            Unit::Rate(work, _) => work / seconds / 1e9,
            Unit::Milliseconds => seconds * 1e3,
            Unit::Microseconds => seconds * 1e6,
        }
    }
}

/// The rows as a table.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        ("bench", Align::Left),
        ("case", Align::Left),
        ("ours", Align::Right),
        ("", Align::Left),
        ("peer", Align::Left),
        ("its", Align::Right),
        ("ratio", Align::Right),
    ]);
    for row in rows {
        table.row([
            row.bench.clone(),
            row.case.clone(),
            digits(row.ours),
            row.metric.clone(),
            row.peer.clone(),
            digits(row.peer_value),
            format!("{:.2}×", row.ratio),
        ]);
    }
    table
}
