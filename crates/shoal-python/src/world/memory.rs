//! Blocks of the symmetric heap, and places that streams and signals use.

use std::sync::atomic::Ordering::Release;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shoal::world::{Place, Rank, Symm};

use crate::errors;
use crate::lock::lock_briefly;
use crate::world::member::Member;
use crate::world::waiting::wait_for_others;

/// A block at the same offset of every rank's heap. Dropped when nobody looks at it any more.
#[pyclass(module = "shoal._native", frozen, weakref)]
pub(crate) struct SymmBlock {
    member: Member,
    symm: Mutex<Option<Symm<u8>>>,
    /// Where it lies in every segment.
    #[pyo3(get)]
    offset: usize,
    /// Its size.
    #[pyo3(get)]
    nbytes: usize,
    /// The address of this rank's part.
    #[pyo3(get)]
    address: usize,
}

impl SymmBlock {
    pub(crate) fn new(member: &Member, symm: Symm<u8>) -> SymmBlock {
        let (offset, nbytes, address) = (symm.offset(), symm.len(), symm.address());
        SymmBlock { member: member.clone(), symm: Mutex::new(Some(symm)), offset, nbytes, address }
    }
}

impl Drop for SymmBlock {
    fn drop(&mut self) {
        // A forked child has no say in what is given back, and its copy of the heap's lock may be held for ever.
        if !self.member.is_here()
            && let Ok(symm) = self.symm.get_mut()
        {
            std::mem::forget(symm.take());
        }
    }
}

#[pymethods]
impl SymmBlock {
    /// Gives the block back on all ranks now. Collective.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.member.taking_part()?;
        let Some(symm) = lock_briefly(&self.symm).take() else {
            return Err(PyValueError::new_err("this symmetric memory has been freed already"));
        };
        wait_for_others(py, &self.member, move || symm.free())
    }

    /// Whether it was freed.
    #[getter]
    fn freed(&self) -> bool {
        lock_briefly(&self.symm).is_none()
    }
}

/// Writes an aligned word of 4 or 8 bytes, after all that this thread wrote before, for all threads to see. The address
/// is that of an element of an array that the caller holds.
#[pyfunction]
pub(crate) fn store_word(address: usize, value: u64, bytes: usize) -> PyResult<()> {
    if !address.is_multiple_of(bytes.max(1)) || address == 0 {
        return Err(PyValueError::new_err(format!("{address:#x} is no address of a word of {bytes} bytes")));
    }
    match (bytes, u32::try_from(value)) {
        // SAFETY: aligned, and an element of an array that the caller holds.
        (4, Ok(value)) => unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(address) }.store(value, Release),
        // SAFETY: see above.
        (8, _) => unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(address) }.store(value, Release),
        _ => return Err(PyValueError::new_err(format!("{value} is no word of {bytes} bytes"))),
    }
    Ok(())
}

/// The rank whose segment an address lies in, and where.
pub(crate) fn locate(rank: &Rank, address: usize) -> Option<(usize, usize)> {
    (0..rank.size()).find_map(|peer| {
        let base = rank.address_of(peer).ok()?;
        let offset = address.checked_sub(base)?;
        (offset < rank.segment_bytes()).then_some((peer, offset))
    })
}

/// Bytes at an address: of a segment, or of an array that `keep` is or keeps.
pub(crate) fn place(py: Python<'_>, rank: &Rank, address: usize, bytes: usize, keep: Py<PyAny>) -> PyResult<Place> {
    if let Some((peer, offset)) = locate(rank, address) {
        let place = Place::segment(rank, peer, offset, bytes).map_err(|error| errors::world(py, &error))?;
        return Ok(place.kept_by(Arc::new(keep)));
    }
    // SAFETY: the caller took the address and the size from the object, which is kept.
    Ok(unsafe { Place::host(address, bytes, Arc::new(keep)) })
}
