//! Calls of Python functions on threads of our own: ranks and streams.
//!
//! Before 3.14, CPython ends a thread (`pthread_exit`) that wants the interpreter's lock while the interpreter ends. That
//! unwinds through whatever called the function, and aborts the process where that is Rust. Here such a thread waits for the
//! end of the process instead, as it does from 3.14 on. Functions that come back to Rust and call Python from there are not
//! covered: PyO3's own functions do not let anything unwind through them.

use std::hint::black_box;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What calls an object with arguments and named arguments, and may unwind.
type Call = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;

/// Waits for ever when it is dropped, which only unwinding does.
struct Unwound;

impl Drop for Unwound {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

/// Calls a function, which may be in the middle of something when the interpreter ends.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
) -> PyResult<Py<PyAny>> {
    let args = args.into_pyobject(function.py()).map_err(Into::into)?;
    // PyO3 declares the function as one that does not unwind, and the compiler would believe it of any call that it
    // recognises.
    let declared: unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject =
        black_box(ffi::PyObject_Call);
    // SAFETY: the same but for whether it may unwind, which it may.
    let call: Call = unsafe { std::mem::transmute(declared) };
    let unwound = Unwound;
    // SAFETY: a function and a tuple, with the interpreter's lock in hand; no named arguments may be null.
    let result = unsafe { call(function.as_ptr(), args.as_ptr(), std::ptr::null_mut()) };
    std::mem::forget(unwound);
    // SAFETY: the call gives a new reference, or null and an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }.map(Bound::unbind)
}
