//! Streams and events.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shoal::world::{Compare, Event, Stream, Value, WorldError};

use crate::errors;
use crate::world::current::Acting;
use crate::world::member::Member;
use crate::world::memory::place;
use crate::world::own_threads;
use crate::world::waiting::wait_for_others;

/// A queue of a rank's work with a thread of its own.
#[pyclass(name = "Stream", module = "shoal._native", frozen)]
pub(crate) struct StreamObject {
    member: Member,
    /// Taken when it is dropped.
    stream: Option<Stream>,
}

impl StreamObject {
    pub(crate) fn new(py: Python<'_>, member: &Member) -> PyResult<StreamObject> {
        let stream = member.taking_part()?.stream().map_err(|error| errors::world(py, &error))?;
        Ok(StreamObject { member: member.clone(), stream: Some(stream) })
    }

    fn stream(&self) -> &Stream {
        self.stream.as_ref().expect("taken only when it is dropped")
    }
}

impl Drop for StreamObject {
    fn drop(&mut self) {
        let stream = self.stream.take();
        if !self.member.is_here() {
            // The stream's thread is not in a forked child, and nobody may wait for it there.
            std::mem::forget(stream);
            return;
        }
        // What is still in it may need the interpreter, which whoever drops this holds.
        Python::attach(|py| py.detach(|| drop(stream)));
    }
}

#[pymethods]
impl StreamObject {
    /// Copies bytes from one address to another; each is part of the object after it, or of symmetric memory.
    fn copy(
        &self,
        py: Python<'_>,
        to: usize,
        to_keep: Py<PyAny>,
        from: usize,
        from_keep: Py<PyAny>,
        bytes: usize,
    ) -> PyResult<()> {
        let to = place(py, self.member.rank(), to, bytes, to_keep)?;
        let from = place(py, self.member.rank(), from, bytes, from_keep)?;
        self.stream().copy(to, from).map_err(|error| errors::world(py, &error))
    }

    /// Writes a word of 4 or 8 bytes.
    fn write_value(&self, py: Python<'_>, at: usize, keep: Py<PyAny>, value: u64, bytes: usize) -> PyResult<()> {
        let to = place(py, self.member.rank(), at, bytes, keep)?;
        self.stream().write_value(to, word(value, bytes)?).map_err(|error| errors::world(py, &error))
    }

    /// Holds the stream until a word equals a value, or is at least that.
    fn wait_value(
        &self,
        py: Python<'_>,
        at: usize,
        keep: Py<PyAny>,
        value: u64,
        bytes: usize,
        at_least: bool,
    ) -> PyResult<()> {
        let to = place(py, self.member.rank(), at, bytes, keep)?;
        let compare = if at_least { Compare::GreaterOrEqual } else { Compare::Equal };
        self.stream().wait_value(to, compare, word(value, bytes)?).map_err(|error| errors::world(py, &error))
    }

    /// Calls a function in the stream's order, on the stream's thread, as the rank.
    fn call(&self, function: Py<PyAny>) {
        let rank = self.member.rank().clone();
        self.stream().call(move || {
            let number = rank.rank();
            let _acting = Acting::of_thread(rank);
            let called = Python::try_attach(|py| {
                // The function goes with the interpreter's lock in hand.
                let function = function.into_bound(py);
                own_threads::call(&function, ()).map(drop)
            });
            match called {
                Some(called) => called.map_err(|error| WorldError::Rank {
                    rank: number,
                    source: Box::new(error),
                    others: Vec::new(),
                }),
                None => Err(WorldError::Argument("a stream was to call a function after Python had ended".to_owned())),
            }
        });
    }

    /// An event after all that is in the stream now.
    fn record(&self) -> EventObject {
        EventObject { member: self.member.clone(), event: self.stream().record() }
    }

    /// Holds the stream until an event has happened.
    fn wait(&self, event: &EventObject) {
        self.stream().wait(&event.event);
    }

    /// Waits until all that is in the stream is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait_for_others(py, &self.member, || self.stream().synchronize())
    }

    /// Whether what ended the stream was raised.
    #[getter]
    fn is_heard(&self) -> bool {
        self.stream().is_heard()
    }

    /// Whether all that was put in is done.
    #[getter]
    fn is_idle(&self) -> bool {
        self.stream().is_idle()
    }
}

/// A point in a stream.
#[pyclass(name = "Event", module = "shoal._native", frozen)]
pub(crate) struct EventObject {
    member: Member,
    event: Event,
}

#[pymethods]
impl EventObject {
    /// Whether the stream has come here, or ended before.
    #[getter]
    fn has_happened(&self) -> bool {
        self.event.has_happened()
    }

    /// Waits until the stream has come here.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        wait_for_others(py, &self.member, || self.event.wait(self.member.rank()))
    }
}

fn word(value: u64, bytes: usize) -> PyResult<Value> {
    match (bytes, u32::try_from(value)) {
        (4, Ok(value)) => Ok(Value::U32(value)),
        (8, _) => Ok(Value::U64(value)),
        (4, Err(_)) => Err(PyValueError::new_err(format!("{value} does not fit into a word of 32 bits"))),
        _ => Err(PyValueError::new_err(format!("words have 4 or 8 bytes, not {bytes}"))),
    }
}
