//! The engine `nvshmem`: ranks are processes with GPUs whose symmetric memory is NVSHMEM's, and whose kernels have its
//! device functions linked in ([`Nvshmem::bitcode`]).
//!
//! The hosts meet as those of the engine `processes` do, and rank 0's unique id travels that way. After the library is
//! initialised, no collective of it is called by the hosts: a wait of ours has an end, and one of the library's has none.

mod library;
mod overdue;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shoal_driver::cuda::{CudaDevice, CudaKernel};

use super::cuda::{CudaEngine, GpuRank, NO_HOST_HEAP, Sharing};
use super::cuda_processes::{UUID_BYTES, device_of, sharers};
use super::gpu_heaps::GpuHeaps;
use super::processes::membership::Membership;
use super::processes::monitor::Monitor;
use super::processes::{self, Bring, ProcessEngine};
use super::{EngineKind, Segments};
use crate::error::WorldError;
use crate::options::{PAGE, WorldOptions};
use library::{BY_UNIQUE_ID, ID_BYTES, InitAttributes, Library, UniqueId};

/// Finds the library, and says which; for `shoal doctor`.
pub fn find_library() -> Result<String, WorldError> {
    Library::get().map(Library::description)
}

/// NVSHMEM, as a rank uses it.
#[derive(Debug, Clone, Copy)]
pub struct Nvshmem(&'static Library);

impl Nvshmem {
    /// Its device functions as LLVM bitcode, which kernels of its ranks are linked with.
    #[must_use]
    pub fn bitcode(self) -> &'static Path {
        &self.0.bitcode
    }

    /// Lets the functions in loaded code know what the library knows, before its first launch. The first call for a code
    /// waits for all that the GPU does.
    pub fn prepare(self, code: &CudaKernel) -> Result<(), WorldError> {
        let module = code.module().map_err(WorldError::gpu)?;
        let mut known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&module) {
            return Ok(());
        }
        // SAFETY: a loaded module of the current context, with the library's functions in it.
        match unsafe { (self.0.module_init)(std::ptr::with_exposed_provenance_mut(module)) } {
            0 => {
                known.insert(module);
                code.before_unload(forget);
                Ok(())
            }
            status => Err(WorldError::Setup(format!(
                "NVSHMEM does not take kernel `{}` (status {status}): are its library and its bitcode of the same version?",
                code.description().name
            ))),
        }
    }
}

/// The modules that the library knows. Its own list of them is not for several threads.
static MODULES: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// Has the library forget code that is about to be unloaded: it writes into all that it knows.
fn forget(module: usize) {
    let mut known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    if known.remove(&module)
        && let Ok(library) = Library::get()
    {
        // SAFETY: a module that the library was told of and that is still loaded.
        unsafe { (library.module_finalize)(std::ptr::with_exposed_provenance_mut(module)) };
    }
}

/// Settings that the library reads from the environment when it starts: all ranks are on this host. What the user has set
/// stays; what an earlier attempt to join has set does not.
fn configure(segment: usize) {
    static SET: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut ours = SET.lock().unwrap_or_else(PoisonError::into_inner);
    let mut set = |name: &str, value: &str| {
        if std::env::var_os(name).is_none() || ours.contains(name) {
            ours.insert(name.to_owned());
            // SAFETY: Rust's accesses to the environment are under one lock. C code of this process that reads it on
            // another thread just now would be wrong already in a program that calls `setenv`, as launchers do; the
            // library itself, which is the one to read it, is not initialised yet.
            unsafe { std::env::set_var(name, value) };
        }
    };
    set("NVSHMEM_REMOTE_TRANSPORT", "none");
    set("NVSHMEM_DISABLE_IB", "1");
    set("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo");
    // It keeps accounts beside the block.
    set("NVSHMEM_SYMMETRIC_SIZE", &segment.saturating_add(1 << 26).to_string());
}

/// Joins the world that this process was started for.
pub(crate) fn join(
    membership: &Membership,
    options: &WorldOptions,
    ordinal: Option<u32>,
) -> Result<CudaEngine<Monitor>, WorldError> {
    let place = OnlyPlace::take()?;
    let device = device_of(membership.rank, ordinal)?;
    device.keep_memory().map_err(WorldError::gpu)?;
    device.make_current().map_err(WorldError::gpu)?;
    let segment = options.segment_bytes()?;
    configure(segment);
    let library = Library::get()?;
    let mut note = device.uuid().map_err(WorldError::gpu)?.to_vec();
    note.extend(own_id(library, membership)?.to_bytes());
    let bring = Bring { segments: Segments::Nvshmem, memory: None, note: &note, host_heap: NO_HOST_HEAP };
    let (host, ()) = processes::join_with(membership, options, bring, |_| Ok(()))?;
    place.keep();
    let heaps = overdue::bounded(&host, options.timeout, || allocate(library, &host, device, segment, options));
    let sharing = Sharing { gpu: sharers(&host), process: 1 };
    let gpu = heaps.and_then(|heaps| GpuRank::new(&host, options, &Arc::new(heaps), sharing)).map_err(for_good)?;
    let gpu = gpu.with_nvshmem(Nvshmem(library));
    Ok(CudaEngine { host, kind: EngineKind::Nvshmem, gpu, pad: options.pad_bytes() })
}

/// The place of this process in a world of NVSHMEM, which it has once: the library is initialised once. It is given back
/// where joining ends before that.
struct OnlyPlace;

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

impl OnlyPlace {
    fn take() -> Result<OnlyPlace, WorldError> {
        match IS_TAKEN.swap(true, Ordering::AcqRel) {
            false => Ok(OnlyPlace),
            true => Err(WorldError::Setup(format!("this process has joined a world of NVSHMEM before: {ONCE}"))),
        }
    }

    /// The library is about to be initialised.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for OnlyPlace {
    fn drop(&mut self) {
        IS_TAKEN.store(false, Ordering::Release);
    }
}

const ONCE: &str = "the library can be initialised once in a process";

/// The error of an attempt that cannot be made again. What other ranks or the GPU are to blame for says so itself.
fn for_good(error: WorldError) -> WorldError {
    match error {
        WorldError::Setup(why) => {
            WorldError::Setup(format!("{why}; this process cannot join a world of NVSHMEM again: {ONCE}"))
        }
        error => error,
    }
}

/// What ranks find each other by: that of rank 0 counts.
fn own_id(library: &Library, membership: &Membership) -> Result<UniqueId, WorldError> {
    let mut id = UniqueId::empty();
    if membership.rank == 0 {
        // SAFETY: it writes an id; this is before the initialisation, as it must be.
        let status = unsafe { (library.get_unique_id)(&raw mut id) };
        if status != 0 {
            let text = format!(
                "NVSHMEM has no way for ranks to find each other (status {status}; NVSHMEM_DEBUG=INFO says more)"
            );
            return Err(WorldError::Setup(text));
        }
    }
    Ok(id)
}

/// Initialises the library and takes the segment of this rank. Collective over the world.
fn allocate(
    library: &Library,
    host: &ProcessEngine,
    device: CudaDevice,
    segment: usize,
    options: &WorldOptions,
) -> Result<GpuHeaps, WorldError> {
    let number = |n: usize| i32::try_from(n).map_err(|_| WorldError::Setup(format!("{n} ranks are too many")));
    let (rank, ranks) = (host.rank, host.memory.size());
    let mut note = Vec::new();
    host.memory.control(0).note.read(UUID_BYTES + ID_BYTES, &mut note);
    let id = UniqueId::from_bytes(&note[UUID_BYTES..]).unwrap_or_else(UniqueId::empty);
    let mut attributes = InitAttributes::empty();
    let refused = |doing: &str, status: i32| {
        WorldError::Setup(format!("NVSHMEM cannot {doing} (status {status}); NVSHMEM_DEBUG=INFO says more"))
    };
    // SAFETY: the id and the attributes live until the library is initialised, which happens once in a process.
    let status = unsafe {
        match (library.set_unique_id)(number(rank)?, number(ranks)?, &raw const id, &raw mut attributes) {
            0 => (library.init)(BY_UNIQUE_ID, &raw mut attributes),
            status => status,
        }
    };
    if status != 0 {
        return Err(refused("start", status));
    }
    // SAFETY: the library is initialised.
    let numbers = unsafe { ((library.my_pe)(), (library.n_pes)()) };
    if numbers != (number(rank)?, number(ranks)?) {
        return Err(WorldError::Setup(format!("NVSHMEM calls rank {rank} of {ranks} {} of {}", numbers.0, numbers.1)));
    }
    // SAFETY: as above; all ranks ask for the same.
    let own = unsafe { (library.align)(PAGE, segment) };
    if own.is_null() {
        return Err(WorldError::Setup(format!(
            "NVSHMEM has no {segment} bytes for a heap; make it smaller with SHOAL_HEAP_BYTES, or NVSHMEM_SYMMETRIC_SIZE larger"
        )));
    }
    let mut addresses = Vec::new();
    for peer in 0..ranks {
        // SAFETY: a place in symmetric memory, and a rank.
        let there = unsafe { (library.ptr)(own, number(peer)?) };
        if there.is_null() {
            return Err(WorldError::Setup(format!(
                "NVSHMEM does not reach rank {peer} from rank {rank} by load and store, as ranks of one host must be"
            )));
        }
        addresses.push(there.addr() as u64);
    }
    // SAFETY: the library has given so many bytes there, and keeps them until the process ends.
    let heaps = unsafe { GpuHeaps::kept_elsewhere(device, addresses, segment) };
    heaps.clear(rank, options.heap_start()).map_err(WorldError::gpu)?;
    // SAFETY: all ranks come here.
    unsafe { (library.barrier_all)() };
    Ok(heaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_given_back_until_the_library_is_initialised() {
        drop(OnlyPlace::take().unwrap());
        let place = OnlyPlace::take().unwrap();
        assert!(OnlyPlace::take().is_err(), "another thread joins");
        place.keep();
        let said = OnlyPlace::take().err().unwrap().to_string();
        assert_eq!(said, format!("this process has joined a world of NVSHMEM before: {ONCE}"));
    }
}
