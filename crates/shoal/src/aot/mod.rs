//! Kernels compiled ahead of time, for programs that run without Python, LLVM and compiler.
//!
//! A [`Build`] names a kernel, the signatures to compile it for and the CPUs or the GPUs to compile it to. What comes out is
//! a [`Family`]: all variants behind one launch function, which takes the best that the arguments and the CPU or the GPU
//! fit. It is written as a shared library, as C source and header, or as a Rust module.
//!
//! In a build script, whose program then needs only `shoal-runtime`:
//!
//! ```no_run
//! use shoal::aot::Build;
//!
//! Build::from_file("kernels/add.py", "add")?
//!     .signature("*kfp32:16, *kfp32:16, *fp32:16, i32, 1024")
//!     .signature("*kfp32, *kfp32, *fp32, i32, 1024")
//!     .target("x86-64-v3")
//!     .target("generic")
//!     .for_cargo()?; // then: mod add { include!(concat!(env!("OUT_DIR"), "/add.rs")); }
//! # Ok::<(), shoal::Error>(())
//! ```
//!
//! `docs/ahead-of-time.md` shows all of it.

mod c_header;
mod c_source;
mod family;
mod library;
mod merge;
mod names;
mod rust;
mod signature;
#[cfg(test)]
mod tests;
mod torch_library;

use std::io;
use std::path::{Path, PathBuf};

pub use family::Family;
pub use library::find_runtime;
pub use torch_library::TorchLibraries;

use shoal_abi::TableUse;
use shoal_driver::cuda::{assemble_with_ptxas, find_ptxas};
use shoal_source::Cancellation;

use crate::cache::{Entry, LinkedFile};
use crate::compile::{generate, optimise};
use crate::{CompileOptions, DebugInfo, Error, Kernel, Module, Report, target_named};
use family::Variant;
use signature::Signature;

/// A kernel and what to compile it for.
#[derive(Debug, Clone)]
pub struct Build {
    kernel: Kernel,
    name: String,
    signatures: Vec<String>,
    targets: Vec<String>,
}

impl Build {
    /// Compiles this kernel, with its options; it carries lines for debuggers only if it is to check assertions.
    #[must_use]
    pub fn new(kernel: Kernel) -> Build {
        let name = kernel.name().to_owned();
        Build { kernel, name, signatures: Vec::new(), targets: Vec::new() }
    }

    /// Compiles a kernel of a file. Relative paths start at the current folder, which for a build script is its
    /// package's.
    ///
    /// # Errors
    /// When the file cannot be read or has no such kernel.
    pub fn from_file(path: impl AsRef<Path>, kernel: &str) -> Result<Build, Error> {
        Ok(Build::new(Module::from_file(path)?.kernel(kernel)?))
    }

    /// Names functions and files after this; by default after the kernel.
    #[must_use]
    pub fn name(mut self, name: &str) -> Build {
        self.name = name.to_owned();
        self
    }

    /// Adds a signature, such as `*kfp32:16, *fp32:16, i32, BLOCK=1024`. At least one is needed.
    #[must_use]
    pub fn signature(mut self, signature: &str) -> Build {
        self.signatures.push(signature.to_owned());
        self
    }

    /// Adds a target by its name, such as `x86-64-v3` or `sm_90a`; see [`target_named`]. By default this machine's CPU.
    #[must_use]
    pub fn target(mut self, target: &str) -> Build {
        self.targets.push(target.to_owned());
        self
    }

    /// Compiles every signature for every target.
    ///
    /// # Errors
    /// When the kernel does not compile, or no one function takes the arguments of all signatures.
    pub fn compile(&self) -> Result<Family, Error> {
        if !names::is_plain(&self.name) {
            let text = format!("`{}` cannot be the name of a function in C and Rust; choose another name", self.name);
            return Err(Error::AheadOfTime(text));
        }
        let signatures: Result<Vec<_>, _> = self.signatures.iter().map(|s| Signature::read(&self.kernel, s)).collect();
        let signatures = signatures?;
        let merged = merge::merge(&signatures)?;
        self.check_targets()?;
        let (mut variants, mut linked, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (i, target) in self.targets().into_iter().enumerate() {
            for (signature, (configuration, slots)) in signatures.iter().zip(&merged.of_signature) {
                let (variant, files, said) = self.variant(signature, target)?;
                linked.extend(files.iter().map(|file| file.path().to_owned()));
                // The compiler says the same for each target.
                notes.extend(said.into_iter().filter(|_| i == 0));
                variants.push(Variant { configuration: *configuration, slots: slots.clone(), ..variant });
            }
        }
        merge::sort(&mut variants);
        Ok(Family {
            name: self.name.clone(),
            kernel: self.kernel.name().to_owned(),
            source: self.kernel.shared().module.name().to_owned(),
            params: merged.params,
            constants: merged.constants,
            configurations: merged.configurations,
            variants,
            linked,
            notes,
        })
    }

    /// For build scripts: compiles, writes the Rust module to `OUT_DIR`, and tells Cargo which files it depends on.
    ///
    /// # Errors
    /// As [`compile`](Build::compile) and [`Family::write_rust`]; and when Cargo did not start this program.
    pub fn for_cargo(&self) -> Result<PathBuf, Error> {
        let sources = self.kernel.shared().module.sources();
        for file in sources.files().map(|file| sources.name(file)).filter(|name| !name.starts_with('<')) {
            println!("cargo::rerun-if-changed={file}");
        }
        let folder = std::env::var_os("OUT_DIR").ok_or_else(|| {
            Error::AheadOfTime("OUT_DIR is not set: `for_cargo` is for build scripts, which Cargo starts".into())
        })?;
        let family = self.compile()?;
        for file in &family.linked {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        let written = family.write_rust(Path::new(&folder))?;
        Ok(written.into_iter().next().unwrap_or_default())
    }

    fn targets(&self) -> Vec<&str> {
        if self.targets.is_empty() { vec!["native"] } else { self.targets.iter().map(String::as_str).collect() }
    }

    /// One launch function runs on CPUs or on GPUs, and takes pointers to the memory of one or the other.
    fn check_targets(&self) -> Result<(), Error> {
        let targets = self.targets().into_iter().map(target_named).collect::<Result<Vec<_>, _>>()?;
        match targets.iter().find(|target| target.kind() != targets[0].kind()) {
            None => Ok(()),
            Some(other) => Err(Error::AheadOfTime(format!(
                "one launch function cannot be for {} and for {}: compile them apart, with different `--name`s",
                targets[0].name(),
                other.name()
            ))),
        }
    }

    /// One variant, as far as it is known without the others, what was linked into it, and what the compiler said.
    fn variant(&self, signature: &Signature, name: &str) -> Result<(Variant, Vec<LinkedFile>, Vec<Report>), Error> {
        let target = target_named(name)?;
        let options = self.kernel.options().clone();
        let debug_info = if options.debug { DebugInfo::Lines } else { DebugInfo::None };
        let options = CompileOptions { debug_info, ..options };
        let (lowered, report) =
            optimise(self.kernel.shared(), &signature.specs, &options, &target, &Cancellation::default())?;
        let mut code = generate(self.kernel.shared(), &lowered, &target, &options)?;
        if let Some(arch) = target.nvptx() {
            self.check_parameters(signature, &code)?;
            // Without the assembler, the driver of the machine that runs it assembles the text.
            if find_ptxas().is_some() {
                code.object = assemble_with_ptxas(self.kernel.name(), arch, &code.object)?.0;
            }
        }
        let text =
            if self.targets().len() > 1 { format!("{} for {name}", signature.text) } else { signature.text.clone() };
        let Entry { description, object, linked, label: _ } = code;
        let variant = Variant { signature: text, configuration: 0, slots: Vec::new(), description, object };
        Ok((variant, linked, report.notes))
    }
}

impl Build {
    /// A GPU's code takes what a launch passes, value by value.
    fn check_parameters(&self, signature: &Signature, code: &Entry) -> Result<(), Error> {
        let passed = signature.leaves.iter().filter(|leaf| matches!(leaf.known, signature::Known::Type(..))).count();
        if code.description.nvptx().is_some_and(|needs| needs.table == TableUse::Ranks) {
            return Err(Error::AheadOfTime(format!(
                "`{}` asks for its rank or reaches others: kernels of several ranks cannot be shipped for GPUs yet",
                self.kernel.name()
            )));
        }
        if code.description.params.len() == passed {
            return Ok(());
        }
        Err(Error::AheadOfTime(format!(
            "`{}` takes its arguments in another form on GPUs ({} values, not {passed}), which cannot be shipped yet",
            self.kernel.name(),
            code.description.params.len()
        )))
    }
}

impl Family {
    /// Writes the Rust module `NAME.rs` and the objects it embeds; returns the files, the module first.
    ///
    /// # Errors
    /// When a file cannot be written, or a parameter has no Rust type.
    pub fn write_rust(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut files = vec![write(folder, &format!("{}.rs", self.name), self.rust_module()?.as_bytes())?];
        for (number, variant) in self.variants.iter().enumerate() {
            files.push(write(folder, &self.object_name(number), &variant.object)?);
        }
        Ok(files)
    }

    /// Writes the header `NAME.h` and the source `NAME.c`, to be compiled and linked with `libshoal_runtime.a`; returns
    /// the files.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_c(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let header = self.write_header(folder)?;
        Ok(vec![header, write(folder, &format!("{}.c", self.name), self.c_source().as_bytes())?])
    }

    /// Writes the header `NAME.h`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_header(&self, folder: &Path) -> Result<PathBuf, Error> {
        write(folder, &format!("{}.h", self.name), self.c_header().as_bytes())
    }
}

/// Writes a file, and the folder if it is not there.
fn write(folder: &Path, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    let unwritable = |reason: io::Error| Error::AheadOfTime(format!("cannot write {}: {reason}", path.display()));
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    std::fs::write(&path, content).map_err(unwritable)?;
    Ok(path)
}
