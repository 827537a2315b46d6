//! Why there is no code for a kernel.

use shoal_ir::source::{Diagnostic, Diagnostics, Span};
use shoal_ir::{Func, Module};

/// The kernel of that name.
pub(crate) fn find<'m>(module: &'m Module, kernel: &str) -> Result<&'m Func, Diagnostics> {
    module.func(kernel).ok_or_else(|| one(Diagnostic::error(Span::NONE, format!("there is no kernel `{kernel}`"))))
}

pub(crate) fn one(diagnostic: Diagnostic) -> Diagnostics {
    vec![diagnostic].into()
}

/// A bug in a backend, told as what it is.
pub(crate) fn broken(backend: &str, func: &Func, why: &str) -> Diagnostics {
    let text = format!("the {backend} backend made code for `{}` that LLVM refuses: {why}", func.name);
    one(Diagnostic::error(func.span, text)
        .help("this is a bug in Shoal, not in the kernel: please report it with the kernel"))
}
