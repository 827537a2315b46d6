//! Functions of the language: what they are called, what they take, what runs.
//!
//! Each is one [`Builtin`] in the table of the file that implements it (`semantic/*.rs`, `builtin/python.rs`, …). The
//! signature is written as in Python, and binding arguments to it happens in one place, `bind.rs`, so that every
//! function reports unknown keywords, missing arguments and values that are not known at compile time in the same
//! words.

mod args;
mod bind;
mod context;
pub(crate) mod math;
pub(crate) mod python;
mod signature;
mod table;

#[cfg(test)]
mod declared_args_tests;

use std::fmt;

pub(crate) use args::{Args, describe, not_a_power_of_two, shape_from};
pub(crate) use bind::{Given, bind};
pub(crate) use context::BuiltinContext;
pub(crate) use signature::{BuiltinParam, Need, ParamShape};
pub(crate) use table::{METHODS, find, names, params};

use crate::lower_error::LowerResult;
use crate::value::Value;

/// A function of the language.
pub struct Builtin {
    /// Its name, qualified unless it is in `shoal.language`: `load`, `libdevice.exp`, `python.len`.
    pub name: &'static str,
    /// Its parameters as in Python: `pointer, mask=None, *, volatile: const=False`. After the colon stands what is
    /// needed of the argument: `const` (known at compile time) or nothing. `*name` takes all further positional
    /// arguments.
    pub signature: &'static str,
    /// Where it can be called.
    pub phase: Phase,
    /// What it does.
    pub run: Run,
}

/// What a builtin does with its bound arguments.
pub(crate) type Run = fn(&mut dyn BuiltinContext<'_>, &Args) -> LowerResult<Value>;

/// Where a function of the language can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// In kernels only: it writes IR.
    Kernel,
    /// Also in functions that run at compile time.
    Anywhere,
}

impl Builtin {
    /// A function that writes IR.
    pub const fn kernel(name: &'static str, signature: &'static str, run: Run) -> Builtin {
        Builtin { name, signature, phase: Phase::Kernel, run }
    }

    /// A function that also runs at compile time.
    pub const fn anywhere(name: &'static str, signature: &'static str, run: Run) -> Builtin {
        Builtin { name, signature, phase: Phase::Anywhere, run }
    }

    /// The name users write: without the module.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, short)| short)
    }

    /// The dotted path that host programs know it by: `shoal.language.load`, `builtins.len`.
    pub fn path(&self) -> String {
        let (module, name) = match self.name.split_once('.') {
            Some(("python", name)) => ("builtins", name),
            Some(("pymath", name)) => ("math", name),
            Some(("math", name)) => ("shoal.language.math", name),
            Some(("libdevice", name)) => ("shoal.language.extra.libdevice", name),
            Some(("libshmem_device", name)) => ("shoal.language.extra.libshmem_device", name),
            Some(("extra", name)) => ("shoal.language.extra.cuda", name),
            Some(("language_extra", name)) => ("shoal.language.extra.language_extra", name),
            Some(("target_info", name)) => ("shoal.language.target_info", name),
            Some(_) | None => ("shoal.language", self.name),
        };
        format!("{module}.{name}")
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builtin({})", self.name)
    }
}
