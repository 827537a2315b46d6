//! `shoal demo`: the main job on this machine.

use std::time::Instant;

use shoal::{CompileOptions, DType, Device, DiskCache};
use shoal_kernels::{Checked, Item, Library, catalog};

use crate::cache::warn_if_unused;
use crate::command_line::DemoOptions;
use crate::failure::Failure;
use crate::numbers::{digits, duration, seconds};
use crate::progress::Progress;
use crate::run::ranks::Plan;
use crate::table::{Align, Table};

/// Rows of each rank, columns and inner length of the product that ranks share: long enough to hide its copies, short enough
/// that they are seen.
const SHOWN: [usize; 3] = [512, 128, 1024];
/// How long each kernel is repeated for its time.
const TIMED: f64 = 0.2;

pub(crate) fn demo(options: &DemoOptions) -> Result<(), Failure> {
    warn_if_unused();
    let device = Device::of(options.backend.into())?;
    outln!(
        "Compiling and running {} kernels on {} ({} threads).\nOutputs start as NaN and are compared with references in f64.\n",
        catalog().len(),
        device.backend().name(),
        device.threads()?
    );
    let disk_cache = if options.cold { DiskCache::Off } else { DiskCache::User };
    let library = Library::with(device, CompileOptions { disk_cache, ..CompileOptions::default() });
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("what", Align::Left),
        ("size", Align::Left),
        ("type", Align::Left),
        ("max error", Align::Right),
        ("of allowed", Align::Right),
        ("compile", Align::Right),
        ("run", Align::Right),
        ("rate", Align::Right),
        ("", Align::Left),
    ]);
    let mut wrong = Vec::new();
    let steps = catalog().iter().map(|item| shown(item).len()).sum();
    let progress = Progress::new(steps);
    for item in catalog() {
        for &dtype in shown(item) {
            progress.step(format!("{} {}", item.name, shoal::dtype_name(dtype)));
            let row = one(&library, item, dtype)?;
            if !row.passed {
                wrong.push(format!("{} {}", item.name, shoal::dtype_name(dtype)));
            }
            table.row(row.cells);
        }
    }
    progress.finish();
    outln!("{table}");
    if !wrong.is_empty() {
        return Err(Failure::new(format!("wrong results: {}", wrong.join(", "))));
    }
    outln!("All results are within their tolerances.");
    distributed(options, &library)
}

/// A kernel of several ranks in which copies and products overlap, with its timeline.
fn distributed(options: &DemoOptions, library: &Library) -> Result<(), Failure> {
    let plan = Plan::shown("all_gather_matmul", &SHOWN, &options.timeline);
    let plan = plan.ok_or_else(|| Failure::new("the library has no all_gather_matmul"))?;
    outln!("\nMultiplying rows that still arrive, on {} ranks (all_gather_matmul):\n", options.ranks);
    plan.on_threads(library, options.ranks)
}

/// The types that are shown of a kernel.
fn shown(item: &Item) -> &[DType] {
    &item.dtypes[..item.dtypes.len().min(3)]
}

struct Row {
    cells: Vec<String>,
    passed: bool,
}

fn one(library: &Library, item: &Item, dtype: DType) -> Result<Row, Failure> {
    // The interpreter is there to be right, not to be fast.
    let sizes = match library.device() {
        Device::Cpu(_) | Device::Cuda(_) => item.show,
        Device::Interpreter => item.tests.last().copied().unwrap_or(item.show),
    };
    let workload = item.workload(sizes, dtype)?;
    let before = library.compile_time();
    workload.run(library)?;
    let compiled = library.compile_time().saturating_sub(before);
    let checked = workload.check();
    let mut best = f64::INFINITY;
    let mut spent = 0.0;
    while spent < TIMED {
        let start = Instant::now();
        workload.run(library)?;
        let took = start.elapsed().as_secs_f64();
        best = best.min(took);
        spent += took;
    }
    let worst = checked.iter().max_by(|a, b| a.worst.total_cmp(&b.worst));
    let (rate, unit) = workload.work().rate(best);
    let passed = checked.iter().all(Checked::passed);
    let size: Vec<String> = sizes
        .chunks(item.dims.len())
        .map(|one| one.iter().map(ToString::to_string).collect::<Vec<_>>().join("×"))
        .collect();
    let cells = vec![
        item.name.to_owned(),
        item.doc.to_owned(),
        size.join(", "),
        shoal::dtype_name(dtype).to_owned(),
        digits(worst.map_or(0.0, |w| w.max_error)),
        format!("{:.0} %", 100.0 * worst.map_or(0.0, |w| w.worst)),
        duration(compiled),
        seconds(best),
        format!("{} {unit}", digits(rate)),
        if passed { "ok" } else { "WRONG" }.to_owned(),
    ];
    Ok(Row { cells, passed })
}
