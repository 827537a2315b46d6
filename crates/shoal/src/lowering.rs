//! The front end, called with what the facade knows.

use shoal_abi::Target;
use shoal_lang::{ArgSpec, Lowered, Specialization};

use crate::kernel::KernelShared;
use crate::{CompileOptions, Error, error::Report};

/// Lowers one specialisation of a kernel; `specs` has one entry for each parameter.
pub(crate) fn lower(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
) -> Result<Lowered, Error> {
    let spec = specialization(kernel, specs, options, target);
    let lowered = kernel.module.program().lower(&kernel.name, &spec);
    lowered.map_err(|errors| Error::Compile(Report::new(errors, kernel.module.sources())))
}

/// A specialisation in the front end's words.
pub(crate) fn specialization(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
) -> Specialization {
    let names = kernel.params.iter().map(|param| param.name.clone());
    Specialization { args: names.zip(specs.iter().cloned()).collect(), options: language(options, target) }
}

fn language(options: &CompileOptions, target: &Target) -> shoal_lang::Options {
    shoal_lang::Options {
        target: target.clone(),
        debug: options.debug,
        sanitize_overflow: options.sanitize_overflow,
        default_dot_precision: options.dot_precision,
        allow_plain_globals: options.allow_plain_globals,
        ..shoal_lang::Options::default()
    }
}
