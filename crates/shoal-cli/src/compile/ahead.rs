//! `shoal compile --emit so,c,rust`: kernels for other programs.

use std::path::{Path, PathBuf};

use shoal::Kernel;
use shoal::aot::{Build, find_runtime};

use crate::command_line::CompileOptions;
use crate::failure::Failure;

/// A form for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Library,
    C,
    Rust,
}

impl Form {
    pub(crate) const ALL: [Form; 3] = [Form::Library, Form::C, Form::Rust];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Library => "so",
            Form::C => "c",
            Form::Rust => "rust",
        }
    }
}

/// Compiles all signatures and writes the forms.
pub(crate) fn emit(
    kernel: &Kernel,
    forms: &[Form],
    options: &CompileOptions,
    runtime: &[PathBuf],
) -> Result<(), Failure> {
    let folder = options.output.as_deref().unwrap_or(Path::new("."));
    // What is missing should be told before the compiler is busy.
    if forms.contains(&Form::Library) {
        find_runtime(runtime)?;
    }
    let mut build = Build::new(kernel.clone());
    if let Some(name) = &options.name {
        build = build.name(name);
    }
    build = options.signatures.iter().fold(build, |build, signature| build.signature(signature));
    build = options.targets.iter().fold(build, |build, target| build.target(target));
    let family = build.compile()?;
    for note in family.notes() {
        eprintln!("{note}");
    }
    let mut written: Vec<PathBuf> = Vec::new();
    for form in forms {
        let files = match form {
            Form::Library => family.write_library(folder, &find_runtime(runtime)?)?,
            Form::C => family.write_c(folder)?,
            Form::Rust => family.write_rust(folder)?,
        };
        for file in files {
            // A library and C source share their header.
            if !written.contains(&file) {
                written.push(file);
            }
        }
    }
    for path in written {
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
