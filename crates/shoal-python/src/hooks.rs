//! Settings and hooks of `shoal.knobs` that a launch looks at.

use pyo3::Borrowed;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyModule, PyTuple};

/// What `shoal.knobs.runtime` says at the moment.
pub(crate) struct Settings<'py> {
    pub(crate) debug: bool,
    enter: Option<Bound<'py, PyAny>>,
    exit: Option<Bound<'py, PyAny>>,
}

impl<'py> Settings<'py> {
    #[inline]
    pub(crate) fn now(py: Python<'py>) -> PyResult<Settings<'py>> {
        static KNOBS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let knobs = KNOBS.get_or_try_init(py, || Ok::<_, PyErr>(py.import(intern!(py, "shoal.knobs"))?.unbind()))?;
        let runtime = knobs.bind(py).getattr(intern!(py, "runtime"))?;
        Ok(Settings {
            debug: runtime.getattr(intern!(py, "debug"))?.is_truthy()?,
            enter: hook(runtime.getattr(intern!(py, "launch_enter_hook"))?),
            exit: hook(runtime.getattr(intern!(py, "launch_exit_hook"))?),
        })
    }

    /// Tells those who want to know before a launch.
    #[inline]
    pub(crate) fn entering(
        &self,
        kernel: &Bound<'py, PyAny>,
        grid: [u32; 3],
        args: &[Borrowed<'_, 'py, PyAny>],
    ) -> PyResult<()> {
        self.enter.as_ref().map_or(Ok(()), |hook| call(hook, kernel, grid, args))
    }

    /// Tells those who want to know after a launch.
    #[inline]
    pub(crate) fn exiting(
        &self,
        kernel: &Bound<'py, PyAny>,
        grid: [u32; 3],
        args: &[Borrowed<'_, 'py, PyAny>],
    ) -> PyResult<()> {
        self.exit.as_ref().map_or(Ok(()), |hook| call(hook, kernel, grid, args))
    }
}

/// A hook that somebody hung in. A chain of hooks without any is none.
#[inline]
fn hook(hook: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    let none = hook.is_none() || hook.cast::<PyList>().is_ok_and(|chain| chain.is_empty());
    (!none).then_some(hook)
}

#[cold]
fn call<'py>(
    hook: &Bound<'py, PyAny>,
    kernel: &Bound<'py, PyAny>,
    grid: [u32; 3],
    args: &[Borrowed<'_, 'py, PyAny>],
) -> PyResult<()> {
    let py = hook.py();
    let args = PyTuple::new(py, args)?;
    let metadata = kernel.call_method1(intern!(py, "_launch_metadata"), (grid, args))?;
    hook.call1((metadata,)).map(drop)
}
