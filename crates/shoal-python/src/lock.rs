//! Locks that are waited for without the interpreter's.
//!
//! Python code may run while such a lock is held, and may let other threads run. If one of those waited for the lock
//! with the interpreter's lock in its hand, neither would ever go on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::Python;
use pyo3::sync::MutexExt;

/// Locks a mutex that Python code may run under.
#[inline]
pub(crate) fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => wait(py, mutex),
    }
}

#[cold]
fn wait<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex that is held for a moment only, and never while Python code runs.
#[inline]
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
