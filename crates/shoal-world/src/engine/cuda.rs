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
    CudaBuffer, CudaDevice, CudaError, Event, EventKind, RankTable, Stream, StreamRef, independent_queues, wait_limit,
};
use shoal_driver::{LaunchError, RankView};

use super::threads::{self, ThreadEngine};
use super::{Call, Engine, EngineKind, Route};
use crate::error::{Failure, WorldError};
use crate::options::WorldOptions;
use crate::team_register::handle_of;

/// What a rank waits for the end of its kernels beyond the time that they may wait themselves.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rank's part of a GPU: where the symmetric memory is, the rank's stream, and what its kernels are told.
#[derive(Debug)]
pub struct GpuRank {
    // Before the memory: fields are dropped in their order.
    stream: Arc<Stream>,
    table: RankTable,
    memory: Arc<CudaBuffer<u8>>,
    rank: usize,
    ranks: usize,
    segment: usize,
    wait_limit: Duration,
    /// What [`GpuRank::follow`] marks other streams with.
    followed: Event,
    /// Loaded code that this rank has launched before, by its address.
    launched: Mutex<HashSet<usize>>,
}

impl GpuRank {
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
        assert!(peer < self.ranks, "rank {peer} of {}", self.ranks);
        self.memory.address() + (peer * self.segment) as u64
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

    /// How many multiprocessors a rank may count on for programs that wait for other ranks.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.device().properties().multiprocessors
    }

    /// The number of ranks that share the GPU.
    #[must_use]
    pub fn sharers(&self) -> usize {
        self.ranks
    }

    /// Whether this rank has not launched this loaded code before; from now on it has. Ranks meet before the first launch of
    /// code that waits, see [`Rank::meet_before_first_launch`](crate::Rank::meet_before_first_launch).
    pub fn launches_first(&self, code: usize) -> bool {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).insert(code)
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

    /// Waits until all that is in the rank's stream is done, and says why programs gave up, if some did.
    pub fn settle(&self) -> Result<(), WorldError> {
        self.stream().synchronize_within(Some(self.wait_limit + PATIENCE), None).map_err(WorldError::gpu)?;
        match self.table.take_report() {
            None => Ok(()),
            Some(stuck) => Err(WorldError::Launch(Box::new(stuck))),
        }
    }

    /// Reads bytes of a rank's segment, after what is in this rank's stream. The range lies inside.
    pub(crate) fn read(&self, peer: usize, offset: usize, to: &mut [u8]) -> Result<(), WorldError> {
        self.memory.copy_part_to(self.stream(), peer * self.segment + offset, to).map_err(WorldError::gpu)
    }

    /// Writes bytes of a rank's segment, after what is in this rank's stream. The range lies inside.
    pub(crate) fn write(&self, peer: usize, offset: usize, from: &[u8]) -> Result<(), WorldError> {
        self.memory.copy_part_from(self.stream(), peer * self.segment + offset, from).map_err(WorldError::gpu)
    }
}

/// A rank whose memory is a GPU's.
#[derive(Debug)]
pub(crate) struct CudaEngine {
    host: ThreadEngine,
    gpu: GpuRank,
    pad: usize,
}

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
pub(crate) fn start(options: &WorldOptions, ranks: usize, device: CudaDevice) -> Result<Vec<CudaEngine>, WorldError> {
    check_queues(ranks)?;
    let segment = (options.heap_start() + options.heap_bytes).next_multiple_of(4096);
    let whole = segment.checked_mul(ranks).filter(|&bytes| isize::try_from(bytes).is_ok());
    let whole = whole.ok_or_else(|| WorldError::Setup(format!("{ranks} heaps of {segment} bytes are too large")))?;
    let limit = wait_limit().map_err(WorldError::gpu)?;
    device.keep_memory().map_err(WorldError::gpu)?;
    // The host's part has no heap.
    let hosts = threads::start(&WorldOptions { heap_bytes: 4096, ..options.clone() }, ranks)?;
    let default = StreamRef::default_of(device);
    let memory = Arc::new(CudaBuffer::<u8>::apart(device, whole).map_err(|error| no_memory(error, ranks, segment))?);
    for rank in 0..ranks {
        let begin = memory.address() + (rank * segment) as u64;
        // SAFETY: the signal pad and the words of teams are the begin of the rank's slice, which nobody uses yet.
        unsafe { default.fill_bytes(begin, 0, options.heap_start()) }.map_err(WorldError::gpu)?;
    }
    default.synchronize().map_err(WorldError::gpu)?;
    let address = |rank: usize| memory.address() as usize + rank * segment;
    let heaps: Vec<usize> = (0..ranks).map(address).collect();
    let engine = |(rank, host): (usize, ThreadEngine)| {
        let stream = Arc::new(Stream::independent(device)?);
        let view = RankView::new(rank, heaps.clone(), segment).with_sync_words(options.pad_bytes());
        let table = RankTable::new(**stream, Arc::new(view), limit)?;
        let memory = Arc::clone(&memory);
        let followed = Event::new(device, EventKind::Ordering)?;
        let launched = Mutex::default();
        let gpu = GpuRank { stream, table, memory, rank, ranks, segment, wait_limit: limit, followed, launched };
        Ok(CudaEngine { host, gpu, pad: options.pad_bytes() })
    };
    hosts.into_iter().enumerate().map(engine).collect::<Result<_, CudaError>>().map_err(WorldError::gpu)
}

impl CudaEngine {
    /// If this rank waits in vain, what all members wait for, if they all do; what this one does, if another does not
    /// answer.
    fn told_by_all(&self, route: &Route<'_>, error: WorldError) -> WorldError {
        let WorldError::Launch(stuck) = &error else { return error };
        if !matches!(**stuck, LaunchError::Stuck { .. }) {
            return error;
        }
        match self.host.exchange(route, Call::AllGather, stuck.to_string().as_bytes()) {
            Ok(reports) => {
                let report =
                    |(&rank, text): (&usize, &Vec<u8>)| format!("rank {rank}: {}", String::from_utf8_lossy(text));
                WorldError::Deadlock { waits: route.members.iter().zip(&reports).map(report).collect() }
            }
            Err(_) => error,
        }
    }
}

fn no_memory(error: CudaError, ranks: usize, segment: usize) -> WorldError {
    WorldError::Setup(format!(
        "{error}\n  = help: the symmetric heaps of {ranks} ranks are {segment} bytes each; make them smaller with \
         `WorldOptions::heap_bytes` or SHOAL_HEAP_BYTES"
    ))
}

impl Engine for CudaEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Cuda
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
            self.gpu.settle().map_err(|error| self.told_by_all(route, error))?;
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

    fn fail(&self, failure: Failure) -> Failure {
        self.host.fail(failure)
    }

    fn enter(&self) {
        self.host.enter();
    }

    fn leave(&self) {
        self.host.leave();
    }
}
