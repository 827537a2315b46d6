//! `shoal run NAME`: a kernel of the library on random data, checked against its reference.

use std::time::Instant;

use shoal::{Device, dtype_from_name};
use shoal_kernels::{Checked, Library, catalog, find};

use super::ranks;
use crate::cache::warn_if_unused;
use crate::command_line::{BackendName, RunOptions};
use crate::failure::{Failure, instead_of};
use crate::given::Given;
use crate::numbers::{digits, seconds};
use crate::table::{Align, Table};

/// The options of a kernel of one rank.
const TAKEN: [&str; 5] = ["backend", "check", "debug", "size", "dtype"];

pub(crate) fn run(options: &RunOptions, given: &Given) -> Result<(), Failure> {
    let item = find(&options.target).ok_or_else(|| {
        if shoal_kernels::distributed::find(&options.target).is_some() {
            return Failure::usage(format!("{} is for several ranks: say how many, with --ranks", options.target));
        }
        if options.target == ranks::ALL {
            return Failure::usage("`all` is every kernel of several ranks: say how many, with --ranks");
        }
        let of_ranks = shoal_kernels::distributed::catalog().iter().map(|item| item.name);
        let instead = instead_of(&options.target, catalog().iter().map(|item| item.name).chain(of_ranks));
        Failure::usage(format!("there is no file and no library kernel `{}`; {instead}", options.target))
    })?;
    if !options.args.is_empty() {
        return Err(Failure::usage("library kernels make their own data: say --size and --dtype instead of --arg"));
    }
    given.only(&TAKEN, "a library kernel of one rank")?;
    let dtype = dtype_from_name(&options.dtype).filter(|dtype| item.dtypes.contains(dtype)).ok_or_else(|| {
        let known: Vec<&str> = item.dtypes.iter().map(|&dtype| shoal::signature_name(dtype)).collect();
        Failure::usage(format!("{} is for {}, not for `{}`", item.name, known.join(", "), options.dtype))
    })?;
    // The interpreter is there to be right, not to be fast: it gets little to do unless asked for more.
    let interprets = [Some(options.backend), options.check].contains(&Some(BackendName::Interp));
    let default = if interprets { item.tests.last().copied().unwrap_or(item.show) } else { item.show };
    let sizes = if options.size.is_empty() { default } else { &options.size };
    warn_if_unused();
    let workload = item.workload(sizes, dtype)?;
    let backends = [Some(options.backend), options.check];
    for backend in backends.into_iter().flatten() {
        let library = Library::with(Device::of(backend.into())?, super::settings(options));
        let start = Instant::now();
        workload.run(&library)?;
        let first = start.elapsed().as_secs_f64();
        let start = Instant::now();
        workload.run(&library)?;
        let run = start.elapsed().as_secs_f64();
        let (rate, unit) = workload.work().rate(run);
        let backend = library.device().backend().name();
        outln!(
            "{} {sizes:?} {} on {backend}: {} ({} {unit}), {} with compilation",
            item.name,
            shoal::dtype_name(dtype),
            seconds(run),
            digits(rate),
            seconds(first),
        );
        show(&workload.check())?;
    }
    Ok(())
}

fn show(checked: &[Checked]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("output", Align::Left),
        ("max error", Align::Right),
        ("of allowed", Align::Right),
        ("", Align::Left),
    ]);
    for output in checked {
        let verdict = if output.passed() { "ok" } else { "WRONG" };
        let share = format!("{:.0} %", 100.0 * output.worst);
        table.row([output.output, &digits(output.max_error), &share, verdict]);
    }
    out!("{table}");
    match checked.iter().find(|output| !output.passed()) {
        Some(wrong) => Err(Failure::new(format!(
            "`{}` is wrong at element {}: {} instead of {}",
            wrong.output, wrong.at, wrong.found, wrong.expected
        ))),
        None => Ok(()),
    }
}
