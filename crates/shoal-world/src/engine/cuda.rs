//! The engine `cuda`: ranks are threads of one process that share a GPU. Their symmetric memory is one allocation there,
//! with a slice for each rank; every rank has a stream of its own, so that kernels of different ranks run beside each
//! other and may wait for each other.
//!
//! Nothing here waits for another rank's kernel but through memory: streams are independent of each other and of the
//! default stream, and memory that is given back is kept. What orders hosts (barriers, exchanges) is the engine
//! `threads`; a rank's stream is empty before it takes part in any of it, as a launch on a CPU has returned.

use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shoal_abi::team::sync_words;
use shoal_driver::cuda::{
    CudaBuffer, CudaDevice, CudaError, Event, EventKind, RankTable, Stream, StreamRef, independent_queues,
};
use shoal_driver::{Doing, Interrupt, LaunchError, RankView, wait_timeout};

use super::gpu_heaps::GpuHeaps;
use super::nvshmem::Nvshmem;
use super::shared::{SharedEngine, SharedMemory};
use super::threads::{self, ThreadEngine};
use super::{Call, Certainty, Engine, EngineKind, Route};
use crate::error::{Failure, WorldError};
use crate::giving_up;
use crate::options::WorldOptions;
use crate::team_register::handle_of;
use crate::vigil::Beat;
use crate::wait_report::WaitReport;

/// What a rank waits for the end of its kernels beyond the time that they may wait themselves.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rank's part of a GPU: where the symmetric memory is, the rank's stream, and what its kernels are told.
#[derive(Debug)]
pub struct GpuRank {
    // Before the memory: fields are dropped in their order.
    stream: Arc<Stream>,
    table: RankTable,
    memory: Arc<GpuHeaps>,
    rank: usize,
    segment: usize,
    sharing: Sharing,
    wait_limit: Duration,
    nvshmem: Option<Nvshmem>,
    /// Where the hosts of all ranks meet, and say that the world has failed.
    host: Arc<SharedMemory>,
    has_failed: Interrupt,
    /// The process that the rank is in; a child made by `fork` is not the rank.
    process: u32,
    /// What [`GpuRank::follow`] marks other streams with.
    followed: Event,
    /// Loaded code that this rank has launched before, by its number.
    launched: Mutex<HashSet<u64>>,
}

fn view(memory: &GpuHeaps, rank: usize, segment: usize) -> RankView {
    let heaps = memory.addresses().map(|address| address as usize).collect();
    let view = RankView::new(rank, heaps, segment);
    if memory.is_scattered() { view.with_scattered_heaps() } else { view }
}

/// Who a rank shares its GPU with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Ranks whose kernels run on this GPU.
    pub(crate) gpu: usize,
    /// Those of them that are in this process.
    pub(crate) process: usize,
}

impl GpuRank {
    /// A rank of hosts that meet so, with the memory of all ranks as its GPU sees it.
    pub(crate) fn new<K>(
        host: &SharedEngine<K>,
        options: &WorldOptions,
        memory: &Arc<GpuHeaps>,
        sharing: Sharing,
    ) -> Result<GpuRank, WorldError> {
        let (rank, device) = (host.rank, memory.device());
        let segment = options.segment_bytes()?;
        let wait_limit = wait_timeout().map_err(|error| WorldError::gpu(error.into()))?;
        let stream = Arc::new(Stream::independent(device).map_err(WorldError::gpu)?);
        let view = view(memory, rank, segment).with_sync_words(options.pad_bytes());
        let table = RankTable::new(**stream, Arc::new(view), wait_limit).map_err(WorldError::gpu)?;
        let watched = Arc::clone(&host.memory);
        Ok(GpuRank {
            stream,
            table,
            memory: Arc::clone(memory),
            rank,
            segment,
            sharing,
            wait_limit,
            nvshmem: None,
            host: Arc::clone(&host.memory),
            has_failed: Interrupt::new(move || watched.failure().is_some()),
            process: std::process::id(),
            followed: Event::new(device, EventKind::Ordering).map_err(WorldError::gpu)?,
            launched: Mutex::default(),
        })
    }

    /// The same with its memory taken from NVSHMEM.
    pub(crate) fn with_nvshmem(mut self, nvshmem: Nvshmem) -> GpuRank {
        self.nvshmem = Some(nvshmem);
        self
    }

    /// NVSHMEM, if other ranks are reached through it.
    #[must_use]
    pub fn nvshmem(&self) -> Option<Nvshmem> {
        self.nvshmem
    }

    /// What kernels of this rank see of the others, without teams.
    #[must_use]
    pub fn view(&self) -> RankView {
        view(&self.memory, self.rank, self.segment)
    }

    /// The GPU.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.memory.device()
    }

    /// The stream that the rank's kernels and copies are put into.
    #[must_use]
    pub fn stream(&self) -> StreamRef {
        **self.stream
    }

    /// Where a rank's symmetric segment begins in the GPU's memory.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn address(&self, peer: usize) -> u64 {
        self.memory.address(peer)
    }

    /// What kernels of this rank are told of the others, and what they report.
    #[must_use]
    pub fn table(&self) -> &RankTable {
        &self.table
    }

    /// How long programs may wait.
    #[must_use]
    pub fn wait_limit(&self) -> Duration {
        self.wait_limit
    }

    /// The multiprocessors of the GPU, which all its ranks share.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.device().properties().multiprocessors
    }

    /// The number of ranks that share the GPU.
    #[must_use]
    pub fn sharers(&self) -> usize {
        self.sharing.gpu
    }

    /// The number of ranks of this process that share the GPU.
    #[must_use]
    pub fn sharers_in_process(&self) -> usize {
        self.sharing.process
    }

    /// Whether this rank has launched this loaded code before. Ranks meet before the first launch of code that waits, see
    /// [`Rank::meet_before_first_launch`](crate::Rank::meet_before_first_launch).
    #[must_use]
    pub fn has_launched(&self, code: u64) -> bool {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).contains(&code)
    }

    /// From now on this rank has launched this loaded code.
    pub fn note_launch(&self, code: u64) {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).insert(code);
    }

    /// Lets the rank's stream wait for what is in another stream now, such as the current one of torch: whoever waits for
    /// the rank waits for that, too. A stream that is recorded does nothing yet.
    pub fn follow(&self, stream: StreamRef) -> Result<(), WorldError> {
        let follow = || {
            if stream.address() == self.stream().address() || stream.is_capturing()? {
                return Ok(());
            }
            self.followed.record(stream)?;
            self.followed.hold_back(self.stream())
        };
        follow().map_err(WorldError::gpu)
    }

    /// Waits until all that is in the rank's stream is done, and says why programs gave up, if some did. When the world
    /// fails meanwhile, programs that wait end.
    pub fn settle(&self) -> Result<(), WorldError> {
        match self.stream().synchronize_within(Some(self.wait_limit + PATIENCE), Some(&self.has_failed)) {
            Ok(()) => {}
            Err(CudaError::Interrupted) => return Err(self.give_up()),
            Err(error) => return Err(WorldError::gpu(error)),
        }
        match self.table.take_report() {
            None => Ok(()),
            Some(stuck) => Err(WorldError::Launch(Box::new(stuck))),
        }
    }

    /// Lets programs end that wait for ranks of a world that has failed, and tells what they waited for.
    fn give_up(&self) -> WorldError {
        self.table.stop();
        let ended = self.stream().synchronize_within(Some(PATIENCE), None);
        let stuck = self.table.take_report().filter(|report| matches!(report, LaunchError::Stuck { .. }));
        self.table.forget();
        match (ended, self.host.failure()) {
            (Err(error), _) => WorldError::gpu(error),
            (Ok(()), Some(failure)) => {
                let waits = stuck.map(|stuck| giving_up::told(&stuck));
                if let Some(waits) = &waits {
                    self.host.control(self.rank).report.write(&waits.encode());
                }
                WorldError::failed(self.rank, waits.as_ref().map(giving_up::in_kernel), failure)
            }
            (Ok(()), None) => WorldError::gpu(CudaError::Interrupted),
        }
    }

    /// Reads bytes of a rank's segment, after what is in this rank's stream, which has [settled](GpuRank::settle): the wait
    /// for a copy has no bound. The range lies inside.
    pub(crate) fn read(&self, peer: usize, offset: usize, to: &mut [u8]) -> Result<(), WorldError> {
        self.memory.read(self.stream(), peer, offset, to).map_err(WorldError::gpu)
    }

    /// Writes bytes of a rank's segment, as [`GpuRank::read`] reads them.
    pub(crate) fn write(&self, peer: usize, offset: usize, from: &[u8]) -> Result<(), WorldError> {
        self.memory.write(self.stream(), peer, offset, from).map_err(WorldError::gpu)
    }
}

impl Drop for GpuRank {
    fn drop(&mut self) {
        // The memory goes next: nothing may use it any more.
        if std::process::id() == self.process && matches!(self.stream().is_done(), Ok(false)) {
            self.table.stop();
            let _ = self.stream().synchronize_within(Some(PATIENCE), None);
        }
    }
}

/// A rank whose memory is a GPU's. `K` is what keeps its host's part.
#[derive(Debug)]
pub(crate) struct CudaEngine<K> {
    pub(crate) host: SharedEngine<K>,
    pub(crate) kind: EngineKind,
    pub(crate) gpu: GpuRank,
    pub(crate) pad: usize,
}

/// The bytes of a heap in the host's memory of ranks whose heap is a GPU's.
pub(crate) const NO_HOST_HEAP: usize = 4096;

/// Refuses so many streams that wait for each other, if the GPU would hold up some for others.
pub(crate) fn check_queues(streams: usize) -> Result<(), WorldError> {
    let queues = independent_queues();
    if streams <= queues {
        return Ok(());
    }
    Err(WorldError::Setup(format!(
        "{streams} streams of ranks that share a GPU may wait for each other, and it has {queues} queues for them; start \
         the program with CUDA_DEVICE_MAX_CONNECTIONS=32"
    )))
}

/// The views of all ranks.
pub(crate) fn start(
    options: &WorldOptions,
    ranks: usize,
    device: CudaDevice,
) -> Result<Vec<CudaEngine<()>>, WorldError> {
    check_queues(ranks)?;
    let segment = options.segment_bytes()?;
    let whole = segment.checked_mul(ranks).filter(|&bytes| isize::try_from(bytes).is_ok());
    let whole = whole.ok_or_else(|| WorldError::Setup(format!("{ranks} heaps of {segment} bytes are too large")))?;
    device.keep_memory().map_err(WorldError::gpu)?;
    // The host's part has no heap.
    let hosts = threads::start(&WorldOptions { heap_bytes: NO_HOST_HEAP, ..options.clone() }, ranks, None)?;
    let memory = CudaBuffer::<u8>::apart(device, whole).map_err(|error| no_memory(error, ranks, segment))?;
    let memory = Arc::new(GpuHeaps::slices(memory, ranks, segment));
    for rank in 0..ranks {
        memory.clear(rank, options.heap_start()).map_err(WorldError::gpu)?;
    }
    let engine = |host: ThreadEngine| {
        let gpu = GpuRank::new(&host, options, &memory, Sharing { gpu: ranks, process: ranks })?;
        Ok(CudaEngine { host, kind: EngineKind::Cuda, gpu, pad: options.pad_bytes() })
    };
    hosts.into_iter().map(engine).collect()
}

impl<K: std::fmt::Debug + Send + Sync> CudaEngine<K> {
    /// If this rank waits in vain, what all members wait for, if they all do; what this one does, if another does not
    /// answer.
    fn with_waits_of_all(&self, route: &Route<'_>, error: WorldError) -> WorldError {
        let WorldError::Launch(stuck) = &error else { return error };
        if !matches!(**stuck, LaunchError::Stuck { .. }) {
            return error;
        }
        let own_waits = giving_up::told(stuck);
        match self.host.exchange(route, Call::GivesUp, own_waits.encode().as_bytes()) {
            Ok(reports) => {
                let reports = route.members.iter().zip(&reports);
                WorldError::Deadlock {
                    waits: reports.filter_map(|(&rank, waits)| giving_up::gathered(rank, waits)).collect(),
                }
            }
            Err(deadlock @ WorldError::Deadlock { .. }) => deadlock,
            Err(WorldError::Failed { rank, failure, .. }) => {
                let awaited = Some(giving_up::in_kernel(&own_waits));
                giving_up::unmet(self, WorldError::failed(rank, awaited, failure))
            }
            Err(_) => error,
        }
    }
}

fn no_memory(error: CudaError, ranks: usize, segment: usize) -> WorldError {
    WorldError::Setup(format!(
        "{error}\n  = help: the symmetric heaps of {ranks} ranks are {segment} bytes each; make them smaller with \
         `heap_bytes` or SHOAL_HEAP_BYTES"
    ))
}

impl<K: std::fmt::Debug + Send + Sync> Engine for CudaEngine<K> {
    fn kind(&self) -> EngineKind {
        self.kind
    }

    fn rank(&self) -> usize {
        self.host.rank()
    }

    fn size(&self) -> usize {
        self.host.size()
    }

    fn hosts(&self) -> Vec<u32> {
        self.host.hosts()
    }

    fn name(&self, rank: usize) -> String {
        self.host.name(rank)
    }

    fn segment_bytes(&self) -> usize {
        self.gpu.segment
    }

    fn base(&self, _rank: usize) -> Option<NonNull<u8>> {
        None
    }

    fn gpu(&self) -> Option<&GpuRank> {
        Some(&self.gpu)
    }

    fn exchange(&self, route: &Route<'_>, call: Call, mine: &[u8]) -> Result<Vec<Vec<u8>>, WorldError> {
        // Kernels that have not run yet may wait for a rank that waits here; all others have ended when hosts meet.
        if call != Call::FirstLaunch {
            self.gpu.settle().map_err(|error| self.with_waits_of_all(route, error))?;
        }
        self.host.exchange(route, call, mine)
    }

    fn prepare_slot(&self, slot: usize) {
        self.host.prepare_slot(slot);
        let row = vec![0u8; sync_words::ROW * 8];
        let offset = self.pad + sync_words::offset(handle_of(slot), 0);
        // A GPU that fails here fails at the barrier that follows, too.
        let _ = self.gpu.write(self.gpu.rank, offset, &row);
    }

    fn retire_slot(&self, route: &Route<'_>) -> Result<(), WorldError> {
        self.host.retire_slot(route)
    }

    fn failure(&self) -> Option<Failure> {
        self.host.failure()
    }

    fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure> {
        self.host.fail(failure, certainty)
    }

    fn conclude(&self, failure: &Failure) {
        self.host.conclude(failure);
    }

    fn is_undecided(&self) -> bool {
        self.host.is_undecided()
    }

    fn post_deadlock(&self, waits: &[WaitReport]) {
        self.host.post_deadlock(waits);
    }

    fn deadlock(&self) -> Option<Vec<WaitReport>> {
        self.host.deadlock()
    }

    fn post_report(&self, report: &str) {
        self.host.post_report(report);
    }

    fn report_of(&self, rank: usize) -> Option<String> {
        self.host.report_of(rank)
    }

    fn beat(&self, beat: Option<Beat>) {
        self.host.beat(beat);
    }

    fn beat_of(&self, rank: usize) -> Option<Beat> {
        self.host.beat_of(rank)
    }

    fn has_left(&self, rank: usize) -> bool {
        self.host.has_left(rank)
    }

    fn doing(&self, rank: usize) -> Option<Doing> {
        self.host.doing(rank)
    }

    fn enter(&self) {
        self.host.enter();
    }

    fn leave(&self) {
        self.host.leave();
    }
}
