//! Kernels: an entry point of loaded code with the facts the compiler states about it.

use super::loader::Code;
use core::sync::atomic::{AtomicU64, Ordering};
use shoal_abi::Entry;
use std::sync::Arc;

/// Whether programs of a kernel may wait for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// No program reaches a scheduling point.
    Never,
    /// Programs may spin on memory that others write; each of them runs as a fiber.
    MayWait,
}

/// Size and alignment of one run-time parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamLayout {
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes, a power of two up to 8.
    pub align: usize,
}

/// What the compiler states about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The entry point's symbol, and the name used in messages.
    pub name: String,
    /// Working memory each program needs.
    pub scratch_bytes: usize,
    /// Whether programs may wait for each other.
    pub waits: Waits,
    /// Whether a program may reach `shoal_fail`.
    pub can_fail: bool,
    /// Whether the code uses AMX tiles.
    pub uses_amx: bool,
    /// The run-time parameters in order.
    pub params: Vec<ParamLayout>,
}

impl KernelInfo {
    /// Bytes of an argument block for these parameters.
    #[must_use]
    pub fn args_bytes(&self) -> usize {
        self.params.iter().fold(0, |end, p| end.next_multiple_of(p.align.max(1)) + p.size)
    }
}

/// A kernel that can be launched. It keeps its code loaded.
#[derive(Clone, Debug)]
pub struct Kernel {
    entry: Entry,
    facts: Arc<Facts>,
    args_bytes: usize,
    _code: Option<Arc<Code>>,
}

/// What all copies of a kernel share.
#[derive(Debug)]
struct Facts {
    info: KernelInfo,
    /// Seconds a program took in the last launch, as the bits of an `f64`; 0 before the first.
    program_time: AtomicU64,
}

/// A kernel could not be made from loaded code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the compiled code has no kernel named `{name}`")]
pub struct KernelError {
    /// The name asked for.
    pub name: String,
}

impl Kernel {
    /// The kernel named `info.name` in `code`.
    ///
    /// # Errors
    ///
    /// When the code defines no such function.
    pub fn new(code: Arc<Code>, info: KernelInfo) -> Result<Self, KernelError> {
        let entry = code.entry(&info.name).ok_or_else(|| KernelError { name: info.name.clone() })?;
        Ok(Self { _code: Some(code), ..Self::linked(entry, info) })
    }

    /// A kernel whose code is part of this program, for instance one that was linked ahead of time.
    #[must_use]
    pub fn linked(entry: Entry, info: KernelInfo) -> Self {
        let args_bytes = info.args_bytes();
        let facts = Facts { info, program_time: AtomicU64::new(0) };
        Self { entry, args_bytes, facts: Arc::new(facts), _code: None }
    }

    /// The entry point.
    #[must_use]
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// What the compiler stated.
    #[must_use]
    pub fn info(&self) -> &KernelInfo {
        &self.facts.info
    }

    /// Seconds a program took in the last launch of several, if there was one.
    pub(crate) fn program_time(&self) -> Option<f64> {
        match self.facts.program_time.load(Ordering::Relaxed) {
            0 => None,
            bits => Some(f64::from_bits(bits)),
        }
    }

    pub(crate) fn set_program_time(&self, seconds: f64) {
        self.facts.program_time.store(seconds.to_bits(), Ordering::Relaxed);
    }

    /// Bytes an argument block for this kernel has.
    #[must_use]
    pub fn args_bytes(&self) -> usize {
        self.args_bytes
    }
}
