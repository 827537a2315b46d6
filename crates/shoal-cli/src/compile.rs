//! `shoal compile`.

use std::path::Path;

use shoal::{CompileReport, Kernel, Module, Options, Stage};

use crate::command_line::CompileOptions;
use crate::failure::{Failure, write};
use crate::numbers::duration;
use crate::table::{Align, Table};

pub(crate) fn compile(options: &CompileOptions) -> Result<(), Failure> {
    let stages: Vec<Stage> = options.emit.iter().map(|name| stage(name)).collect::<Result<_, _>>()?;
    let kernel = kernel_of(&options.target)?.with(Options { debug: options.debug, ..Options::default() });
    let specs = kernel.read_signature(&options.signature)?;
    for note in kernel.notes(&specs)? {
        eprintln!("{note}");
    }
    if options.time {
        steps(&kernel.compile_uncached(&specs)?);
    }
    let mut texts = 0;
    for stage in stages {
        let content = kernel.emit(&specs, stage, options.cpu.as_deref())?;
        match &options.output {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(|reason| Failure::File {
                    verb: "create",
                    path: folder.clone(),
                    reason,
                })?;
                let path = folder.join(format!("{}.{}", kernel.name(), stage.extension()));
                write(&path, &content)?;
                eprintln!("wrote {}", path.display());
            }
            None if stage.is_text() => {
                if texts > 0 {
                    outln!();
                }
                texts += 1;
                outln!("{}", String::from_utf8_lossy(&content).trim_end());
            }
            None => return Err(Failure::new("an object is not text: say where it goes with --output FOLDER")),
        }
    }
    Ok(())
}

/// Shows how long each step to loaded code takes.
fn steps(report: &CompileReport) {
    let mut table = Table::new(&[("step", Align::Left), ("time", Align::Right)]);
    let CompileReport { parse, lower, passes, codegen, load, .. } = report;
    for (name, time) in [("parse", parse), ("lower", lower), ("passes", passes), ("codegen", codegen), ("load", load)] {
        table.row([name.to_owned(), duration(*time)]);
    }
    table.row(["all".to_owned(), duration(report.total())]);
    eprint!("{table}");
}

fn stage(name: &str) -> Result<Stage, Failure> {
    Stage::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
        let known: Vec<&str> = Stage::ALL.into_iter().map(Stage::name).collect();
        Failure::new(format!("nothing is called `{name}` that could be emitted; there are {}", known.join(", ")))
    })
}

/// The kernel that `FILE.py[:KERNEL]` names; the name may be left out where there is only one.
pub(crate) fn kernel_of(target: &str) -> Result<Kernel, Failure> {
    let (file, name) = match target.rsplit_once(':') {
        Some((file, name)) if !name.contains(['/', '.']) => (file, Some(name)),
        _ => (target, None),
    };
    let module = Module::from_file(Path::new(file))?;
    if let Some(name) = name {
        return Ok(module.kernel(name)?);
    }
    match module.kernels().as_slice() {
        [only] => Ok(module.kernel(only)?),
        [] => Err(Failure::new(format!("{file} has no kernel: a kernel is a function with the decorator `jit`"))),
        several => Err(Failure::new(format!(
            "{file} has several kernels; name one: {}",
            several.iter().map(|kernel| format!("{file}:{kernel}")).collect::<Vec<_>>().join(", ")
        ))),
    }
}
