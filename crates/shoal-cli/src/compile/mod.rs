//! `shoal compile`.

mod ahead;

use std::path::{Path, PathBuf};

use shoal::{CompileReport, Kernel, Module, Stage, host_target, target_named};

use crate::command_line::CompileOptions;
use crate::failure::{Failure, write};
use crate::numbers::duration;
use crate::table::{Align, Table};
use ahead::Form;

pub(crate) fn compile(options: &CompileOptions, runtime: &[PathBuf]) -> Result<(), Failure> {
    let (stages, forms) = what(&options.emit)?;
    let mut wanted = shoal::CompileOptions::default();
    wanted.debug |= options.debug;
    let gpu = &mut wanted.gpu;
    gpu.num_warps = options.num_warps.unwrap_or(gpu.num_warps);
    gpu.num_stages = options.num_stages.unwrap_or(gpu.num_stages);
    gpu.max_registers = options.maxnreg.or(gpu.max_registers);
    let kernel = kernel_of(&options.kernel)?.with(wanted);
    if options.time {
        for signature in &options.signatures {
            let specs = kernel.read_signature(signature)?;
            for target in &options.targets {
                let target = target_named(target)?;
                steps(&match &target == host_target() {
                    true => kernel.compile_uncached(&specs)?,
                    false => kernel.compile_elsewhere(&specs, &target)?,
                });
            }
        }
    }
    if !stages.is_empty() {
        show(&kernel, &stages, options)?;
    }
    if !forms.is_empty() {
        ahead::emit(&kernel, &forms, options, runtime)?;
    }
    Ok(())
}

/// Prints or writes the kernel in the forms it has on its way to code.
fn show(kernel: &Kernel, stages: &[Stage], options: &CompileOptions) -> Result<(), Failure> {
    let ([signature], [target]) = (&options.signatures[..], &options.targets[..]) else {
        return Err(Failure::usage(
            "tile, tile-opt, llvm-raw, llvm, asm, obj, ptx and cubin show one signature on one target at a time",
        ));
    };
    let target = target_named(target)?;
    let of_gpus = options.emit.iter().find(|name| OF_GPUS.iter().any(|(known, _)| known == name));
    if let (Some(name), false) = (of_gpus, target.nvptx().is_some()) {
        let text = format!("`{name}` is made for NVIDIA GPUs, not for {}", target.name());
        return Err(Failure::usage(format!(
            "{text}\n  = help: say for which with `--target`, such as sm_80 or sm_90a"
        )));
    }
    let specs = kernel.read_signature(signature)?;
    for note in kernel.notes(&specs)? {
        eprintln!("{note}");
    }
    let mut texts = 0;
    for &stage in stages {
        let content = kernel.emit(&specs, stage, &target)?;
        match &options.output {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(|reason| Failure::File {
                    verb: "create",
                    path: folder.clone(),
                    reason,
                })?;
                let path = folder.join(format!("{}.{}", kernel.name(), stage.extension(&target)));
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
            None => return Err(Failure::usage("an object is not text: say where it goes with --output FOLDER")),
        }
    }
    Ok(())
}

/// Shows how long each step to code takes.
fn steps(report: &CompileReport) {
    let mut table = Table::new(&[("step", Align::Left), ("time", Align::Right)]);
    let CompileReport { parse, lower, passes, codegen, load, .. } = report;
    for (name, time) in [("parse", parse), ("lower", lower), ("passes", passes), ("codegen", codegen), ("load", load)] {
        if !time.is_zero() {
            table.row([name.to_owned(), duration(*time)]);
        }
    }
    table.row(["all".to_owned(), duration(report.total())]);
    eprint!("{table}");
}

/// What people call assembly and objects for NVIDIA GPUs.
const OF_GPUS: [(&str, Stage); 2] = [("ptx", Stage::Asm), ("cubin", Stage::Object)];

/// What `--emit` asks for.
fn what(names: &[String]) -> Result<(Vec<Stage>, Vec<Form>), Failure> {
    let (mut stages, mut forms) = (Vec::new(), Vec::new());
    for name in names {
        let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
        let of_gpus = OF_GPUS.into_iter().find(|(known, _)| known == name).map(|(_, stage)| stage);
        let stage = stage.or(of_gpus);
        let form = Form::ALL.into_iter().find(|form| form.name() == name);
        if stage.is_none() && form.is_none() {
            let known = Stage::ALL.into_iter().map(Stage::name).chain(OF_GPUS.into_iter().map(|(name, _)| name));
            let known = known.chain(Form::ALL.into_iter().map(Form::name));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!("nothing is called `{name}` that could be emitted; there are {known}")));
        }
        stages.extend(stage);
        forms.extend(form);
    }
    Ok((stages, forms))
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
        [] => Err(Failure::usage(format!("{file} has no kernel: a kernel is a function with the decorator `jit`"))),
        several => Err(Failure::usage(format!(
            "{file} has several kernels; name one: {}",
            several.iter().map(|kernel| format!("{file}:{kernel}")).collect::<Vec<_>>().join(", ")
        ))),
    }
}
