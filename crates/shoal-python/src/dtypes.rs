//! Element types of other packages, by their names.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use pyo3::{ffi, intern};
use shoal::{DType, dtype_from_name};

/// The element type that a name of NumPy, torch, `ml_dtypes`, JAX or Triton stands for.
pub(crate) fn from_name(name: &str) -> Option<DType> {
    Some(match name {
        "bool" | "bool_" => DType::I1,
        "half" => DType::F16,
        "float" => DType::F32,
        "double" => DType::F64,
        "short" => DType::I16,
        "int" => DType::I32,
        "long" => DType::I64,
        "float8_e4m3fn" => DType::F8E4M3,
        "float8_e5m2" => DType::F8E5M2,
        "float8_e4m3fnuz" => DType::F8E4M3Fnuz,
        "float8_e5m2fnuz" => DType::F8E5M2Fnuz,
        other => return dtype_from_name(other),
    })
}

/// The element type that a dtype object stands for: of torch, of the language, of an array package. Known ones are
/// remembered.
pub(crate) fn from_object(dtype: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = dtype.py();
    let known = KNOWN.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    // What cannot be hashed is not remembered.
    if let Ok(Some(number)) = known.get_item(dtype) {
        let number: usize = number.extract()?;
        return Ok(DType::ALL.get(number).copied());
    }
    let spelled = |attribute| dtype.getattr(attribute).and_then(|name| Ok(name.cast_into::<PyString>()?));
    // NumPy's and the language's have a name, NumPy's scalar classes that of a class, torch's only a text.
    let text = match spelled(intern!(py, "name")).or_else(|_| spelled(intern!(py, "__name__"))) {
        Ok(name) => name,
        Err(_) => dtype.str()?,
    };
    let text = text.to_str()?;
    let found = from_name(text.rsplit('.').next().unwrap_or(text));
    if let Some(found) = found
        && let Some(number) = DType::ALL.iter().position(|&known| known == found)
        && known.set_item(dtype, number).is_err()
    {
        // SAFETY: clears the error of this thread, which is attached.
        unsafe { ffi::PyErr_Clear() };
    }
    Ok(found)
}
