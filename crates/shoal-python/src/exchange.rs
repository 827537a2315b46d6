//! DLPack's table of C functions: what a tensor of torch is, and which stream torch works in, without calling Python.
//!
//! A class has the table as `__dlpack_c_exchange_api__` (DLPack 1.3, torch since 2.10). Without it, or where it cannot
//! tell, launches ask the object in Python (`memory`).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::{ffi, intern};

use crate::dlpack::Tensor;
use crate::known::TORCH_TENSOR;

/// The table, as the C header lays it out.
#[repr(C)]
struct Table {
    version: [u32; 2],
    older: *const c_void,
    allocate: *const c_void,
    managed_from_object: *const c_void,
    managed_to_object: *const c_void,
    functions: Functions,
}

/// The functions that launches call.
#[repr(C)]
#[derive(Clone, Copy)]
struct Functions {
    tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    current_stream: Option<unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int>,
}

/// The version of the table that is understood here.
const MAJOR: u32 = 1;
/// DLPack's number for NVIDIA GPUs.
const CUDA: c_int = 2;

/// torch's functions; `None` where torch has no table.
#[inline]
fn torch(py: Python<'_>) -> Option<Functions> {
    static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
    match FOUND.get() {
        Some(found) => *found,
        None => {
            let found = find(py);
            *FOUND.get_or_init(|| found)
        }
    }
}

#[cold]
fn find(py: Python<'_>) -> Option<Functions> {
    let class = TORCH_TENSOR.class(py)?;
    let capsule = class.getattr(intern!(py, "__dlpack_c_exchange_api__")).ok()?;
    // SAFETY: the object lives, and the name is a C string. An error is cleared below.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), c"dlpack_exchange_api".as_ptr()) };
    if pointer.is_null() {
        // SAFETY: clears the error of this thread, which is attached.
        unsafe { ffi::PyErr_Clear() };
    }
    // SAFETY: a capsule of this name points at such a table, which the header says lives as long as the process. The
    // version is looked at before anything else; all versions begin with it.
    let table = unsafe { pointer.cast::<Table>().as_ref() }?;
    (table.version[0] == MAJOR).then_some(table.functions)
}

/// What torch says of a tensor; `None` if its class is not torch's own, or torch cannot tell. The sizes that it points to
/// are the tensor's.
#[inline]
pub(crate) fn tensor(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    if !TORCH_TENSOR.is_exact_class_of(object) {
        return None;
    }
    let describe = torch(object.py())?.tensor_from_object?;
    let mut tensor = MaybeUninit::<Tensor>::uninit();
    // SAFETY: the object is of the class that the table was found in, and the room is one tensor's.
    if unsafe { describe(object.as_ptr().cast(), tensor.as_mut_ptr()) } != 0 {
        // SAFETY: clears the error of this thread, which is attached.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    // SAFETY: the function says that it filled it.
    Some(unsafe { tensor.assume_init() })
}

/// torch's current stream on a GPU; `None` where torch has no table.
#[inline]
pub(crate) fn torch_stream(py: Python<'_>, ordinal: u32) -> Option<usize> {
    let current = torch(py)?.current_stream?;
    let mut stream = ptr::null_mut();
    // SAFETY: the pointer is to a local; the interpreter is attached, as torch wants it.
    if unsafe { current(CUDA, ordinal.cast_signed(), &raw mut stream) } != 0 {
        // SAFETY: clears the error of this thread, which is attached.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    Some(stream.expose_provenance())
}
