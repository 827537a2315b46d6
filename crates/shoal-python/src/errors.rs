//! Errors as Python exceptions of the classes in `shoal/errors.py`, with the rendered diagnostic as their text.

use pyo3::exceptions::{PyKeyboardInterrupt, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use shoal::cuda::CudaError;
use shoal::world::{WaitReport, WorldError};
use shoal::{Error, Kind, LaunchError, MAX_WARPS, Report};

use crate::signals;

/// The exception for an error, and what caused it if that was an exception too.
#[cold]
pub(crate) fn raise(py: Python<'_>, error: Error, cause: Option<PyErr>) -> PyErr {
    let raised = exception(py, &error);
    if cause.is_some() {
        raised.set_cause(py, cause);
    }
    raised
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Compile(report) => compilation(py, report),
        Error::Argument(report) => argument(py, report),
        Error::Launch(launch) => launched(py, launch),
        Error::Interpreter(text) => new(py, "InterpreterError", text, |_| Ok(())),
        Error::Grid { .. } | Error::Descriptor { .. } | Error::BoundArgument { .. } | Error::Shape { .. } => {
            PyValueError::new_err(error.to_string())
        }
        Error::Cuda(cuda) => on_gpu(py, cuda),
        Error::World(error) => world(py, error),
        Error::Memory(_) => new(py, "OutOfResources", &error.to_string(), |_| Ok(())),
        _ => new(py, "ShoalError", &error.to_string(), |_| Ok(())),
    }
}

/// What went wrong in a world. What a rank's own function raised is raised as it was, with a note of the rank.
#[cold]
pub(crate) fn world(py: Python<'_>, error: &WorldError) -> PyErr {
    let text = error.to_string();
    match error {
        WorldError::Rank { rank, source, others } => match source.downcast_ref::<PyErr>() {
            Some(raised) => on_rank(py, raised.clone_ref(py), *rank, others),
            None => match source.downcast_ref::<WorldError>() {
                Some(error) => on_rank(py, world(py, error), *rank, others),
                None => new(py, "WorldError", &text, |facts| facts.set_item("rank", rank)),
            },
        },
        WorldError::Argument(_) => PyValueError::new_err(text),
        WorldError::OutOfMemory { .. } | WorldError::PadTooSmall { .. } => new(py, "OutOfResources", &text, |_| Ok(())),
        WorldError::Failed { failure, .. } => new(py, "WorldError", &text, |facts| {
            facts.set_item("rank", failure.rank)?;
            facts.set_item("waits", spelled(&error.waits()))
        }),
        WorldError::Deadlock { waits } => deadlock(py, &text, waits),
        WorldError::Stream { source } => of_stream(py, source),
        WorldError::OutOfStep { .. } | WorldError::Disagreement { .. } => new(py, "WorldError", &text, |facts| {
            facts.set_item("rank", error.odd_one())?;
            facts.set_item("differs", true)
        }),
        _ => new(py, "WorldError", &text, |_| Ok(())),
    }
}

/// What ended a stream; what a function in it raised is raised as it was.
fn of_stream(py: Python<'_>, error: &WorldError) -> PyErr {
    match error {
        WorldError::Rank { source, .. } if let Some(raised) = source.downcast_ref::<PyErr>() => raised.clone_ref(py),
        _ => world(py, error),
    }
}

fn deadlock(py: Python<'_>, text: &str, waits: &[WaitReport]) -> PyErr {
    new(py, "DeadlockError", text, |facts| {
        facts.set_item("rank", waits.first().map(|report| report.rank))?;
        facts.set_item("waits", spelled(waits))
    })
}

fn spelled(waits: &[WaitReport]) -> Vec<String> {
    waits.iter().map(ToString::to_string).collect()
}

/// The exception of a world whose ranks have all ended. An error of one rank tells what all have waited for.
#[cold]
pub(crate) fn of_ended_world(py: Python<'_>, error: &WorldError, waits: &[WaitReport]) -> PyErr {
    let raised = world(py, error);
    let value = raised.value(py);
    let told = value.getattr(intern!(py, "waits")).and_then(|told| told.len()).ok();
    if told.is_some_and(|told| told < waits.len()) {
        // Whoever made this exception has an attribute of the name that cannot be set.
        let _ = value.setattr(intern!(py, "waits"), spelled(waits));
    }
    raised
}

/// An exception with notes of the rank that raised it and of what the others waited for, where Python has notes.
fn on_rank(py: Python<'_>, raised: PyErr, rank: usize, others: &[WaitReport]) -> PyErr {
    let value = raised.value(py);
    if value.hasattr(intern!(py, "add_note")).unwrap_or(false) {
        let add_note = |note: &str| drop(value.call_method1(intern!(py, "add_note"), (note,)));
        add_note(&format!("raised on rank {rank}"));
        others.iter().for_each(|wait| add_note(&wait.to_string()));
    }
    raised
}

fn compilation(py: Python<'_>, report: &Report) -> PyErr {
    let message = report.first().map_or("", |first| first.message.as_str());
    let class = match kind(report) {
        Kind::Assertion => "CompileTimeAssertionFailure",
        Kind::Unsupported => "UnsupportedLanguageConstruct",
        Kind::OutOfRange | Kind::Cancelled | Kind::Other => "CompilationError",
    };
    new(py, class, &report.to_string(), |facts| facts.set_item("error_message", message))
}

/// Arguments raise what Python raises for a call that does not fit.
fn argument(py: Python<'_>, report: &Report) -> PyErr {
    let text = with_other_words(py, report.to_string());
    match kind(report) {
        Kind::OutOfRange => PyOverflowError::new_err(text),
        Kind::Assertion | Kind::Unsupported | Kind::Cancelled | Kind::Other => PyTypeError::new_err(text),
    }
}

fn kind(report: &Report) -> Kind {
    report.first().map_or(Kind::Other, |first| first.kind)
}

/// The text, with a note where the drop-in for Triton has other words for it.
fn with_other_words(py: Python<'_>, text: String) -> String {
    let said = py.import(intern!(py, "shoal.errors")).and_then(|errors| {
        errors.call_method1(intern!(py, "with_other_words"), (&text,))?.extract::<(String, Option<Py<PyAny>>)>()
    });
    said.map_or(text, |(said, _)| said)
}

/// A program of more warps than any device runs together; autotuning goes on with the next configuration.
#[cold]
pub(crate) fn too_many_threads(py: Python<'_>, warps: u32) -> PyErr {
    let kind = py.import(intern!(py, "shoal.errors")).and_then(|errors| errors.getattr(intern!(py, "OutOfResources")));
    let arguments = (u64::from(warps) * 32, MAX_WARPS * 32, "threads");
    match kind.and_then(|kind| kind.call1(arguments)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

fn on_gpu(py: Python<'_>, error: &CudaError) -> PyErr {
    let text = error.to_string();
    match error {
        CudaError::OutOfResources { what, required, limit } => new(py, "OutOfResources", &text, |facts| {
            facts.set_item("name", what)?;
            facts.set_item("required", required)?;
            facts.set_item("limit", limit)
        }),
        CudaError::Grid { .. } => PyValueError::new_err(text),
        CudaError::Reported(reported) => launched(py, reported),
        CudaError::Interrupted => signals::raised().unwrap_or_else(|| PyKeyboardInterrupt::new_err(text)),
        _ => PyRuntimeError::new_err(text),
    }
}

fn launched(py: Python<'_>, error: &LaunchError) -> PyErr {
    let text = error.to_string();
    match error {
        LaunchError::Interrupted { .. } => signals::raised().unwrap_or_else(|| PyKeyboardInterrupt::new_err(text)),
        LaunchError::Failed { kernel, failure } => {
            // Only the interpreter shows a failure in the source.
            let class = if failure.report.is_some() { "InterpreterFault" } else { "KernelFault" };
            new(py, class, &text, |facts| {
                facts.set_item("kernel", kernel)?;
                facts.set_item("program", PyTuple::new(py, failure.program)?)?;
                if let Some(site) = &failure.site {
                    facts.set_item("file", &site.file)?;
                    facts.set_item("line", site.line)?;
                }
                Ok(())
            })
        }
        LaunchError::Stuck { kernel, .. } => new(py, "KernelFault", &text, |facts| facts.set_item("kernel", kernel)),
        LaunchError::Memory { .. } => new(py, "OutOfResources", &text, |_| Ok(())),
        LaunchError::Grid { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// An exception of `shoal.errors` with a text and attributes.
fn new(py: Python<'_>, class: &str, text: &str, facts: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) -> PyErr {
    let made = py.import(intern!(py, "shoal.errors")).and_then(|errors| {
        let named = PyDict::new(py);
        facts(&named)?;
        let made = errors.getattr(intern!(py, "from_native"))?;
        made.call((class, text), Some(&named))
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
