//! Kernels: specialised, compiled and launched.
//!
//! A warm launch binds the arguments, writes a key of what is compiled in and the packed arguments in one walk over the
//! parameters, finds the compiled variant by that key, and hands both to the driver. It takes no lock for writing and
//! allocates nothing (tuples aside).

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use shoal_driver::cpu::{self, ArgBlock, ArgWriter};
use shoal_driver::fork::{PerProcess, Section};
use shoal_lang::ArgSpec;
use shoal_source::{Cancellation, Diagnostic, Span};

use crate::arg::{Arg, Args};
use crate::bound::{Bound, Signature};
use crate::compile::{CompileReport, Compiled, compile_native, lower};
use crate::constant::constant_of;
use crate::error::Report;
use crate::grid::IntoGrid;
use crate::module::Shared;
use crate::param::Param;
use crate::specialise::{Fault, classify};
use crate::variant::{Runnable, Variant};
use crate::variant_key::{BuildWordHasher, Words};
use crate::{CompileOptions, Device, DiskCache, Error, LaunchOptions, interpret, lowering, native, pack, variant_key};

/// A kernel of a module, with the options and the device it is launched with. Cloning is cheap, and all handles of a
/// kernel share what is compiled.
#[derive(Clone)]
pub struct Kernel {
    shared: Arc<KernelShared>,
    options: Arc<CompileOptions>,
    launch: Arc<cpu::LaunchOptions>,
    key_start: Words,
    device: Device,
}

/// What all handles of a kernel share.
pub(crate) struct KernelShared {
    pub(crate) module: Arc<Shared>,
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) params: Vec<Param>,
    variants: PerProcess<Variants>,
}

/// What is compiled, by the key of the arguments.
type Variants = RwLock<HashMap<Box<[u64]>, Arc<Variant>, BuildWordHasher>>;

impl KernelShared {
    pub(crate) fn new(module: Arc<Shared>, name: String, span: Span, params: Vec<Param>) -> KernelShared {
        KernelShared { module, name, span, params, variants: PerProcess::new(RwLock::default()) }
    }

    /// What is compiled. It is written in [sections](Section) only, so a forked child finds it whole; but launches of
    /// threads that it does not have may be reading it for ever, so that it has a lock of its own.
    #[inline]
    fn variants(&self) -> &Variants {
        let copied = |parents: &Variants| {
            let known = match parents.try_read() {
                Ok(known) => known.clone(),
                Err(TryLockError::Poisoned(known)) => known.into_inner().clone(),
                Err(TryLockError::WouldBlock) => unreachable!("forks wait for those who write"),
            };
            Ok::<_, Infallible>(RwLock::new(known))
        };
        let Ok(variants) = self.variants.get(copied);
        variants
    }

    fn signature(&self) -> Signature<'_> {
        Signature { name: &self.name, span: self.span, params: &self.params }
    }
}

/// A launch, worked out as far as the arguments go; see [`Kernel::prepare`].
pub struct Prepared<'a> {
    bound: Bound<'a>,
    key: Words,
    block: ArgBlock,
}

impl Kernel {
    pub(crate) fn new(shared: Arc<KernelShared>, device: Device) -> Kernel {
        Kernel {
            shared,
            launch: Arc::default(),
            key_start: key_start(&CompileOptions::default(), &device),
            options: Arc::default(),
            device,
        }
    }

    /// The same kernel, compiled with other options.
    #[must_use]
    pub fn with(mut self, options: CompileOptions) -> Kernel {
        self.key_start = key_start(&options, &self.device);
        self.options = Arc::new(options);
        self
    }

    /// The same kernel with other options for its launches.
    #[must_use]
    pub fn launching(mut self, options: LaunchOptions) -> Kernel {
        let LaunchOptions { timeout, interrupt, print, fibers } = options;
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

    /// How it is compiled.
    #[must_use]
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// Runs the kernel once for each program of the grid, and returns when all have ended. It is compiled first if it
    /// was not yet for arguments of this kind.
    ///
    /// Native code is trusted as the program that launches it is: a kernel that computes a wrong address writes there.
    /// With [`CompileOptions::debug`] every access is checked first.
    ///
    /// # Errors
    /// When the arguments do not fit, the kernel does not compile, a program fails, or [`LaunchOptions::interrupt`] says to
    /// stop.
    #[inline]
    pub fn launch(&self, grid: impl IntoGrid, args: Args<'_>) -> Result<(), Error> {
        let args = self.gather(args);
        let prepared = self.prepare(&args)?;
        let grid = grid.extents(&prepared.bound)?;
        let variant = self.variant(&prepared)?;
        self.run(&prepared, &variant, grid)
    }

    /// Compiles for arguments of this kind without running, and says how long each step took.
    ///
    /// # Errors
    /// When the arguments do not fit or the kernel does not compile.
    pub fn warm_up(&self, args: &Args<'_>) -> Result<CompileReport, Error> {
        let args = self.gather(args.clone());
        Ok(self.variant(&self.prepare(&args)?)?.report().clone())
    }

    /// How each compiled variant of the kernel came to be, in no order.
    #[must_use]
    pub fn reports(&self) -> Vec<CompileReport> {
        let known = self.shared.variants().read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|variant| variant.report().clone()).collect()
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
        let args = self.gather(args.clone());
        let bound = Bound::new(self.shared.signature(), &args).map_err(|fault| self.wrong(*fault))?;
        self.specs(&bound)
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
        Ok(compile_native(&self.shared, specs, &options, &self.cancellation())?.report)
    }

    /// What the kernel is made of, for a compiler driver that wants the parts.
    pub(crate) fn shared(&self) -> &KernelShared {
        &self.shared
    }

    /// Puts what is passed for `*rest` into one tuple, the first of the steps of a launch. A host that does something
    /// between the steps takes them one by one; [`Kernel::launch`] is all of them.
    #[inline]
    #[must_use]
    pub fn gather<'a>(&self, mut args: Args<'a>) -> Args<'a> {
        if let Some(at) = self.shared.params.iter().position(|param| param.variadic)
            && args.positional.len() >= at
        {
            let rest: Vec<Arg<'a>> = args.positional.drain(at..).collect();
            args.positional.push(Arg::Tuple(rest));
        }
        args
    }

    /// Binds [gathered](Kernel::gather) arguments and works out what is compiled in of them.
    ///
    /// # Errors
    /// When the arguments do not fit.
    #[inline]
    pub fn prepare<'a>(&'a self, args: &'a Args<'_>) -> Result<Prepared<'a>, Error> {
        let bound = Bound::new(self.shared.signature(), args).map_err(|fault| self.wrong(*fault))?;
        let mut key = self.key_start.clone();
        let mut writer = ArgWriter::default();
        for (param, &arg) in self.shared.params.iter().zip(&bound.args) {
            let written = classify(param, arg).and_then(|class| {
                variant_key::write(&mut key, param, class)?;
                pack::write(&mut writer, param, arg, class)
            });
            written.map_err(|fault| self.wrong(*fault))?;
        }
        Ok(Prepared { bound, key, block: writer.finish() })
    }

    /// The specialisation for these arguments, if it is compiled already.
    #[inline]
    #[must_use]
    pub fn find(&self, prepared: &Prepared<'_>) -> Option<Arc<Variant>> {
        let known = self.shared.variants().read().unwrap_or_else(PoisonError::into_inner);
        known.get(prepared.key.as_slice()).filter(|variant| variant.is_current()).cloned()
    }

    /// How the kernel is specialised for these arguments.
    ///
    /// # Errors
    /// When an argument cannot be compiled in.
    pub fn specialised(&self, prepared: &Prepared<'_>) -> Result<Vec<ArgSpec>, Error> {
        self.specs(&prepared.bound)
    }

    /// Compiles the specialisation for these arguments.
    ///
    /// # Errors
    /// When the kernel does not compile.
    #[cold]
    pub fn compile(&self, prepared: &Prepared<'_>) -> Result<Arc<Variant>, Error> {
        let variant = self.compile_for(self.specs(&prepared.bound)?)?;
        let _section = Section::enter();
        let mut known = self.shared.variants().write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster: its variant stays, so that all launches share one.
        if let Some(variant) = known.get(prepared.key.as_slice()).filter(|variant| variant.is_current()) {
            return Ok(variant.clone());
        }
        known.insert(prepared.key.as_slice().into(), variant.clone());
        Ok(variant)
    }

    /// Compiles a specialisation that no launch has asked for yet; see [`Kernel::read_signature`].
    ///
    /// # Errors
    /// When the kernel does not compile.
    pub fn compile_for(&self, specs: Vec<ArgSpec>) -> Result<Arc<Variant>, Error> {
        Ok(Arc::new(match self.device {
            Device::Cpu(_) => {
                let Compiled { kernel, linked, report } =
                    compile_native(&self.shared, &specs, &self.options, &self.cancellation())?;
                Variant::new(specs, report, linked, Runnable::Native(kernel))
            }
            Device::Interpreter => {
                let (module, report) =
                    lower(&self.shared, &specs, &self.options, self.device.target(), &self.cancellation())?;
                Variant::new(specs, report, Vec::new(), Runnable::Lowered(module))
            }
        }))
    }

    /// Runs a specialisation with the arguments that it was found or compiled for.
    ///
    /// # Errors
    /// When a program fails, or [`LaunchOptions::interrupt`] says to stop.
    #[inline]
    pub fn run(&self, prepared: &Prepared<'_>, variant: &Variant, grid: [u32; 3]) -> Result<(), Error> {
        match (variant.code(), &self.device) {
            (Runnable::Native(kernel), Device::Cpu(device)) if self.options.debug => {
                let bounds = Some(native::bounds(&prepared.bound));
                let options = cpu::LaunchOptions { bounds, ..(*self.launch).clone() };
                native::launch(device, kernel, grid, &prepared.block, &options)
            }
            (Runnable::Native(kernel), Device::Cpu(device)) => {
                native::launch(device, kernel, grid, &prepared.block, &self.launch)
            }
            (Runnable::Lowered(module), _) => {
                interpret::launch(&self.shared, &self.launch, module, grid, &prepared.bound)
            }
            // The backend is part of the key.
            (Runnable::Native(_), Device::Interpreter) => {
                Err(Error::Interpreter("native code cannot be interpreted".into()))
            }
        }
    }

    /// What ends a launch also ends the compilation that it asks for.
    fn cancellation(&self) -> Cancellation {
        lowering::cancellation(self.launch.interrupt.as_ref())
    }

    #[inline]
    fn variant(&self, prepared: &Prepared<'_>) -> Result<Arc<Variant>, Error> {
        match self.find(prepared) {
            Some(variant) => Ok(variant),
            None => self.compile(prepared),
        }
    }

    fn specs(&self, bound: &Bound<'_>) -> Result<Vec<ArgSpec>, Error> {
        let spec = |(param, &arg): (&Param, &_)| classify(param, arg)?.to_spec(param);
        let specs: Result<Vec<ArgSpec>, Fault> = self.shared.params.iter().zip(&bound.args).map(spec).collect();
        specs.map_err(|fault| self.wrong(*fault))
    }

    #[cold]
    fn wrong(&self, fault: Diagnostic) -> Error {
        let _section = Section::enter();
        Error::Argument(Report::new(fault, self.shared.module.sources()))
    }
}

fn key_start(options: &CompileOptions, device: &Device) -> Words {
    let mut words = options.key_words();
    words.push(device.backend() as u64);
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
