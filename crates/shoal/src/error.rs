//! All that can go wrong between a kernel's source and its result.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use shoal_abi::UnknownTarget;
use shoal_driver::cpu::{KernelError, LoadError};
use shoal_driver::cuda::CudaError;
use shoal_driver::memory::AllocError;
use shoal_driver::{DeviceError, LaunchError};
use shoal_source::{Diagnostic, Diagnostics, SourceMap, Style};
use shoal_world::WorldError;

use crate::{DType, dtype_name};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel's source could not be read.
    #[error("cannot read {}: {reason}\n  = help: check the path; relative ones start at the current folder", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The kernel is wrong.
    #[error("{0}")]
    Compile(Report),
    /// An argument of a launch is wrong.
    #[error("{0}")]
    Argument(Report),
    /// The module has no kernel of that name.
    #[error("{module} has no kernel `{name}`{}", known(.kernels))]
    NoKernel {
        /// The module's name.
        module: String,
        /// The name asked for.
        name: String,
        /// The kernels it has.
        kernels: Vec<String>,
    },
    /// An environment variable says something that cannot be used.
    #[error("{variable}={value} cannot be used: it must be {expected}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        expected: &'static str,
    },
    /// A grid's extent is negative or too large.
    #[error("a grid's extents are from 0 to 4294967295, but one is {extent}")]
    Grid {
        /// The extent.
        extent: String,
    },
    /// A grid is computed from an argument that is not there or no integer.
    #[error("the grid needs an integer `{name}`, but the launch passes {found}")]
    BoundArgument {
        /// The argument.
        name: String,
        /// What was found.
        found: String,
    },
    /// A descriptor does not describe memory.
    #[error("wrong tensor descriptor: {why}")]
    Descriptor {
        /// Why.
        why: String,
    },
    /// A tensor is looked at as what it is not.
    #[error("the tensor holds {}, not {}", dtype_name(*.has), dtype_name(*.asked))]
    DType {
        /// What it holds.
        has: DType,
        /// What was asked for.
        asked: DType,
    },
    /// A shape does not fit the elements.
    #[error("shape {from:?} cannot become {to:?}: the numbers of elements differ")]
    Shape {
        /// The shape that is.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// A shape has more elements than can be addressed.
    #[error("a tensor of shape {shape:?} is too large")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// There is not enough memory.
    #[error(transparent)]
    Memory(#[from] AllocError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device or the interpreter ran the kernel and it failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The world that a kernel was launched in cannot go on.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A GPU cannot do what was asked, or failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The interpreter cannot run the kernel.
    #[error("{0}")]
    Interpreter(String),
    /// Compiled code could not be loaded.
    #[error("compiled code could not be loaded: {0}")]
    Load(#[from] LoadError),
    /// Compiled code does not hold its kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// There is no target of that name.
    #[error(transparent)]
    Target(#[from] UnknownTarget),
    /// A kernel cannot be compiled ahead of time as asked.
    #[error("{0}")]
    AheadOfTime(String),
    /// A signature, a pass list or another text of the user cannot be read.
    #[error("{0}")]
    Text(String),
}

fn known(kernels: &[String]) -> String {
    match kernels {
        [] => ": it has none (a kernel is a function with the decorator `jit`)".into(),
        some => format!("; it has {}", some.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// Diagnostics with the source they speak of.
#[derive(Clone)]
pub struct Report {
    diagnostics: Diagnostics,
    sources: Arc<SourceMap>,
}

impl Report {
    pub(crate) fn new(diagnostics: impl Into<Diagnostics>, sources: Arc<SourceMap>) -> Report {
        Report { diagnostics: diagnostics.into(), sources }
    }

    /// The same with a note on each diagnostic that speaks of something.
    pub(crate) fn with_note_where(self, topic: &str, note: &str) -> Report {
        let noted = |diagnostic: Diagnostic| {
            let render = || Diagnostics::from(diagnostic.clone()).render(&self.sources, Style::Plain);
            if render().contains(topic) { diagnostic.note(note) } else { diagnostic }
        };
        Report { diagnostics: self.diagnostics.into_iter().map(noted).collect(), sources: self.sources }
    }

    /// The diagnostics.
    #[must_use]
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// The text to show, with the user's lines.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        self.diagnostics.render(&self.sources, style)
    }

    /// The first error's message, without its place.
    #[must_use]
    pub fn first(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().next()
    }
}

/// The text to show, without colours.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

/// The same: `unwrap` should show the user's line too.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl Error {
    /// The text to show, in colour if the style says so.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        match self {
            Error::Compile(report) | Error::Argument(report) => report.render(style),
            other => other.to_string(),
        }
    }
}
