//! NumPy arrays, read where they lie.
//!
//! The head of an array object and of its dtype are part of NumPy's binary interface, the same in NumPy 1 and 2.
//! Reading them directly is what makes passing an array as cheap as passing a number, and needs no NumPy when this is
//! built.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{ffi, intern};
use shoal::{Access, DType, Memory};

use crate::dtypes;

#[repr(C)]
struct ArrayHead {
    object: ffi::PyObject,
    data: *mut u8,
    dimensions: c_int,
    shape: *const isize,
    strides: *const isize,
    base: *mut ffi::PyObject,
    dtype: *mut DTypeHead,
    flags: c_int,
}

#[repr(C)]
struct DTypeHead {
    object: ffi::PyObject,
    class: *mut ffi::PyTypeObject,
    kind: c_char,
    letter: c_char,
    byte_order: c_char,
    flags: c_char,
    number: c_int,
}

const WRITEABLE: c_int = 0x0400;

/// The memory of an array.
///
/// # Safety
/// `array` is a `numpy.ndarray`, and lives as long as `'a`.
#[inline]
pub(crate) unsafe fn memory<'a>(array: &Bound<'_, PyAny>) -> PyResult<Memory<'a>> {
    // SAFETY: an array object begins like this.
    let head = unsafe { &*array.as_ptr().cast::<ArrayHead>() };
    // SAFETY: an array has a dtype object, which begins like this.
    let dtype_head = unsafe { &*head.dtype };
    let dtype = match builtin(dtype_head) {
        Some(dtype) => dtype,
        None => other(array, dtype_head)?,
    };
    // SAFETY: an array has as many sizes and strides as dimensions.
    let (before, bytes) = unsafe { extent(head, dtype.bytes() as usize) };
    let access = if head.flags & WRITEABLE == 0 { Access::ReadOnly } else { Access::ReadWrite };
    // SAFETY: the array's memory is valid as long as the array, by contract of this function.
    Ok(unsafe { Memory::from_raw(head.data.expose_provenance(), bytes, dtype, access).reaching_back(before) })
}

/// NumPy's own types have small numbers, the same everywhere.
#[inline]
fn builtin(dtype: &DTypeHead) -> Option<DType> {
    if dtype.byte_order as u8 == b'>' {
        return None;
    }
    Some(match dtype.number {
        0 => DType::I1,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 | 9 => DType::I64,
        8 | 10 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        23 => DType::F16,
        _ => return None,
    })
}

/// Types that other packages add (`ml_dtypes`) have numbers in the order of their registration; those seen are kept.
fn other(array: &Bound<'_, PyAny>, head: &DTypeHead) -> PyResult<DType> {
    const FIRST: c_int = 256;
    static SEEN: [AtomicU8; 64] = [const { AtomicU8::new(u8::MAX) }; 64];
    let seen = usize::try_from(head.number - FIRST).ok().and_then(|at| SEEN.get(at));
    if let Some(&dtype) = seen.and_then(|slot| DType::ALL.get(usize::from(slot.load(Ordering::Relaxed)))) {
        return Ok(dtype);
    }
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let name: String = dtype.getattr(intern!(py, "name"))?.extract()?;
    let native = head.byte_order as u8 != b'>';
    let Some(found) = dtypes::from_name(&name).filter(|_| native) else {
        let hint = if native {
            "convert it: `array.astype(...)`"
        } else {
            "swap its bytes: `array.astype(array.dtype.newbyteorder('='))`"
        };
        return Err(PyTypeError::new_err(format!("kernels have no element type `{}`; {hint}", dtype.str()?)));
    };
    if let (Some(slot), Some(at)) = (seen, DType::ALL.iter().position(|&known| known == found)) {
        slot.store(at as u8, Ordering::Relaxed);
    }
    Ok(found)
}

/// Bytes before the first element, for negative strides, and from there to the end of the array.
///
/// # Safety
/// The array has as many sizes and strides as it says.
#[inline]
unsafe fn extent(head: &ArrayHead, item: usize) -> (usize, usize) {
    let (mut before, mut after) = (0usize, 0usize);
    for dim in 0..head.dimensions as usize {
        // SAFETY: `dim` is below the number of dimensions.
        let (size, stride) = unsafe { (*head.shape.add(dim), *head.strides.add(dim)) };
        if size == 0 {
            return (0, 0);
        }
        let reach = (size as usize - 1) * stride.unsigned_abs();
        if stride < 0 {
            before += reach;
        } else {
            after += reach;
        }
    }
    (before, after + item)
}
