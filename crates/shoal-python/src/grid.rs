//! Grids as Python gives them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

/// The three extents of a number or of a tuple or list of one to three numbers.
#[inline]
pub(crate) fn extents(grid: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    if let Ok(items) = grid.cast::<PyTuple>() {
        return several(items.len(), |at| items.get_item(at));
    }
    if let Ok(items) = grid.cast::<PyList>() {
        return several(items.len(), |at| items.get_item(at));
    }
    Ok([extent(grid)?, 1, 1])
}

#[inline]
fn several<'py>(count: usize, item: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>) -> PyResult<[u32; 3]> {
    if !(1..=3).contains(&count) {
        return Err(PyValueError::new_err(format!("a grid has one to three extents, not {count}")));
    }
    let mut extents = [1; 3];
    for (at, slot) in extents.iter_mut().enumerate().take(count) {
        *slot = extent(&item(at)?)?;
    }
    Ok(extents)
}

#[inline]
fn extent(number: &Bound<'_, PyAny>) -> PyResult<u32> {
    let value = match number.extract::<i64>() {
        Ok(value) => value,
        Err(_) if number.is_instance_of::<PyInt>() => return Err(out_of_range(number)),
        Err(_) => {
            let class = number.get_type().qualname()?;
            let text = format!(
                "a grid is a number, a tuple of one to three numbers, or a function of the arguments that gives one of \
                 these; this is of type {class}"
            );
            return Err(PyTypeError::new_err(text));
        }
    };
    u32::try_from(value).map_err(|_| out_of_range(number))
}

fn out_of_range(number: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("a grid's extents are from 0 to 4294967295, but one is {number}"))
}
