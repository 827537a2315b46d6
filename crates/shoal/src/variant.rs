//! One specialisation of a kernel, ready to run.

use std::fmt;

use shoal_driver::cpu;
use shoal_lang::{ArgSpec, Lowered};

use crate::CompileReport;

/// One specialisation of a kernel, ready to run.
pub struct Variant {
    specs: Vec<ArgSpec>,
    report: CompileReport,
    code: Runnable,
}

/// What is run.
pub(crate) enum Runnable {
    Native(cpu::Kernel),
    Lowered(Lowered),
}

impl Variant {
    pub(crate) fn new(specs: Vec<ArgSpec>, report: CompileReport, code: Runnable) -> Variant {
        Variant { specs, report, code }
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

    pub(crate) fn code(&self) -> &Runnable {
        &self.code
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("specs", &self.specs).field("report", &self.report).finish_non_exhaustive()
    }
}
