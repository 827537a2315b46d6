//! Kernels: an entry point of loaded code with the facts the compiler states about it.

use super::loader::Code;
use core::sync::atomic::{AtomicU64, Ordering};
use shoal_abi::{Entry, KernelDescription};
use std::sync::Arc;

/// A kernel that can be launched. It keeps its code loaded.
#[derive(Clone, Debug)]
pub struct LoadedKernel {
    entry: Entry,
    state: Arc<KernelState>,
    args_bytes: usize,
    _code: Option<Arc<Code>>,
}

/// What all copies of a kernel share.
#[derive(Debug)]
struct KernelState {
    info: KernelDescription,
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

impl LoadedKernel {
    /// The kernel named `info.name` in `code`.
    ///
    /// # Errors
    ///
    /// When the code defines no such function.
    pub fn new(code: Arc<Code>, info: KernelDescription) -> Result<Self, KernelError> {
        let entry = code.entry(&info.name).ok_or_else(|| KernelError { name: info.name.clone() })?;
        Ok(Self { _code: Some(code), ..Self::linked(entry, info) })
    }

    /// A kernel whose code is part of this program, for instance one that was linked ahead of time.
    #[must_use]
    pub fn linked(entry: Entry, info: KernelDescription) -> Self {
        let args_bytes = info.args_bytes();
        let state = KernelState { info, program_time: AtomicU64::new(0) };
        Self { entry, args_bytes, state: Arc::new(state), _code: None }
    }

    /// The entry point.
    #[must_use]
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// What the compiler stated.
    #[must_use]
    pub fn info(&self) -> &KernelDescription {
        &self.state.info
    }

    /// Seconds a program took in the last launch of several, if there was one.
    pub(crate) fn program_time(&self) -> Option<f64> {
        match self.state.program_time.load(Ordering::Relaxed) {
            0 => None,
            bits => Some(f64::from_bits(bits)),
        }
    }

    pub(crate) fn set_program_time(&self, seconds: f64) {
        self.state.program_time.store(seconds.to_bits(), Ordering::Relaxed);
    }

    /// Bytes an argument block for this kernel has.
    #[must_use]
    pub fn args_bytes(&self) -> usize {
        self.args_bytes
    }
}
