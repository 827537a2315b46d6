//! `shoal run`.

mod data;
mod grid;
mod library;
mod npy;
pub(crate) mod ranks;
mod show;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use shoal::{Arg, Args, CompileOptions, Device, Kernel, Origin, Tensor};

use crate::cache::warn_if_unused;
use crate::command_line::RunOptions;
use crate::compile::kernel_of;
use crate::failure::{Failure, write};
use crate::given::Given;
use crate::numbers::duration;
use data::Value;

/// The options of a kernel of a file.
const OF_FILES: [&str; 10] =
    ["grid", "arg", "backend", "check", "tolerance", "print", "save", "repeat", "debug", "seed"];

pub(crate) fn run(options: &RunOptions, given: &Given, command: &[OsString]) -> Result<(), Failure> {
    shoal::switch_from_env("SHOAL_INTERPRET")?;
    if let Some(ranks) = options.ranks {
        return ranks::run(options, given, ranks, command);
    }
    if options.target.contains(".py") || Path::new(&options.target).exists() {
        given.only(&OF_FILES, "a kernel of a file")?;
        run_file(options)
    } else {
        library::run(options, given)
    }
}

/// An argument of the command line, by its name.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// How kernels are compiled: `SHOAL_DEBUG` counts, too.
fn settings(options: &RunOptions) -> CompileOptions {
    let mut settings = CompileOptions::default();
    settings.debug |= options.debug;
    settings
}

fn run_file(options: &RunOptions) -> Result<(), Failure> {
    let kernel = kernel_of(&options.target)?.with(settings(options));
    let values = values(options)?;
    // What is asked for is known before anything runs.
    let printed = options.print.iter().map(|name| Ok((name, tensor(&values, name)?)));
    let printed = printed.collect::<Result<Vec<_>, Failure>>()?;
    let saved = options.save.iter().map(|item| saved(&values, item)).collect::<Result<Vec<_>, Failure>>()?;
    let before = contents(&values);
    launch(options, &kernel, options.backend.into(), &values)?;
    show::changed(&values, &before);
    for (name, tensor) in printed {
        show::elements(name, tensor);
    }
    for (file, tensor) in saved {
        write(file, npy::write(tensor)?)?;
    }
    if let Some(other) = options.check {
        compare(options, &kernel, other.into(), &values)?;
    }
    if options.repeat > 0 {
        repeat(options, &kernel, &values)?;
    }
    Ok(())
}

fn values(options: &RunOptions) -> Result<Vec<Named>, Failure> {
    let mut values: Vec<Named> = Vec::new();
    for (at, item) in options.args.iter().enumerate() {
        let (name, text) =
            item.split_once('=').ok_or_else(|| Failure::usage(format!("--arg {item}: write NAME=VALUE")))?;
        let name = name.trim();
        if values.iter().any(|value| value.name == name) {
            return Err(Failure::usage(format!("--arg {name} is given twice")));
        }
        let seed = options.seed.wrapping_add(at as u64);
        values.push(Named { name: name.to_owned(), value: data::read(name, text.trim(), seed)? });
    }
    Ok(values)
}

/// The arguments as a launch takes them.
fn args_of(values: &[Named]) -> Args<'_> {
    let mut args = Args::new();
    for Named { name, value } in values {
        match value {
            Value::Tensor(tensor) => args.set(name, tensor),
            Value::Constant(constant) => args.set(name, Arg::clone(constant)),
        };
    }
    args
}

fn launch(options: &RunOptions, kernel: &Kernel, backend: shoal::Backend, values: &[Named]) -> Result<(), Failure> {
    let grid = grid::read(&options.grid, values)?;
    let kernel = kernel.clone().on(Device::of(backend)?);
    let args = args_of(values);
    let report = kernel.warm_up(&args)?;
    warn_if_unused();
    for note in &report.notes {
        eprintln!("{note}");
    }
    let start = Instant::now();
    kernel.launch(grid, args)?;
    let run = start.elapsed();
    let compiled = match report.origin {
        Origin::Compiled => "compiled",
        Origin::Cached => "loaded from the cache",
    };
    let (took, run) = (duration(report.total()), duration(run));
    eprintln!("{} on {}: {compiled} in {took}, ran in {run}", kernel.name(), backend.name());
    Ok(())
}

/// Launches again and again, and says the shortest time.
fn repeat(options: &RunOptions, kernel: &Kernel, values: &[Named]) -> Result<(), Failure> {
    let grid = grid::read(&options.grid, values)?;
    let kernel = kernel.clone().on(Device::of(options.backend.into())?);
    let mut best = Duration::MAX;
    for _ in 0..options.repeat {
        let start = Instant::now();
        kernel.launch(grid, args_of(values))?;
        best = best.min(start.elapsed());
    }
    outln!("best of {} launches: {}", options.repeat, duration(best));
    Ok(())
}

fn tensor<'a>(values: &'a [Named], name: &str) -> Result<&'a Tensor, Failure> {
    let tensor = values.iter().find(|value| value.name == name).and_then(|named| match &named.value {
        Value::Tensor(tensor) => Some(tensor),
        Value::Constant(_) => None,
    });
    tensor.ok_or_else(|| Failure::usage(format!("no tensor `{name}` was passed")))
}

/// The file and the tensor that `--save NAME=FILE.npy` names.
fn saved<'a>(values: &'a [Named], item: &'a str) -> Result<(&'a Path, &'a Tensor), Failure> {
    let (name, file) = item.split_once('=').ok_or_else(|| Failure::usage(format!("--save {item}: NAME=FILE.npy")))?;
    Ok((Path::new(file), tensor(values, name)?))
}

fn contents(values: &[Named]) -> Vec<Vec<u8>> {
    let bytes = |named: &Named| match &named.value {
        Value::Tensor(tensor) => tensor.bytes().to_vec(),
        Value::Constant(_) => Vec::new(),
    };
    values.iter().map(bytes).collect()
}

/// Runs again on fresh data elsewhere, and compares.
fn compare(options: &RunOptions, kernel: &Kernel, other: shoal::Backend, first: &[Named]) -> Result<(), Failure> {
    let second = values(options)?;
    launch(options, kernel, other, &second)?;
    let worst = show::differences(first, &second);
    if worst > options.tolerance {
        return Err(Failure::new(format!(
            "the results differ by {worst:.3e}, more than --tolerance {:.3e}",
            options.tolerance
        )));
    }
    Ok(())
}
