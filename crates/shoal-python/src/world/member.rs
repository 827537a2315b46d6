//! A rank as one process has it: a forked child has the objects, but is no rank.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use shoal::world::Rank;

/// A rank, and the process that it is, or a part of.
#[derive(Clone)]
pub(crate) struct Member {
    rank: Rank,
    process: u32,
}

impl Member {
    pub(crate) fn new(rank: Rank) -> Member {
        Member { rank, process: std::process::id() }
    }

    /// The rank, for what anybody may ask who sees the memory.
    pub(crate) fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Whether this is the process that the rank belongs to.
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// The rank, for what only the process may do that it belongs to.
    pub(crate) fn taking_part(&self) -> PyResult<&Rank> {
        if self.is_here() {
            return Ok(&self.rank);
        }
        let rank = self.rank.rank();
        Err(PyRuntimeError::new_err(format!(
            "a forked child of rank {rank} is not a rank: the world belongs to the process that made it. The child sees the \
             memory, but takes part in nothing"
        )))
    }
}
