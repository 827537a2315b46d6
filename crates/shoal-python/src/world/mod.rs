//! Worlds of ranks, for `python/shoal/world/`.
//!
//! Here are addresses, bytes and waits; arrays, pickled objects and what people see are Python. Nothing here waits with
//! the interpreter's lock in its hand, and every wait ends on Ctrl-C (`waiting.rs`).

mod collectives;
pub(crate) mod current;
mod member;
mod memory;
mod own_threads;
mod rank;
mod stream;
mod team;
mod waiting;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use shoal::world::{World, WorldDevice, WorldError, WorldOptions};

pub(crate) use collectives::CommunicatorObject;
pub(crate) use memory::{SymmBlock, store_word};
pub(crate) use rank::RankObject;
pub(crate) use stream::{EventObject, StreamObject};
pub(crate) use team::{MeshObject, TeamObject};

use crate::errors;
use crate::world::member::Member;

/// A number of bytes with or without a unit, if the text is one.
#[pyfunction]
pub(crate) fn parse_bytes(text: &str) -> Option<usize> {
    shoal::world::parse_bytes(text)
}

/// A world, of which this process runs all ranks or one.
#[pyclass(name = "World", module = "shoal._native", frozen)]
pub(crate) struct WorldObject {
    world: World,
    process: u32,
}

#[pymethods]
impl WorldObject {
    /// Ranks that are threads of this process.
    #[staticmethod]
    #[pyo3(signature = (n, heap_bytes, pad_slots, timeout))]
    fn threads(
        py: Python<'_>,
        n: usize,
        heap_bytes: Option<usize>,
        pad_slots: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<WorldObject> {
        let options = options(py, heap_bytes, pad_slots, timeout)?;
        let world = py.detach(|| World::threads_with(n, &options)).map_err(|error| errors::world(py, &error))?;
        Ok(WorldObject { world, process: std::process::id() })
    }

    /// Ranks that are threads of this process and share a GPU.
    #[staticmethod]
    #[pyo3(signature = (n, ordinal, heap_bytes, pad_slots, timeout))]
    fn cuda(
        py: Python<'_>,
        n: usize,
        ordinal: u32,
        heap_bytes: Option<usize>,
        pad_slots: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<WorldObject> {
        let options = options(py, heap_bytes, pad_slots, timeout)?;
        let world = py.detach(|| World::cuda_with(n, ordinal, &options)).map_err(|error| errors::world(py, &error))?;
        Ok(WorldObject { world, process: std::process::id() })
    }

    /// The world that this process was started for; waits until all ranks have come.
    #[staticmethod]
    #[pyo3(signature = (heap_bytes, pad_slots, timeout, device))]
    fn from_env(
        py: Python<'_>,
        heap_bytes: Option<usize>,
        pad_slots: Option<usize>,
        timeout: Option<f64>,
        device: Option<&str>,
    ) -> PyResult<WorldObject> {
        let options = options(py, heap_bytes, pad_slots, timeout)?;
        let device = match device {
            None => WorldDevice::from_env().map_err(|error| errors::world(py, &error))?,
            Some(name) => WorldDevice::named(name).ok_or_else(|| {
                PyValueError::new_err(format!("`{name}` is no device: say `cpu`, `cuda` or `cuda:1`"))
            })?,
        };
        let world = py.detach(|| World::from_env_on(device, &options)).map_err(|error| errors::world(py, &error))?;
        Ok(WorldObject { world, process: std::process::id() })
    }

    /// The number of ranks.
    #[getter]
    fn size(&self) -> usize {
        self.world.size()
    }

    /// `threads`, `cuda`, `processes`, `openshmem` or `nvshmem`.
    #[getter]
    fn engine(&self) -> String {
        self.world.engine().to_string()
    }

    /// The ranks of this process.
    fn local_ranks(&self) -> Vec<RankObject> {
        self.world.local_ranks().iter().map(|rank| RankObject::new(Member::new(rank.clone()))).collect()
    }

    /// Calls a function with the number of each rank, each on a thread of its own that launches as that rank; gives the
    /// results in the order of ranks. Raises what the first rank to fail raised.
    fn run<'py>(&self, py: Python<'py>, function: Py<PyAny>) -> PyResult<Bound<'py, PyList>> {
        if self.process != std::process::id() {
            return Err(PyRuntimeError::new_err("a forked child has none of the world's ranks; make a world in it"));
        }
        let results = py.detach(|| {
            self.world.run(|rank| {
                let _acting = current::Acting::of_thread(rank.clone());
                Python::attach(|py| own_threads::call(function.bind(py), (rank.rank(),)))
            })
        });
        PyList::new(py, results.map_err(|error| errors::of_ended_world(py, &error, &self.world.waits()))?)
    }
}

fn options(
    py: Python<'_>,
    heap_bytes: Option<usize>,
    pad_slots: Option<usize>,
    timeout: Option<f64>,
) -> PyResult<WorldOptions> {
    let mut options = WorldOptions::from_env().map_err(|error: WorldError| errors::world(py, &error))?;
    options.heap_bytes = heap_bytes.unwrap_or(options.heap_bytes);
    options.pad_slots = pad_slots.unwrap_or(options.pad_slots);
    if let Some(timeout) = timeout {
        options.timeout = rank::seconds(timeout)?;
    }
    Ok(options)
}
