//! Ranks.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shoal::world::{Rank, SECONDS, Symm, from_seconds};

use crate::errors;
use crate::world::current;
use crate::world::member::Member;
use crate::world::memory::{self, SymmBlock};
use crate::world::stream::StreamObject;
use crate::world::team::TeamObject;
use crate::world::waiting::wait_for_others;

/// One member of a world.
#[pyclass(name = "Rank", module = "shoal._native", frozen)]
pub(crate) struct RankObject(pub(super) Member);

impl RankObject {
    pub(crate) fn new(member: Member) -> RankObject {
        RankObject(member)
    }

    fn rank_here(&self) -> PyResult<&Rank> {
        self.0.taking_part()
    }
}

#[pymethods]
impl RankObject {
    /// Its number.
    #[getter]
    fn rank(&self) -> usize {
        self.0.rank().rank()
    }

    /// The number of ranks.
    #[getter]
    fn size(&self) -> usize {
        self.0.rank().size()
    }

    /// `threads`, `cuda`, `processes` or `openshmem`.
    #[getter]
    fn engine(&self) -> String {
        self.0.rank().engine().to_string()
    }

    /// Seconds that it waits for others.
    #[getter]
    fn timeout(&self) -> f64 {
        self.0.rank().options().timeout.as_secs_f64()
    }

    /// Slots of each rank's signal pad.
    #[getter]
    fn pad_slots(&self) -> usize {
        self.0.rank().options().pad_slots
    }

    /// Free bytes of the heap.
    #[getter]
    fn free_bytes(&self) -> PyResult<usize> {
        Ok(self.rank_here()?.free_bytes())
    }

    /// Bytes of each rank's segment.
    #[getter]
    fn segment_bytes(&self) -> usize {
        self.0.rank().segment_bytes()
    }

    /// The number of the GPU that symmetric memory is in; `None` where it is the host's.
    #[getter]
    fn gpu(&self) -> Option<u32> {
        self.0.rank().gpu().map(|gpu| gpu.device().ordinal())
    }

    /// The driver's handle of the stream that the rank's work on its GPU goes to.
    #[getter]
    fn gpu_stream(&self) -> Option<usize> {
        self.0.rank().gpu().map(|gpu| gpu.stream().address())
    }

    /// Where a rank's segment begins, in this process or in the GPU's memory; its signal pad is first.
    fn base(&self, py: Python<'_>, peer: usize) -> PyResult<usize> {
        let rank = self.0.rank();
        let base = match rank.gpu() {
            Some(_) => rank.address_of(peer),
            None => rank.base(peer).map(|base| base.as_ptr().expose_provenance()),
        };
        base.map_err(|error| errors::world(py, &error))
    }

    /// Writes bytes of a rank's segment; they are there when this returns.
    fn write(&self, py: Python<'_>, peer: usize, offset: usize, bytes: &[u8]) -> PyResult<()> {
        let rank = self.rank_here()?;
        // On a GPU this waits for kernels of the rank, which may wait for those of ranks that need the interpreter.
        let written =
            py.detach(|| Symm::<u8>::view(rank, offset, bytes.len()).and_then(|symm| symm.write_to(peer, 0, bytes)));
        written.map_err(|error| errors::world(py, &error))
    }

    /// Reads bytes of a rank's segment.
    fn read<'py>(&self, py: Python<'py>, peer: usize, offset: usize, count: usize) -> PyResult<Bound<'py, PyBytes>> {
        let rank = self.rank_here()?;
        let read = py.detach(|| Symm::<u8>::view(rank, offset, count).and_then(|symm| symm.read_from(peer, ..)));
        read.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| errors::world(py, &error))
    }

    /// The rank whose segment an address lies in, and the offset there; `None` for memory of this process alone.
    fn locate(&self, address: usize) -> Option<(usize, usize)> {
        memory::locate(self.0.rank(), address)
    }

    /// A block of every rank's heap. Collective.
    fn allocate(&self, py: Python<'_>, bytes: usize, alignment: usize) -> PyResult<SymmBlock> {
        let rank = self.rank_here()?;
        let symm = wait_for_others(py, &self.0, || rank.symm_empty_aligned::<u8>(bytes, alignment))?;
        Ok(SymmBlock::new(&self.0, symm))
    }

    /// The slots of this rank's pad that are not zero.
    fn raised(&self, py: Python<'_>) -> PyResult<Vec<(usize, u32)>> {
        let rank = self.rank_here()?;
        py.detach(|| rank.signal_pad().raised()).map_err(|error| errors::world(py, &error))
    }

    /// Refuses launches whose programs would signal beyond the pad.
    fn check_pad(&self, py: Python<'_>, programs: usize, ranks: usize) -> PyResult<()> {
        self.0.rank().signal_pad().check(programs, ranks).map_err(|error| errors::world(py, &error))
    }

    /// Sends the signal of the slot at an address.
    fn put_signal(&self, py: Python<'_>, address: usize, timeout: Option<f64>) -> PyResult<()> {
        let rank = self.rank_here()?;
        let slot = memory::place(py, rank, address, 4, py.None())?;
        let patience = timeout.map(seconds).transpose()?;
        wait_for_others(py, &self.0, || rank.put_signal(&slot, patience))
    }

    /// Takes the signal of the slot at an address.
    fn wait_signal(&self, py: Python<'_>, address: usize, timeout: Option<f64>) -> PyResult<()> {
        let rank = self.rank_here()?;
        let slot = memory::place(py, rank, address, 4, py.None())?;
        let patience = timeout.map(seconds).transpose()?;
        wait_for_others(py, &self.0, || rank.wait_signal(&slot, patience))
    }

    /// Sends the signals of some slots, then takes those of others: a barrier among those who do.
    fn meet(&self, py: Python<'_>, send: Vec<usize>, take: Vec<usize>, timeout: Option<f64>) -> PyResult<()> {
        let rank = self.rank_here()?;
        let places = |addresses: &[usize]| {
            addresses.iter().map(|&at| memory::place(py, rank, at, 4, py.None())).collect::<PyResult<Vec<_>>>()
        };
        let (send, take) = (places(&send)?, places(&take)?);
        let patience = timeout.map(seconds).transpose()?;
        wait_for_others(py, &self.0, || {
            send.iter().try_for_each(|slot| rank.put_signal(slot, patience))?;
            take.iter().try_for_each(|slot| rank.wait_signal(slot, patience))
        })
    }

    /// The team of all ranks.
    fn world(&self) -> PyResult<TeamObject> {
        Ok(TeamObject::new(&self.0, self.rank_here()?.world().clone()))
    }

    /// The team of the ranks on this host.
    fn node(&self) -> PyResult<TeamObject> {
        Ok(TeamObject::new(&self.0, self.rank_here()?.node().clone()))
    }

    /// Takes the mesh of kernels away.
    fn unset_mesh(&self) -> PyResult<()> {
        self.rank_here()?.set_mesh(None);
        Ok(())
    }

    /// A new stream.
    fn stream(&self, py: Python<'_>) -> PyResult<StreamObject> {
        StreamObject::new(py, &self.0)
    }

    /// Raises what ended the world, if something did. Whoever waits for something meanwhile says what for.
    #[pyo3(signature = (awaited=None))]
    fn check(&self, py: Python<'_>, awaited: Option<String>) -> PyResult<()> {
        let rank = self.rank_here()?;
        if !rank.has_failed() {
            return Ok(());
        }
        let check = || awaited.map_or_else(|| rank.check(), |awaited| rank.check_waiting(awaited));
        py.detach(check).map_err(|error| errors::world(py, &error))
    }

    /// Whether something has ended the world.
    fn has_failed(&self) -> bool {
        self.0.rank().has_failed()
    }

    /// Raises what ended a stream that was dropped, if nobody has heard of it.
    fn check_streams(&self, py: Python<'_>) -> PyResult<()> {
        self.rank_here()?.take_left_error().map_or(Ok(()), |error| Err(errors::world(py, &error)))
    }

    /// Ends the world with a reason that all ranks report; gives the reason that counts.
    fn fail(&self, reason: &str) -> PyResult<String> {
        Ok(self.rank_here()?.fail(reason).reason)
    }

    /// Ends the world because another rank does not do what all others do.
    fn blame(&self, rank: usize, reason: &str) -> PyResult<String> {
        Ok(self.rank_here()?.blame(rank, reason).reason)
    }

    /// This rank is done.
    fn leave(&self) -> PyResult<()> {
        self.rank_here()?.leave();
        Ok(())
    }

    /// Whether this is the process that the rank belongs to, and no forked child of it.
    #[getter]
    fn is_here(&self) -> bool {
        self.0.is_here()
    }

    /// Raises in a forked child, which is no rank.
    fn check_process(&self) -> PyResult<()> {
        self.rank_here().map(drop)
    }

    /// This thread acts as the rank, until `release`.
    fn act(&self) -> PyResult<()> {
        current::push(self.rank_here()?.clone());
        Ok(())
    }

    /// This thread acts as it did before.
    #[staticmethod]
    fn release() {
        current::pop();
    }

    /// This process acts as the rank wherever a thread says nothing else.
    fn act_as_process(&self) -> PyResult<()> {
        current::set_of_process(Some(self.rank_here()?.clone()));
        Ok(())
    }

    /// This process acts as no rank any more.
    #[staticmethod]
    fn release_process() {
        current::set_of_process(None);
    }
}

/// The bytes of several ranks, as Python has them.
pub(crate) fn to_python(py: Python<'_>, all: &[Vec<u8>]) -> Vec<Py<PyBytes>> {
    all.iter().map(|bytes| PyBytes::new(py, bytes).unbind()).collect()
}

/// A time that Python gives in seconds.
pub(super) fn seconds(timeout: f64) -> PyResult<Duration> {
    from_seconds(timeout)
        .ok_or_else(|| PyValueError::new_err(format!("timeout={timeout:?} cannot be used: it must be {SECONDS}")))
}
