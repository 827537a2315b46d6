//! Kernels of the library by name: the file that they are in, and their harness.

use shoal::Module;

use crate::failure::Failure;

/// The module of a library kernel with a harness, and the name to look for in it.
pub(crate) fn find(name: &str) -> Result<(Module, Option<String>), Failure> {
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
