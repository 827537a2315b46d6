//! From source to code: lower, verify, passes, code generation, loading; with the disk cache in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_abi::Target;
use shoal_driver::cpu::{Code, LoadedKernel};
use shoal_driver::cuda::{self, CudaDevice, CudaKernel};
use shoal_driver::fork::Section;
use shoal_lang::{ArgSpec, Lowered};
use shoal_passes::pipeline;
use shoal_source::Cancellation;

use crate::cache::{Cache, Entry, Key, KeyWriter, Label};
use crate::kernel::KernelShared;
use crate::linked::LinkedFile;
use crate::lowering;
use crate::options::{DebugInfo, DiskCache};
use crate::{CompileOptions, Error, error::Report};

/// How a compiled kernel came to be, and how long each step took.
#[derive(Debug, Clone, Default)]
pub struct CompileReport {
    /// Where the code came from.
    pub origin: Origin,
    /// Reading the source; done once for a module.
    pub parse: Duration,
    /// Source to tile IR, with its verification.
    pub lower: Duration,
    /// Passes over tile IR.
    pub passes: Duration,
    /// Tile IR to machine code; for GPUs, to PTX.
    pub codegen: Duration,
    /// PTX to a GPU's machine code.
    pub assemble: Duration,
    /// Looking into the disk cache.
    pub lookup: Duration,
    /// Loading machine code.
    pub load: Duration,
    /// Size of the machine code's object.
    pub object_bytes: usize,
    /// Warnings, and what `static_print` said.
    pub notes: Vec<Report>,
}

/// Where compiled code came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// It was compiled now.
    #[default]
    Compiled,
    /// It was in the disk cache.
    Cached,
}

impl CompileReport {
    /// All steps together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.parse + self.lower + self.passes + self.codegen + self.assemble + self.lookup + self.load
    }
}

/// A kernel in machine code, loaded.
pub(crate) struct Compiled<K> {
    pub(crate) kernel: K,
    pub(crate) linked: Vec<LinkedFile>,
    pub(crate) report: CompileReport,
}

/// Runs `f` and adds its time to `spent`.
fn timed<T>(spent: &mut Duration, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = f();
    *spent += start.elapsed();
    value
}

/// Source to verified tile IR.
pub(crate) fn lower(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Result<(Lowered, CompileReport), Error> {
    let _section = Section::enter();
    let mut report = CompileReport { parse: kernel.module.parse_time(), ..CompileReport::default() };
    let lowered = timed(&mut report.lower, || {
        let lowered = lowering::lower(kernel, specs, options, target, cancellation)?;
        let sources = kernel.module.sources();
        shoal_ir::verify(&lowered.module).map_err(|errors| Error::Compile(Report::new(errors, sources)))?;
        Ok::<_, Error>(lowered)
    })?;
    report.notes = lowered.notes.iter().map(|note| Report::new(note.clone(), kernel.module.sources())).collect();
    Ok((lowered, report))
}

/// Source to tile IR as code generation takes it.
pub(crate) fn optimise(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Result<(Lowered, CompileReport), Error> {
    let (mut lowered, mut report) = lower(kernel, specs, options, target, cancellation)?;
    if options.debug && target.nvptx().is_some() {
        // What a copy engine does cannot be checked, so that descriptors go through pointers, as for a CPU.
        let pointers = Target::Cpu(shoal_abi::CpuTarget::generic());
        for pass in ["inline_all", "lower_descriptors"].into_iter().filter_map(pipeline::by_name) {
            (pass.run)(&mut lowered.module, &pointers);
        }
    }
    let done = timed(&mut report.passes, || pipeline::optimize(&mut lowered.module, target, cancellation));
    done.map_err(|pipeline::Cancelled| lowering::cancelled(kernel))?;
    if cancellation.is_requested() {
        return Err(lowering::cancelled(kernel));
    }
    Ok((lowered, report))
}

/// Source to native code of the host, loaded.
pub(crate) fn compile_native(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Result<Compiled<LoadedKernel>, Error> {
    let load = |entry: &Entry| Ok(LoadedKernel::new(Arc::new(Code::load(&entry.object)?), entry.description.clone())?);
    compile_with(kernel, specs, options, target, cancellation, |_| Ok(()), load)
}

/// Source to a GPU's machine code, loaded. The cache keeps what the driver's assembler made.
pub(crate) fn compile_cuda(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    device: CudaDevice,
    cancellation: &Cancellation,
) -> Result<Compiled<CudaKernel>, Error> {
    let target = Target::Nvptx(device.arch());
    let assemble = |entry: &mut Entry| {
        entry.object = cuda::assemble_kernel(device, &entry.description, &entry.object)?;
        Ok(())
    };
    let load = |entry: &Entry| Ok(CudaKernel::load(device, &entry.object, entry.description.clone())?);
    compile_with(kernel, specs, options, &target, cancellation, assemble, load)
}

/// Source to code for a target that need not be here: it is not loaded, nor kept.
pub(crate) fn compile_elsewhere(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Result<CompileReport, Error> {
    let (lowered, mut report) = optimise(kernel, specs, options, target, cancellation)?;
    let entry = timed(&mut report.codegen, || generate(kernel, &lowered, target, options))?;
    report.object_bytes = entry.object.len();
    Ok(report)
}

/// Source to loaded machine code, by way of the disk cache. `assemble` does what is left to do before code is kept.
fn compile_with<K>(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
    assemble: impl Fn(&mut Entry) -> Result<(), Error>,
    load: impl Fn(&Entry) -> Result<K, Error>,
) -> Result<Compiled<K>, Error> {
    let _section = Section::enter();
    let mut lookup = Duration::ZERO;
    let cache = match options.disk_cache {
        DiskCache::User => Cache::user().ok().flatten(),
        DiskCache::Off => None,
    };
    let mut key = None;
    let found = timed(&mut lookup, || {
        let cache = cache?;
        let wanted = cache_key(kernel, specs, options, target)?;
        key = Some(wanted);
        cache.find(&wanted)
    });
    if let Some(entry) = found {
        let mut report = CompileReport {
            origin: Origin::Cached,
            parse: kernel.module.parse_time(),
            lookup,
            object_bytes: entry.object.len(),
            ..CompileReport::default()
        };
        // An object that passes its checksum and still cannot be loaded was made by another build: compile again.
        if let Ok(kernel) = timed(&mut report.load, || load(&entry)) {
            return Ok(Compiled { kernel, linked: entry.linked, report });
        }
    }
    let (lowered, mut report) = optimise(kernel, specs, options, target, cancellation)?;
    report.lookup = lookup;
    let mut entry = timed(&mut report.codegen, || generate(kernel, &lowered, target, options))?;
    timed(&mut report.assemble, || assemble(&mut entry))?;
    report.object_bytes = entry.object.len();
    let loaded = timed(&mut report.load, || load(&entry))?;
    if let (Some(cache), Some(key)) = (cache, key)
        && let Err(reason) = cache.keep(&key, &entry)
    {
        tracing::warn!("cannot keep {} in the kernel cache: {reason}", kernel.name);
    }
    Ok(Compiled { kernel: loaded, linked: entry.linked, report })
}

/// The key of a compiled kernel; `None` when it depends on an object of the host that nobody can tell from another in
/// the next run.
fn cache_key(kernel: &KernelShared, specs: &[ArgSpec], options: &CompileOptions, target: &Target) -> Option<Key> {
    let mut writer = KeyWriter::default();
    let spec = lowering::specialization(kernel, specs, options, target, &Cancellation::default());
    writer.part("source", kernel.module.program().source_key(&kernel.name, &spec)?);
    writer.part("kernel", &kernel.name);
    for (param, spec) in kernel.params.iter().zip(specs) {
        writer.part(&param.name, spec.to_string());
    }
    writer.part("options", options.disk_key(target));
    writer.part("target", target.key());
    Some(writer.finish())
}

/// Code generation's options.
pub(crate) fn codegen_options(options: &CompileOptions) -> shoal_codegen::Options {
    shoal_codegen::Options {
        debug_info: options.debug_info == DebugInfo::Lines,
        checks: options.checks_accesses(),
        extern_libs: options.extern_libs.clone(),
        nvshmem: options.nvshmem.clone(),
    }
}

/// Tile IR to machine code.
pub(crate) fn generate(
    kernel: &KernelShared,
    lowered: &Lowered,
    target: &Target,
    options: &CompileOptions,
) -> Result<Entry, Error> {
    // LLVM has locks of its own.
    let _section = Section::enter();
    let sources = kernel.module.sources();
    let compiled =
        shoal_codegen::compile(&lowered.module, &lowered.kernel, target, &sources, &codegen_options(options))
            .map_err(|diagnostics| Error::Compile(Report::new(diagnostics, sources.clone())))?;
    let label =
        Label { kernel: kernel.name.clone(), source: kernel.module.name().to_owned(), target: target.to_string() };
    let linked = compiled.linked.into_iter().map(|file| LinkedFile::new(file.path, &file.bitcode)).collect();
    Ok(Entry { label, linked, description: compiled.description, object: compiled.object })
}
