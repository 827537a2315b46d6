//! What the language has, for tests that hold the names in Python against it.

use pyo3::prelude::*;

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
