//! Tensor descriptors made in Python: `shoal.tools.tensor_descriptor.TensorDescriptor`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use shoal::{Location, Memory, TensorDescriptor};

use crate::arguments::{ExtentNeed, Held};
use crate::known::{NDARRAY, TORCH_TENSOR};
use crate::{memory, numpy};

/// The descriptor that a Python object describes. Its base is kept by that object.
pub(crate) fn from_python(object: &Bound<'_, PyAny>, held: &Held) -> PyResult<TensorDescriptor<'static>> {
    let py = object.py();
    let base = base(&object.getattr(intern!(py, "base"))?, held)?;
    let shape: Vec<i64> = object.getattr(intern!(py, "shape"))?.extract()?;
    let strides: Vec<i64> = object.getattr(intern!(py, "strides"))?.extract()?;
    let block: Vec<u32> = object.getattr(intern!(py, "block_shape"))?.extract()?;
    let wraps = object.getattr_opt(intern!(py, "wraps"))?.is_some_and(|wraps| wraps.is_truthy().unwrap_or(false));
    let make = if wraps { TensorDescriptor::wrapping } else { TensorDescriptor::over };
    let descriptor = make(base, &shape, &strides, &block).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let padding: String = object.getattr(intern!(py, "padding"))?.extract()?;
    Ok(if padding == "nan" { descriptor.padded_with_nan() } else { descriptor })
}

fn base(array: &Bound<'_, PyAny>, held: &Held) -> PyResult<Memory<'static>> {
    // What is kept here has to tell its size: a view is checked against it.
    let measuring = Held::new(ExtentNeed::Needed);
    let memory = if NDARRAY.is_class_of(array) {
        held.note_host();
        // SAFETY: it is an array; the descriptor keeps it, and the caller keeps the descriptor.
        unsafe { numpy::memory(array) }?
    } else if TORCH_TENSOR.is_class_of(array) {
        memory::torch(array, &measuring)?
    } else {
        let found = memory::by_protocol(array, &measuring)?;
        found.ok_or_else(|| PyTypeError::new_err("the base of a tensor descriptor must be an array"))?
    };
    let location = memory.location();
    // SAFETY: the same memory, for as long as the launch: what keeps it is handed to `held`.
    let memory = unsafe { Memory::from_raw(memory.address(), memory.bytes(), memory.dtype(), memory.access()) };
    let memory = match location {
        Location::Host => memory,
        // SAFETY: the array's own words.
        Location::Cuda(ordinal) => unsafe { memory.on_cuda(ordinal) },
    };
    measuring.give_to(held);
    Ok(memory)
}
