//! `shoal check`: schedules and accesses in a second of processor time, and what following accesses costs against the
//! plain interpreter.

use shoal::check::{CheckOptions, speed};
use shoal_kernels::harness;

use super::row::{Row, Unit};
use super::{Bench, Session};
use crate::failure::Failure;

/// Kernels whose protocols and whose work differ.
const KERNELS: [&str; 5] =
    ["one_shot_all_reduce", "two_shot_all_reduce_bias", "all_gather_ring", "gemm_reduce_scatter", "all_gather_matmul"];

const RANKS: usize = 4;
const SCHEDULES: usize = 50;

pub(super) fn benches() -> Vec<Bench> {
    let bench = |kernel: &'static str| Bench {
        name: format!("check {kernel}"),
        run: Box::new(move |session| measure(session, kernel)),
    };
    KERNELS.into_iter().map(bench).collect()
}

fn measure(session: &Session, kernel: &str) -> Result<Vec<Row>, Failure> {
    let missing = || Failure::new(format!("{kernel} has no harness"));
    let module = harness::find(kernel).ok_or_else(missing)?.0?;
    let fits = |name: &String| *name == format!("check_{kernel}");
    let name = module.harnesses().into_iter().map(|harness| harness.name).find(fits).ok_or_else(missing)?;
    let options = CheckOptions { ranks: RANKS, schedules: SCHEDULES, ..CheckOptions::default() };
    let speed = speed(&module, &name, &options, session.rounds)?;
    let case = format!("{kernel}, {RANKS} ranks");
    let (checked, plain) = (speed.checked.as_secs_f64(), speed.plain.as_secs_f64());
    let row = |bench: &str, work: f64, unit| {
        Row::times(bench, &case, Unit::Rate(work * 1e9, unit), checked, "plain interpreter", plain)
    };
    Ok(vec![
        row("check", speed.schedules as f64, "schedules/s"),
        row("check", speed.accesses as f64 / 1e6, "M accesses/s"),
    ])
}
