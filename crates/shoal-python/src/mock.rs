//! Arguments of `warmup`: types may stand for what is not there.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};
use shoal::{Access, Arg, DType, Memory};

use crate::arguments::{self, Held, Takes};
use crate::bridge::Bridge;
use crate::dtypes;

/// An argument, or a dtype that stands for a pointer to its elements.
pub(crate) fn convert<'a>(object: &Bound<'_, PyAny>, held: &'a Held, bridge: &Bridge) -> PyResult<Arg<'a>> {
    match stands_for(object)? {
        // SAFETY: no bytes at all, and nothing runs.
        Some(dtype) => Ok(Arg::Memory(unsafe { Memory::from_raw(0, 0, dtype, Access::ReadWrite) })),
        None => Ok(match arguments::convert(object, Takes::Value, held, bridge)? {
            // A tensor that has only a shape will do: nothing runs.
            // SAFETY: no bytes at all.
            Arg::Memory(memory) if memory.address() == 0 => unsafe {
                Arg::Memory(Memory::from_raw(0, 0, memory.dtype(), memory.access()))
            },
            arg => arg,
        }),
    }
}

fn stands_for(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let ordinary = object.is_none()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>();
    if ordinary {
        return Ok(None);
    }
    let class = object.get_type().name()?;
    let is_dtype = class.to_str()?.to_lowercase().contains("dtype") || object.is_instance_of::<pyo3::types::PyType>();
    if is_dtype { dtypes::from_object(object) } else { Ok(None) }
}
