//! One specialisation of a kernel, ready to run.

use std::fmt;

use shoal_driver::cpu;
use shoal_driver::cuda::{CudaKernel, Resources};
use shoal_lang::{ArgSpec, Lowered};

use crate::CompileReport;
use crate::linked::{LinkedFile, WatchedFile};

/// One specialisation of a kernel, ready to run.
pub struct Variant {
    specs: Vec<ArgSpec>,
    report: CompileReport,
    linked: Vec<WatchedFile>,
    code: Runnable,
}

/// What is run.
pub(crate) enum Runnable {
    Native(cpu::LoadedKernel),
    Cuda(CudaKernel),
    Lowered(Lowered),
}

impl Variant {
    pub(crate) fn new(specs: Vec<ArgSpec>, report: CompileReport, linked: Vec<LinkedFile>, code: Runnable) -> Variant {
        Variant { specs, report, linked: linked.into_iter().map(WatchedFile::new).collect(), code }
    }

    /// Whether what was linked into it is still the same.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.linked.iter().all(WatchedFile::is_unchanged)
    }

    /// What is compiled in of each argument.
    #[must_use]
    pub fn specs(&self) -> &[ArgSpec] {
        &self.specs
    }

    /// How it came to be.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// What of a GPU it takes, if it is for one.
    #[must_use]
    pub fn gpu_resources(&self) -> Option<Resources> {
        match &self.code {
            Runnable::Cuda(kernel) => Some(kernel.resources()),
            Runnable::Native(_) | Runnable::Lowered(_) => None,
        }
    }

    pub(crate) fn code(&self) -> &Runnable {
        &self.code
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("specs", &self.specs).field("report", &self.report).finish_non_exhaustive()
    }
}
