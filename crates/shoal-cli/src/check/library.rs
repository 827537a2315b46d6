//! Kernels of the library: the files that they are in, and their harnesses.

use shoal::Module;
use shoal::check::HarnessDecl;
use shoal_kernels::Source;

use crate::failure::Failure;

/// The module of a library kernel with a harness, and the name to look for in it.
pub(super) fn find(name: &str) -> Result<(Module, Option<String>), Failure> {
    match shoal_kernels::harness::find(name) {
        // A file's name stands for all of its kernels.
        Some(module) => {
            let module = module?;
            let launched = module.harnesses().iter().any(|harness| harness.kernels.iter().any(|kernel| kernel == name));
            Ok((module, launched.then(|| name.to_owned())))
        }
        None => {
            let names = shoal_kernels::harness::names().join(", ");
            Err(Failure::new(format!(
                "`{name}` is no file and no kernel of the library with a harness: there are {names}"
            )))
        }
    }
}

/// All files of the library with all their harnesses.
pub(super) fn all() -> Result<Vec<(Module, Vec<HarnessDecl>)>, Failure> {
    let with_harnesses = |source: Source| {
        let module = shoal_kernels::harness::module(source)?;
        let harnesses = module.harnesses();
        Ok((module, harnesses))
    };
    Source::ALL.into_iter().map(with_harnesses).collect()
}
