//! Locks that are waited for without the interpreter's.
//!
//! Python code may run while such a lock is held, and may let other threads run. If one of those waited for the lock
//! with the interpreter's lock in its hand, neither would ever go on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::Python;
use pyo3::sync::MutexExt;

/// Locks a mutex.
#[inline]
pub(crate) fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}
