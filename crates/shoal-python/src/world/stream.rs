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

    /// The stream, for whoever has its thread: in a forked child nothing that is put in would ever run.
    fn stream_here(&self) -> PyResult<&Stream> {
        self.member.taking_part()?;
        Ok(self.stream())
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
        let stream = self.stream_here()?;
        let to = place(py, self.member.rank(), to, bytes, to_keep)?;
        let from = place(py, self.member.rank(), from, bytes, from_keep)?;
        stream.copy(to, from).map_err(|error| errors::world(py, &error))
    }

    /// Writes a word of 4 or 8 bytes.
    fn write_value(&self, py: Python<'_>, at: usize, keep: Py<PyAny>, value: u64, bytes: usize) -> PyResult<()> {
        let stream = self.stream_here()?;
        let to = place(py, self.member.rank(), at, bytes, keep)?;
        stream.write_value(to, word(value, bytes)?).map_err(|error| errors::world(py, &error))
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
        let stream = self.stream_here()?;
        let to = place(py, self.member.rank(), at, bytes, keep)?;
        let compare = if at_least { Compare::GreaterOrEqual } else { Compare::Equal };
        stream.wait_value(to, compare, word(value, bytes)?).map_err(|error| errors::world(py, &error))
    }

    /// Calls a function in the stream's order, on the stream's thread, as the rank.
    fn call(&self, function: Py<PyAny>) -> PyResult<()> {
        let rank = self.member.rank().clone();
        self.stream_here()?.call(move || {
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
        Ok(())
    }

    /// An event after all that is in the stream now.
    fn record(&self) -> PyResult<EventObject> {
        Ok(EventObject { member: self.member.clone(), event: self.stream_here()?.record() })
    }

    /// Holds the stream until an event has happened.
    fn wait(&self, event: &EventObject) -> PyResult<()> {
        self.stream_here()?.wait(&event.event);
        Ok(())
    }

    /// Waits until all that is in the stream is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait_for_others(py, &self.member, || self.stream().synchronize())
    }

    /// Whether what ended the stream was raised.
    #[getter]
    fn is_heard(&self) -> PyResult<bool> {
        Ok(self.stream_here()?.is_heard())
    }

    /// Whether all that was put in is done.
    #[getter]
    fn is_idle(&self) -> PyResult<bool> {
        Ok(self.stream_here()?.is_idle())
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
    fn has_happened(&self) -> PyResult<bool> {
        self.member.taking_part()?;
        Ok(self.event.has_happened())
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
