//! The front end, called with what the facade knows.

use shoal_abi::Target;
use shoal_driver::{Interrupt, LaunchError};
use shoal_lang::{ArgSpec, Lowered, Specialization};
use shoal_source::{Cancellation, Kind};

use crate::kernel::KernelShared;
use crate::{CompileOptions, Error, error::Report};

/// Lowers one specialisation of a kernel; `specs` has one entry for each parameter.
pub(crate) fn lower(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Result<Lowered, Error> {
    let spec = specialization(kernel, specs, options, target, cancellation);
    let lowered = kernel.module.program().lower(&kernel.name, &spec);
    let shaped = |mut lowered: Lowered| {
        lowered.module.funcs.iter_mut().for_each(|func| func.gpu = options.gpu);
        lowered
    };
    lowered.map(shaped).map_err(|errors| match errors.iter().any(|error| error.kind == Kind::Cancelled) {
        true => cancelled(kernel),
        false => Error::Compile(Report::new(errors, kernel.module.sources())),
    })
}

/// The launch's interrupt, as the stages of the compiler know it.
pub(crate) fn cancellation(interrupt: Option<&Interrupt>) -> Cancellation {
    match interrupt.cloned() {
        Some(interrupt) => Cancellation::new(move || interrupt.is_requested()),
        None => Cancellation::default(),
    }
}

/// What a launch fails with when it is interrupted while its kernel is compiled: the same as when it runs.
pub(crate) fn cancelled(kernel: &KernelShared) -> Error {
    LaunchError::Interrupted { kernel: kernel.name.clone() }.into()
}

/// A specialisation in the front end's words.
pub(crate) fn specialization(
    kernel: &KernelShared,
    specs: &[ArgSpec],
    options: &CompileOptions,
    target: &Target,
    cancellation: &Cancellation,
) -> Specialization {
    let names = kernel.params.iter().map(|param| param.name.clone());
    Specialization {
        args: names.zip(specs.iter().cloned()).collect(),
        options: language(options, target),
        cancellation: cancellation.clone(),
    }
}

fn language(options: &CompileOptions, target: &Target) -> shoal_lang::Options {
    shoal_lang::Options {
        target: target.clone(),
        debug: options.debug,
        sanitize_overflow: options.sanitize_overflow,
        default_dot_precision: options.dot_precision,
        allow_plain_globals: options.allow_plain_globals,
        num_warps: options.gpu.num_warps,
        ..shoal_lang::Options::default()
    }
}
