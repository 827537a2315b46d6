//! Kernels: handles that are specialised, compiled and launched.
//!
//! A warm launch binds the arguments, classifies each and writes a key of what is compiled in and the packed arguments
//! in one walk over them, finds the compiled variant by that key, and hands both to the device. It takes no lock for
//! writing and allocates nothing.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use shoal_abi::Target;
use shoal_driver::cpu;
use shoal_driver::cuda::{LaunchShape, StreamRef};
use shoal_driver::fork::Section;
use shoal_driver::{ArgBlock, ArgWriter};
use shoal_ir::GpuShape;
use shoal_lang::{Access, ArgSpec};
use shoal_source::{Cancellation, Diagnostic, SourceMap, Span};
use shoal_world::Rank;

use crate::arg::{Arg, Args, Location};
use crate::bind::{Bound, Signature};
use crate::compile::{CompileReport, compile_cuda, compile_elsewhere, compile_native, lower};
use crate::constant::constant_of;
use crate::cuda_launch::CudaLaunch;
use crate::error::Report;
use crate::grid::IntoGrid;
use crate::leaves::{Leaves, walk};
use crate::memory_location::{Launcher, Locations, locations_error};
use crate::module::Shared;
use crate::on_rank::OnRank;
use crate::param::{Param, ParamKind};
use crate::specialise::{ArgClass, ArgumentError};
use crate::variant::{Runnable, Variant};
use crate::variant_key::Words;
use crate::variant_table::VariantTable;
use crate::{
    CompileOptions, Device, DiskCache, Error, LaunchOptions, cpu_launch, cuda_launch, lowering, options, pack,
    variant_key,
};

/// A kernel of a module, with the options and the device it is launched with. Cloning is cheap, and all handles of a
/// kernel share what is compiled.
#[derive(Clone)]
pub struct Kernel {
    shared: Arc<KernelShared>,
    options: Arc<CompileOptions>,
    launch: Arc<cpu::LaunchOptions>,
    shape: LaunchShape,
    key_start: Words,
    device: Device,
    rank: Option<Arc<OnRank>>,
}

/// What all handles of a kernel share.
pub(crate) struct KernelShared {
    pub(crate) module: Arc<Shared>,
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) params: Vec<Param>,
    variants: VariantTable,
    /// Held by the rank that compiles.
    compiling: Mutex<()>,
}

impl KernelShared {
    pub(crate) fn new(module: Arc<Shared>, name: String, span: Span, params: Vec<Param>) -> KernelShared {
        KernelShared { module, name, span, params, variants: VariantTable::default(), compiling: Mutex::default() }
    }

    fn signature(&self) -> Signature<'_> {
        Signature { name: &self.name, span: self.span, params: &self.params }
    }
}

/// A launch, worked out as far as the arguments go; see [`Kernel::prepare`].
pub struct Prepared<'a> {
    bound: Bound<'a>,
    /// As the kernel's options say, or the launch by name.
    gpu: GpuShape,
    key: Words,
    writer: ArgWriter,
    locations: Locations,
}

impl<'a> Prepared<'a> {
    /// The arguments as single values. They were classified before, so this fails for none.
    pub(crate) fn leaves(&self) -> Result<Leaves<'a>, ArgumentError> {
        Leaves::of(&self.bound)
    }

    /// How a GPU is to run it.
    pub(crate) fn gpu(&self) -> GpuShape {
        self.gpu
    }

    pub(crate) fn block(&self) -> &ArgBlock {
        self.writer.block()
    }

    /// Whose memory the arguments are.
    pub(crate) fn locations(&self) -> Locations {
        self.locations
    }
}

impl Kernel {
    pub(crate) fn new(shared: Arc<KernelShared>, device: Device) -> Kernel {
        Kernel {
            shared,
            launch: Arc::default(),
            shape: LaunchShape::default(),
            key_start: key_start(&CompileOptions::default(), &device),
            options: Arc::default(),
            device,
            rank: None,
        }
    }

    /// The same kernel, compiled with other options.
    #[must_use]
    pub fn with(mut self, mut options: CompileOptions) -> Kernel {
        if self.rank.is_some() && options.nvshmem.is_none() {
            // How its rank reaches others is not the caller's to say.
            options.nvshmem.clone_from(&self.options.nvshmem);
        }
        self.key_start = key_start(&options, &self.device);
        self.options = Arc::new(options);
        self
    }

    /// The same kernel with other options for its launches.
    #[must_use]
    pub fn launching(mut self, options: LaunchOptions) -> Kernel {
        let LaunchOptions { timeout, interrupt, print, fibers, gpu } = options;
        self.shape = gpu;
        self.launch =
            Arc::new(cpu::LaunchOptions { timeout, interrupt, print, fibers, ..cpu::LaunchOptions::default() });
        self
    }

    /// The same kernel on another device.
    #[must_use]
    pub fn on(mut self, device: Device) -> Kernel {
        self.key_start = key_start(&self.options, &device);
        self.device = device;
        self
    }

    /// The same kernel as a rank of a world launches it: it may reach the other ranks' symmetric memory and wait for what
    /// their kernels do there. All ranks whose kernels wait for each other launch at the same time, as in
    /// [`World::run`](crate::world::World::run).
    ///
    /// # Errors
    /// When the memory of another rank cannot be reached by load and store.
    pub fn on_rank(mut self, rank: &Rank) -> Result<Kernel, Error> {
        if let (Some(gpu), Device::Cuda(_)) = (rank.gpu(), &self.device) {
            self = self.on(Device::of_rank(gpu));
            if let Some(nvshmem) = gpu.nvshmem() {
                let options = CompileOptions { nvshmem: Some(nvshmem.bitcode().to_owned()), ..(*self.options).clone() };
                self = self.with(options);
            }
        }
        self.rank = Some(Arc::new(OnRank::new(rank)?));
        Ok(self)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its parameters.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.shared.params
    }

    /// Where it is launched.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How it is compiled.
    #[must_use]
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// Runs the kernel once for each program of the grid, and returns when all have ended. It is compiled first if it
    /// was not yet for arguments of this kind.
    ///
    /// Memory that is passed as `&[T]` or `&Vec<T>` is read-only: a kernel that stores through it does not compile.
    /// Otherwise native code is trusted as the program that launches it is: a kernel that computes a wrong address
    /// writes there. With [`CompileOptions::debug`] every access is checked first.
    ///
    /// # Errors
    /// When the arguments do not fit, the kernel does not compile, a program fails, or [`LaunchOptions::interrupt`] says to
    /// stop.
    #[inline]
    pub fn launch(&self, grid: impl IntoGrid, mut args: Args<'_>) -> Result<(), Error> {
        self.gather(&mut args);
        let prepared = self.prepare(&args)?;
        let grid = grid.extents(&prepared.bound)?;
        let variant = self.variant(&prepared)?;
        self.run(&prepared, &variant, grid)
    }

    /// Compiles for arguments of this kind without running, and says how long each step took. A launch with such arguments
    /// then waits for nothing that runs on the device.
    ///
    /// # Errors
    /// When the arguments do not fit or the kernel does not compile.
    pub fn warm_up(&self, args: &Args<'_>) -> Result<CompileReport, Error> {
        let mut args = args.clone();
        self.gather(&mut args);
        let variant = self.variant(&self.prepare(&args)?)?;
        if let (Some(rank), Runnable::Cuda(code)) = (&self.rank, variant.code()) {
            rank.prepare(code)?;
        }
        Ok(variant.report().clone())
    }

    /// How each compiled variant of the kernel came to be, in no order.
    #[must_use]
    pub fn reports(&self) -> Vec<CompileReport> {
        self.shared.variants.reports()
    }

    /// Warnings about one specialisation, and what `static_print` says, without making code.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn notes(&self, specs: &[ArgSpec]) -> Result<Vec<Report>, Error> {
        Ok(lower(&self.shared, specs, &self.options, self.device.target(), &self.cancellation())?.1.notes)
    }

    /// How the kernel is specialised for these arguments.
    ///
    /// # Errors
    /// When the arguments do not fit.
    pub fn specialise(&self, args: &Args<'_>) -> Result<Vec<ArgSpec>, Error> {
        let mut args = args.clone();
        self.gather(&mut args);
        let mut bound = Bound::none_of(&self.shared.params);
        bound.bind(self.shared.signature(), &args).map_err(|error| self.argument_error(*error))?;
        let specs = Leaves::of(&bound).and_then(|leaves| leaves.specs());
        specs.map_err(|error| self.argument_error(*error))
    }

    /// How the kernel is specialised by a signature such as `*fp32:16, i32, BLOCK=256`: one item for each parameter, by
    /// position or by name, written as [`ArgSpec`] says.
    ///
    /// # Errors
    /// When the signature cannot be read or leaves out a parameter without default.
    pub fn read_signature(&self, text: &str) -> Result<Vec<ArgSpec>, Error> {
        let _section = Section::enter();
        let sources = self.shared.module.sources();
        let given = self.shared.module.program().signature(&self.shared.name, text);
        let given = given.map_err(|errors| Error::Argument(Report::new(errors, sources.clone())))?;
        let spec = |param: &Param| {
            let found = given.iter().find(|(name, _)| *name == param.name).map(|(_, spec)| spec.clone());
            let default = || param.default.as_ref().and_then(constant_of).map(ArgSpec::Constant);
            found.or_else(default).ok_or_else(|| {
                let text = format!("the signature leaves out `{}`", param.name);
                let diagnostic = Diagnostic::error(param.span, text).label("has no default");
                Error::Argument(Report::new(diagnostic, sources.clone()))
            })
        };
        self.shared.params.iter().map(spec).collect()
    }

    /// Compiles one specialisation to native code and loads it, without looking at or filling any cache: for measuring.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn compile_uncached(&self, specs: &[ArgSpec]) -> Result<CompileReport, Error> {
        let options = CompileOptions { disk_cache: DiskCache::Off, ..(*self.options).clone() };
        let (target, cancellation) = (self.device.target(), self.cancellation());
        Ok(match &self.device {
            Device::Cuda(queue) => compile_cuda(&self.shared, specs, &options, queue.device(), &cancellation)?.report,
            Device::Cpu(_) | Device::Interpreter => {
                compile_native(&self.shared, specs, &options, target, &cancellation)?.report
            }
        })
    }

    /// The same for a target that need not be here, to code that is not loaded: for GPUs, to PTX.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn compile_elsewhere(&self, specs: &[ArgSpec], target: &Target) -> Result<CompileReport, Error> {
        compile_elsewhere(&self.shared, specs, &self.options, target, &self.cancellation())
    }

    /// The extents of a grid for these arguments.
    pub(crate) fn extents(&self, prepared: &Prepared<'_>, grid: impl IntoGrid) -> Result<[u32; 3], Error> {
        grid.extents(&prepared.bound)
    }

    /// The arguments as single values.
    pub(crate) fn leaves<'a>(&self, prepared: &Prepared<'a>) -> Result<Leaves<'a>, Error> {
        prepared.leaves().map_err(|error| self.argument_error(*error))
    }

    /// The texts that places in the kernel are about.
    pub(crate) fn sources(&self) -> Arc<SourceMap> {
        self.shared.module.sources()
    }

    /// What the kernel is made of, for a compiler driver that wants the parts.
    pub(crate) fn shared(&self) -> &KernelShared {
        &self.shared
    }

    /// Puts what is passed for `*rest` into one tuple, the first of the steps of a launch. A host that does something
    /// between the steps takes them one by one; [`Kernel::launch`] is all of them.
    #[inline]
    pub fn gather(&self, args: &mut Args<'_>) {
        if let Some(at) = self.shared.params.iter().position(|param| param.variadic)
            && args.positional.len() >= at
        {
            let rest = args.positional.drain(at..).collect();
            args.positional.push(Arg::Tuple(rest));
        }
    }

    /// Binds [gathered](Kernel::gather) arguments and works out what is compiled in of them.
    ///
    /// # Errors
    /// When the arguments do not fit.
    #[inline]
    pub fn prepare<'a>(&'a self, args: &'a Args<'_>) -> Result<Prepared<'a>, Error> {
        // Filled in where it is: moving its parts would take a good part of the time.
        let mut prepared = Prepared {
            bound: Bound::none_of(&self.shared.params),
            gpu: self.options.gpu,
            key: Words::from_slice(&self.key_start),
            writer: ArgWriter::default(),
            locations: Locations::default(),
        };
        let Prepared { bound, gpu, key, writer, locations } = &mut prepared;
        bound.bind(self.shared.signature(), args).map_err(|error| self.argument_error(*error))?;
        *gpu = bound.shape.over(*gpu);
        key.extend_from_slice(&options::shape_words(*gpu, self.device.target()));
        let walked = walk(bound, |leaf| {
            variant_key::write(key, leaf);
            pack::write(writer, leaf);
            locations.add(leaf);
        });
        walked.map_err(|error| self.argument_error(*error))?;
        let launcher = if self.rank.is_some() { Launcher::Rank } else { Launcher::Program };
        if !locations.are_fit_for(self.device.location(), launcher) {
            let error = prepared.leaves().map(|leaves| locations_error(&leaves, self.device.location()));
            return Err(self.argument_error(*error.unwrap_or_else(|error| error)));
        }
        Ok(prepared)
    }

    /// The specialisation for these arguments, if it is compiled already.
    #[inline]
    #[must_use]
    pub fn find(&self, prepared: &Prepared<'_>) -> Option<Arc<Variant>> {
        self.shared.variants.find(&prepared.key)
    }

    /// How the kernel is specialised for these arguments.
    ///
    /// # Errors
    /// When an argument cannot be compiled in.
    pub fn specialised(&self, prepared: &Prepared<'_>) -> Result<Vec<ArgSpec>, Error> {
        let specs = prepared.leaves().and_then(|leaves| leaves.specs());
        specs.map_err(|error| self.argument_error(*error))
    }

    /// Compiles the specialisation for these arguments.
    ///
    /// # Errors
    /// When the kernel does not compile.
    #[cold]
    pub fn compile(&self, prepared: &Prepared<'_>) -> Result<Arc<Variant>, Error> {
        let specs = self.specialised(prepared)?;
        let options = CompileOptions { gpu: prepared.gpu, ..(*self.options).clone() };
        let variant = self.device.load(&self.shared, specs, &options, &self.cancellation())?;
        Ok(self.shared.variants.keep(&prepared.key, Arc::new(variant)))
    }

    /// The same for one of several ranks of this process, which come with the same: the first compiles, and the others find
    /// what it compiled.
    ///
    /// # Errors
    /// When the kernel does not compile.
    #[cold]
    pub fn compile_in_turn(&self, prepared: &Prepared<'_>) -> Result<Arc<Variant>, Error> {
        let _turn = self.shared.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        match self.find(prepared) {
            Some(variant) => Ok(variant),
            None => self.compile(prepared),
        }
    }

    /// Compiles a specialisation that no launch has asked for yet; see [`Kernel::read_signature`].
    ///
    /// # Errors
    /// When the kernel does not compile.
    pub fn compile_for(&self, specs: Vec<ArgSpec>) -> Result<Arc<Variant>, Error> {
        Ok(Arc::new(self.device.load(&self.shared, specs, &self.options, &self.cancellation())?))
    }

    /// Runs a specialisation with the arguments that it was found or compiled for.
    ///
    /// # Errors
    /// When a program fails, or [`LaunchOptions::interrupt`] says to stop.
    #[inline]
    pub fn run(&self, prepared: &Prepared<'_>, variant: &Variant, grid: [u32; 3]) -> Result<(), Error> {
        if self.rank.is_none() {
            match (&self.device, variant.code()) {
                (Device::Cuda(queue), Runnable::Cuda(_)) => {
                    return self.run_in(prepared, variant, grid, queue.stream());
                }
                _ if !self.options.checks_accesses() => {
                    return self.device.launch(&self.shared, variant, prepared, grid, &self.launch);
                }
                _ => {}
            }
        }
        let options = cpu::LaunchOptions { bounds: self.bounds(prepared)?, ..(*self.launch).clone() };
        let launch = |options: &cpu::LaunchOptions| self.device.launch(&self.shared, variant, prepared, grid, options);
        match &self.rank {
            Some(rank) => {
                if let (Device::Cuda(queue), Runnable::Cuda(_)) = (&self.device, variant.code()) {
                    return self.run_in(prepared, variant, grid, queue.stream());
                }
                rank.launch(&self.device, options, launch)
            }
            None => launch(&options),
        }
    }

    /// Puts a specialisation into a stream of another package, such as torch's current one. The kernel is on that GPU, and
    /// so is the memory of the arguments.
    ///
    /// # Errors
    /// When it cannot be launched. What goes wrong while it runs is told by whoever waits for the stream.
    #[inline]
    pub fn run_in(
        &self,
        prepared: &Prepared<'_>,
        variant: &Variant,
        grid: [u32; 3],
        stream: StreamRef,
    ) -> Result<(), Error> {
        match variant.code() {
            Runnable::Cuda(code) => {
                let bounds = self.bounds(prepared)?;
                let shape = prepared.bound.shape.launched(self.shape);
                let launch = CudaLaunch { code, grid, stream, shape, table: None, bounds };
                match &self.rank {
                    None => cuda_launch::launch(&self.shared, prepared, &launch, &self.launch),
                    Some(rank) => rank.launch_cuda(launch, &self.launch, |launch, options| {
                        cuda_launch::launch(&self.shared, prepared, launch, options)
                    }),
                }
            }
            Runnable::Native(_) | Runnable::Lowered(_) => self.run(prepared, variant, grid),
        }
    }

    /// The memory of the arguments, for kernels that check their accesses.
    fn bounds(&self, prepared: &Prepared<'_>) -> Result<Option<Arc<cpu::Bounds>>, Error> {
        if !self.options.checks_accesses() {
            return Ok(None);
        }
        let leaves = prepared.leaves().map_err(|error| self.argument_error(*error))?;
        Ok(Some(cpu_launch::bounds(&leaves)))
    }

    /// What ends a launch also ends the compilation that it asks for.
    fn cancellation(&self) -> Cancellation {
        lowering::cancellation(self.launch.interrupt.as_ref())
    }

    #[inline]
    fn variant(&self, prepared: &Prepared<'_>) -> Result<Arc<Variant>, Error> {
        match self.find(prepared) {
            Some(variant) => Ok(variant),
            None => {
                let compiled = match self.rank {
                    Some(_) => self.compile_in_turn(prepared),
                    None => self.compile(prepared),
                };
                compiled.map_err(|error| read_only_noted(error, prepared))
            }
        }
    }

    #[cold]
    fn argument_error(&self, error: Diagnostic) -> Error {
        let _section = Section::enter();
        Error::Argument(Report::new(error, self.shared.module.sources()))
    }
}

/// An error about a store through `tl.const`, with a note for arguments that count as such because of what was passed.
fn read_only_noted(error: Error, prepared: &Prepared<'_>) -> Error {
    let Error::Compile(report) = error else { return error };
    let read_only = |(param, leaf): (&Param, &ArgClass<'_>)| {
        let by_itself = matches!(param.kind, ParamKind::Const | ParamKind::Pointer(_, Access::ReadOnly));
        (leaf.is_read_only_memory() && !by_itself).then(|| param.name.clone())
    };
    let leaves = prepared.leaves().ok();
    let found = leaves.as_ref().and_then(|leaves| leaves.iter().find_map(read_only));
    let Some(param) = found else { return Error::Compile(report) };
    let note = format!("`{param}` was passed as a shared reference, which counts as `tl.const`: pass `&mut`");
    Error::Compile(report.with_note_where("`tl.const`", &note))
}

fn key_start(options: &CompileOptions, device: &Device) -> Words {
    let mut words = options.key_words();
    let number = match device.location() {
        Location::Host => 0,
        // Code is loaded for one of several GPUs.
        Location::Cuda(ordinal) => u64::from(ordinal) << 8,
    };
    words.push(device.backend() as u64 | number);
    variant_key::write_target(&mut words, device.target());
    words
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.shared.name).field("device", &self.device).finish_non_exhaustive()
    }
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("bound", &self.bound).finish_non_exhaustive()
    }
}
