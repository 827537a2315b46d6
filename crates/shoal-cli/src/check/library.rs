//! Kernels of the library: the files that they are in, and their harnesses.

use shoal::Module;
use shoal::similar;
use shoal_kernels::Source;

use super::request::Target;
use crate::failure::{Failure, instead_of};

/// The module of a library kernel with a harness, and the name to look for in it.
pub(super) fn find(name: &str) -> Result<(Module, Option<String>), Failure> {
    match shoal_kernels::harness::find(name) {
        Some((module, kernel)) => {
            let module = module?;
            // A file's name stands for all of its kernels, also if one of them is called so that no harness launches.
            let is_launched =
                |kernel: &&str| module.harnesses().iter().any(|harness| harness.kernels.iter().any(|k| k == kernel));
            let kernel = kernel.filter(is_launched).map(str::to_owned);
            Ok((module, kernel))
        }
        None => {
            let files = shoal_kernels::harness::names();
            let of_ranks = shoal_kernels::distributed::catalog().iter().map(|item| item.name);
            let near = similar(name, of_ranks).filter(|near| shoal_kernels::harness::find(near).is_some());
            let instead =
                near.map_or_else(|| instead_of(name, files.iter().copied()), |near| format!("did you mean `{near}`?"));
            Err(Failure::usage(format!("`{name}` is no file and no kernel of the library with a harness; {instead}")))
        }
    }
}

/// All files of the library with all their harnesses.
pub(super) fn all() -> Result<Vec<Target>, Failure> {
    let with_harnesses = |source: Source| {
        let module = shoal_kernels::harness::module(source)?;
        let harnesses = module.harnesses();
        Ok(Target { module, harnesses, kernel: None })
    };
    Source::ALL.into_iter().map(with_harnesses).collect()
}
