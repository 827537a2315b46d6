//! The one description of a kernel that was compiled ahead of time; all writers of files work from it.

use std::path::PathBuf;

use shoal_abi::{KernelDescription, Slot, WordKind};
use shoal_ir::types::Ptr;
use shoal_lang::{Access, ConstValue};

use crate::{DType, Report};

/// Several compiled variants of one kernel behind one launch function.
#[derive(Debug, Clone)]
pub struct Family {
    /// What functions and files are named after.
    pub(crate) name: String,
    /// The kernel's name.
    pub(crate) kernel: String,
    /// The file the kernel comes from.
    pub(crate) source: String,
    /// What a launch passes, in order.
    pub(crate) params: Vec<Param>,
    /// What is compiled in and the same for all variants.
    pub(crate) constants: Vec<(String, ConstValue)>,
    /// What is compiled in and differs; the caller of a launch chooses. At least one, which is empty if nothing
    /// differs.
    pub(crate) configurations: Vec<Configuration>,
    /// The variants, in the order in which a launch tries them.
    pub(crate) variants: Vec<Variant>,
    /// The files of bitcode that became part of the code.
    pub(crate) linked: Vec<PathBuf>,
    /// Warnings, and what `static_print` said.
    pub(crate) notes: Vec<Report>,
}

/// A run-time parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Param {
    /// Its name in the kernel.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: ParamType,
}

/// The type of a run-time parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ParamType {
    /// A number; for integers the widest of all variants.
    Number(DType),
    /// Memory. `Null::Allowed` where a variant was compiled with `None`.
    Pointer(Ptr, Access, Null),
}

impl ParamType {
    /// How the runtime reads the word that is passed.
    pub(crate) fn word_kind(self) -> WordKind {
        match self {
            ParamType::Pointer(_, _, Null::Refused) => WordKind::Pointer,
            ParamType::Pointer(_, _, Null::Allowed) => WordKind::OptionalPointer,
            ParamType::Number(dtype) if dtype.is_signed_int() => WordKind::Signed,
            ParamType::Number(dtype) if dtype.is_int() => WordKind::Unsigned,
            ParamType::Number(_) => WordKind::Float,
        }
    }
}

/// Where the variants of a family run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the CPU that the program runs on: a launch returns when it is done.
    Cpu,
    /// On an NVIDIA GPU: a launch goes into a stream, and pointers are addresses of the GPU's memory.
    Gpu,
}

/// Whether a pointer may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    Allowed,
    Refused,
}

/// What is compiled in differently: parameter and value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) values: Vec<(String, ConstValue)>,
}

/// One compiled variant.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    /// What it was compiled for, for people.
    pub(crate) signature: String,
    /// The number of its configuration.
    pub(crate) configuration: usize,
    /// What it takes and asks of each parameter.
    pub(crate) slots: Vec<Slot>,
    /// What the runtime must know of it.
    pub(crate) description: KernelDescription,
    /// Its relocatable object; for a GPU machine code or PTX.
    pub(crate) object: Vec<u8>,
}

impl Family {
    /// What functions and files are named after.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The signatures of the variants, in the order in which a launch tries them.
    #[must_use]
    pub fn signatures(&self) -> Vec<&str> {
        self.variants.iter().map(|variant| variant.signature.as_str()).collect()
    }

    /// Warnings of the compiler, and what `static_print` said, in the order of the signatures.
    #[must_use]
    pub fn notes(&self) -> &[Report] {
        &self.notes
    }

    /// Where it runs: all its variants are for one kind of machine.
    pub(crate) fn place(&self) -> Place {
        match self.variants.first().is_some_and(|variant| variant.description.nvptx().is_some()) {
            true => Place::Gpu,
            false => Place::Cpu,
        }
    }

    /// Names for the configurations, made of what differs: `BLOCK_256`. Empty if there is only one.
    pub(crate) fn configuration_names(&self) -> Vec<String> {
        if self.configurations.len() == 1 {
            return Vec::new();
        }
        let mut names: Vec<String> = Vec::new();
        for (number, configuration) in self.configurations.iter().enumerate() {
            let parts = configuration.values.iter().map(|(name, value)| format!("{name}_{value}"));
            let name = super::names::upper(&parts.collect::<Vec<_>>().join("_"));
            // Different values can look the same without their signs and dots.
            names.push(if names.contains(&name) { format!("{name}_{number}") } else { name });
        }
        names
    }
}
