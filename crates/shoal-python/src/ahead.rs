//! Kernels for programs without Python, for `shoal.tools.compile`.

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
