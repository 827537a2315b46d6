//! Objects inside of objects: Python's own limit holds for how deep they go.

use pyo3::ffi;
use pyo3::prelude::*;

/// Does `f`, which looks one level deeper into an argument. An object that contains itself ends in a `RecursionError`.
pub(crate) fn deeper<T>(py: Python<'_>, f: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // SAFETY: this thread holds the interpreter, and the text ends with a zero.
    if unsafe {
        ffi::Py_EnterRecursiveCall(c" in an argument of a kernel: is it a list that contains itself?".as_ptr())
    } != 0
    {
        return Err(PyErr::fetch(py));
    }
    let found = f();
    // SAFETY: as above; it was entered.
    unsafe { ffi::Py_LeaveRecursiveCall() };
    found
}
