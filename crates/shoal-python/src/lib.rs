//! The extension module `shoal._native`: what of the Python package is Rust.
//!
//! `python/shoal/runtime/` is the other half. Launching is here from end to end; what is asked once for a kernel (where
//! its source is, what a live object means to the compiler) is Python.

use pyo3::prelude::*;

/// The version of the compiler, which is that of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
