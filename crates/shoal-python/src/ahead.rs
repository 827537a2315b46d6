//! Kernels for programs without Python, for `shoal.tools.compile`; and what the language has, for its own tests.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use shoal::aot::Build;

use crate::errors::raise;

/// Compiles a kernel of a file for these signatures, and writes it as C source and header. Gives what was written.
#[pyfunction]
pub(crate) fn compile_ahead(
    py: Python<'_>,
    path: PathBuf,
    kernel: &str,
    signatures: Vec<String>,
    name: &str,
    folder: PathBuf,
) -> PyResult<Vec<PathBuf>> {
    let written = py.detach(|| {
        let build = Build::from_file(path, kernel)?.name(name);
        let family = signatures.iter().fold(build, |build, signature| build.signature(signature)).compile()?;
        family.write_c(Path::new(&folder))
    });
    written.map_err(|error| raise(py, error, None))
}

/// The names of the language: methods of tensors, and dtypes.
#[pyfunction]
pub(crate) fn language_names() -> (Vec<&'static str>, Vec<&'static str>) {
    shoal::language_names()
}

/// The functions of the language: `[(path, names of parameters), ...]`.
#[pyfunction]
pub(crate) fn language_functions() -> Vec<(String, Vec<String>)> {
    shoal::language_functions().into_iter().map(|function| (function.path, function.params)).collect()
}
