//! Modules: a kernel file, parsed once.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shoal_driver::fork::Section;
use shoal_lang::{Annotation, ArgType, HostBridge, HostSource, KernelParam, Program};
use shoal_source::{Diagnostics, SourceMap, read_source};

use crate::constant::arg_of;
use crate::error::Report;
use crate::kernel::{Kernel, KernelShared};
use crate::param::{Param, ParamKind, Specialise};
use crate::{Args, Device, Error, IntoGrid};

/// A file of kernels. Cloning gives another handle to the same module.
#[derive(Clone)]
pub struct Module {
    shared: Arc<Shared>,
    kernels: Arc<Mutex<HashMap<String, Arc<KernelShared>>>>,
}

/// What kernels keep of their module.
pub(crate) struct Shared {
    name: String,
    program: Program,
    parse_time: Duration,
}

impl Shared {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn sources(&self) -> Arc<SourceMap> {
        self.program.sources()
    }

    pub(crate) fn parse_time(&self) -> Duration {
        self.parse_time
    }
}

impl Module {
    /// Reads a file of kernels.
    ///
    /// # Errors
    /// When it cannot be read, or has syntax errors.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Module, Error> {
        let path = path.as_ref();
        let unreadable = |reason| Error::Read { path: path.to_owned(), reason };
        let text = File::open(path).and_then(read_source).map_err(unreadable)?;
        Module::from_source(&path.display().to_string(), &text)
    }

    /// Reads kernels from a text; `name` is what messages call it.
    ///
    /// # Errors
    /// When it has syntax errors.
    pub fn from_source(name: &str, text: &str) -> Result<Module, Error> {
        Module::from_sources(name, text, &[])
    }

    /// The same for a file that travels with those it imports: names and texts, which are not looked for on disk.
    ///
    /// # Errors
    /// When one has syntax errors.
    pub fn from_sources(name: &str, text: &str, others: &[(&str, &str)]) -> Result<Module, Error> {
        Module::parsed(name, |sources| Program::parse_files(sources, name, text, others))
    }

    /// A module of one kernel: a live function of a host program. What it reaches is asked of the host when a kernel is
    /// compiled.
    ///
    /// # Errors
    /// When it has syntax errors.
    pub fn from_host(source: HostSource, bridge: Arc<dyn HostBridge>) -> Result<Module, Error> {
        let name = source.file.clone();
        Module::parsed(&name, |sources| Program::from_host(sources, source, bridge))
    }

    fn parsed(name: &str, parse: impl FnOnce(&mut SourceMap) -> Result<Program, Diagnostics>) -> Result<Module, Error> {
        let _section = Section::enter();
        let start = Instant::now();
        let mut sources = SourceMap::default();
        let program = parse(&mut sources).map_err(|errors| Error::Compile(Report::new(errors, Arc::new(sources))))?;
        let shared = Shared { name: name.to_owned(), program, parse_time: start.elapsed() };
        Ok(Module { shared: Arc::new(shared), kernels: Arc::default() })
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// The names of its kernels, in the file's order.
    #[must_use]
    pub fn kernels(&self) -> Vec<String> {
        self.shared.program.kernels().into_iter().map(|k| k.name).collect()
    }

    /// A kernel, to be launched on the CPU unless it is put on another device.
    ///
    /// # Errors
    /// When there is no kernel of that name, or `SHOAL_DEBUG` says something else than yes or no.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        crate::options::switch_from_env("SHOAL_DEBUG")?;
        Ok(Kernel::new(self.kernel_shared(name)?, Device::cpu()))
    }

    /// Launches a kernel on the CPU; see [`Kernel::launch`].
    ///
    /// # Errors
    /// As for [`Module::kernel`] and [`Kernel::launch`].
    pub fn launch(&self, kernel: &str, grid: impl IntoGrid, args: Args<'_>) -> Result<(), Error> {
        self.kernel(kernel)?.launch(grid, args)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.shared.program
    }

    fn kernel_shared(&self, name: &str) -> Result<Arc<KernelShared>, Error> {
        let _section = Section::enter();
        let mut known = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(name) {
            return Ok(kernel.clone());
        }
        let program = &self.shared.program;
        let kernel = program.kernel(name).ok_or_else(|| match program.nested_kernel(name) {
            Some(nested) => Error::Compile(Report::new(nested, program.sources())),
            None => Error::NoKernel { module: self.name().to_owned(), name: name.to_owned(), kernels: self.kernels() },
        })?;
        let params = kernel.params.iter().map(param).collect();
        let shared = Arc::new(KernelShared::new(self.shared.clone(), kernel.name, kernel.span, params));
        known.insert(name.to_owned(), shared.clone());
        Ok(shared)
    }
}

fn param(param: &KernelParam) -> Param {
    let kind = match &param.annotation {
        Annotation::Constexpr => ParamKind::Constexpr,
        Annotation::ConstPointer => ParamKind::Const,
        Annotation::Type(ArgType::Scalar(dtype)) => ParamKind::Number(*dtype),
        Annotation::Type(ArgType::Pointer(pointer, access)) if pointer.depth == 1 => {
            ParamKind::Pointer(pointer.pointee, *access)
        }
        Annotation::None | Annotation::Type(ArgType::Pointer(..) | ArgType::Descriptor(..)) => ParamKind::Open,
    };
    let specialise = |yes| if yes { Specialise::Yes } else { Specialise::No };
    Param {
        name: param.name.clone(),
        span: param.span,
        kind,
        default: param.default.as_ref().and_then(arg_of),
        variadic: param.variadic,
        value: specialise(param.specialize),
        alignment: specialise(param.specialize_alignment),
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.name()).finish_non_exhaustive()
    }
}
