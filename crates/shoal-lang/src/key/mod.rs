//! What the compiled code of a kernel depends on in the source. Equal bytes mean equal code for equal specialisations.

mod files;
mod live;

pub use live::{UsedGlobal, UsedPlace};

use crate::module::Function;
use crate::program::Program;
use crate::spec::Specialization;

/// The text of a kernel, of the functions it calls and of the globals it uses, transitively, with their lines. `None`
/// when it depends on something of the host program that cannot be written down.
pub(crate) fn source_key(program: &Program, kernel: &Function, spec: &Specialization) -> Option<Vec<u8>> {
    match &program.live {
        Some(host) => live::source_key(program, host, kernel, spec),
        None => Some(files::source_key(program, kernel)),
    }
}

/// The values of the host program that a kernel depends on by name.
pub(crate) fn used_globals(program: &Program, kernel: &Function) -> Vec<UsedGlobal> {
    program.live.as_ref().map_or_else(Vec::new, |host| live::used_globals(program, host, kernel))
}
