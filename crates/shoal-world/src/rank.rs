//! A rank: one member of the world.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shoal_abi::{AxisPosition, Topology};
use shoal_driver::{Acting, Actor, GroupMember, LaunchGroup, RankView, Transport};

use crate::copy::copy;
use crate::element::Element;
use crate::engine::cuda::GpuRank;
use crate::engine::{Awaited, Call, Certainty, Engine, EngineKind};
use crate::error::{Failure, WorldError};
use crate::giving_up;
use crate::heap::{Heap, Symm};
use crate::mesh::Mesh;
use crate::options::WorldOptions;
use crate::pad::SignalPad;
use crate::stream::Stream;
use crate::team::Team;

/// One member of the world: its heap, its teams, its view of the others. Clones are the same rank.
///
/// Collectives (allocation too) must be called by all ranks in the same order.
#[derive(Clone)]
pub struct Rank(Arc<Inner>);

struct Inner {
    engine: Arc<dyn Engine>,
    options: WorldOptions,
    world: Team,
    node: Team,
    heap: Heap,
    /// The launches of the ranks of this process; `None` where others run elsewhere.
    launches: Option<LaunchGroup>,
    /// Its membership while it runs.
    member: Mutex<Option<GroupMember>>,
    /// The first error of a stream that was dropped before anybody heard of it.
    left_error: Mutex<Option<WorldError>>,
    /// Whether one of its threads has given up what it waited for, and may be telling the others.
    gives_up: AtomicBool,
    /// This rank's place in the mesh that kernels see.
    mesh: Mutex<Vec<AxisPosition>>,
    /// How often the mesh was set.
    meshes: AtomicU64,
    /// What kernels see of the others, and the version of the teams and the mesh in it.
    view: Mutex<Option<(u64, Arc<RankView>)>>,
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {}, {})", self.rank(), self.size(), self.engine())
    }
}

impl Rank {
    pub(crate) fn new(engine: Arc<dyn Engine>, options: &WorldOptions, launches: Option<LaunchGroup>) -> Rank {
        let (world, node) = Team::initial(&engine);
        let heap = Heap::new(options.heap_start(), options.heap_start() + options.heap_bytes);
        Rank(Arc::new(Inner {
            engine,
            options: options.clone(),
            world,
            node,
            heap,
            launches,
            member: Mutex::new(None),
            left_error: Mutex::new(None),
            gives_up: AtomicBool::new(false),
            mesh: Mutex::new(Vec::new()),
            meshes: AtomicU64::new(0),
            view: Mutex::new(None),
        }))
    }

    /// Its number, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.engine.rank()
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.engine.size()
    }

    /// How the ranks reach each other.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.0.engine.kind()
    }

    /// The settings of the world.
    #[must_use]
    pub fn options(&self) -> &WorldOptions {
        &self.0.options
    }

    /// The team of all ranks.
    #[must_use]
    pub fn world(&self) -> &Team {
        &self.0.world
    }

    /// The team of the ranks on this host.
    #[must_use]
    pub fn node(&self) -> &Team {
        &self.0.node
    }

    /// Waits for all ranks.
    pub fn barrier(&self) -> Result<(), WorldError> {
        self.0.world.barrier()
    }

    /// Allocates on every rank's heap; what lies in it is not known. Collective over the world.
    pub fn symm_empty<T: Element>(&self, count: usize) -> Result<Symm<T>, WorldError> {
        self.symm_empty_aligned(count, align_of::<T>())
    }

    /// Allocates on every rank's heap, at a multiple of `alignment` bytes; what lies in it is not known. Collective
    /// over the world.
    pub fn symm_empty_aligned<T: Element>(&self, count: usize, alignment: usize) -> Result<Symm<T>, WorldError> {
        // Segments begin at pages, so offsets cannot promise more.
        if !alignment.is_power_of_two() || alignment > 4096 {
            return Err(WorldError::Argument(format!("alignment {alignment} is not a power of two of at most 4096")));
        }
        let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or_else(|| {
            let size = size_of::<T>();
            WorldError::Argument(format!("{count} elements of {size} bytes are more than there are addresses"))
        })?;
        let offset = self.0.heap.allocate(&self.0.world, bytes, alignment)?;
        Ok(Symm::new(self.clone(), offset, count))
    }

    /// Allocates zeros on every rank's heap; they are there on all ranks when this returns. Collective over the world.
    pub fn symm_zeros<T: Element>(&self, count: usize) -> Result<Symm<T>, WorldError> {
        let buffer = self.symm_empty(count)?;
        buffer.fill(crate::element::zeroed(1)[0])?;
        self.barrier()?;
        Ok(buffer)
    }

    /// Bytes of the heap that are free.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.0.heap.free_bytes()
    }

    /// The signal pads.
    #[must_use]
    pub fn signal_pad(&self) -> SignalPad {
        SignalPad::new(self.clone(), self.0.options.pad_slots)
    }

    /// Bytes of each rank's symmetric segment: the signal pad, the [words](Rank::sync_words) in which teams meet, the
    /// heap.
    #[must_use]
    pub fn segment_bytes(&self) -> usize {
        self.0.engine.segment_bytes()
    }

    /// Where, in each rank's segment, the words are in which teams meet in kernels.
    #[must_use]
    pub fn sync_words(&self) -> usize {
        self.0.options.pad_bytes()
    }

    /// Where, in each rank's segment, the records are of who wrote a word last.
    #[must_use]
    pub fn write_records(&self) -> usize {
        self.0.options.write_records()
    }

    /// The teams and the place in a mesh that kernels of this rank see now. Programs that launch many kernels ask again
    /// when [`Rank::topology_version`] has changed.
    #[must_use]
    pub fn topology(&self) -> Topology {
        let number = |n: usize| u32::try_from(n).expect("a rank");
        let known = Topology::with_hosts(number(self.rank()), &self.0.engine.hosts());
        let teams = self.0.world.register().made();
        let known = teams.into_iter().fold(known, |known, (handle, members)| known.with_team(handle, members));
        known.with_mesh(self.mesh().clone())
    }

    /// Counts the changes of [`Rank::topology`].
    #[must_use]
    pub fn topology_version(&self) -> u64 {
        self.0.world.register().version() + self.0.meshes.load(Ordering::Acquire)
    }

    /// What kernels of this rank see of the others. It is made once, and again when the [topology](Rank::topology) has
    /// changed.
    ///
    /// # Errors
    ///
    /// What `make` says.
    pub fn launch_view<E>(&self, make: impl FnOnce() -> Result<RankView, E>) -> Result<Arc<RankView>, E> {
        let version = self.topology_version();
        let mut known = self.0.view.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, view)) = &*known
            && *of == version
        {
            return Ok(Arc::clone(view));
        }
        let view = Arc::new(make()?);
        *known = Some((version, Arc::clone(&view)));
        Ok(view)
    }

    /// Gives kernels of this rank a mesh, whose axes are those of `rank(axis)` and `num_ranks(axis)`: the first is axis
    /// 0. `None` takes it away. It holds for launches from now on.
    pub fn set_mesh(&self, mesh: Option<&Mesh>) {
        *self.mesh() = mesh.map_or_else(Vec::new, Mesh::positions);
        self.0.meshes.fetch_add(1, Ordering::AcqRel);
    }

    /// Where a rank's symmetric segment begins in this process. An error if it cannot be reached by load and store.
    pub fn base(&self, peer: usize) -> Result<NonNull<u8>, WorldError> {
        self.0.engine.base(peer).ok_or_else(|| {
            let size = self.size();
            WorldError::Argument(match peer < size {
                true if self.gpu().is_some() => {
                    format!("the memory of rank {peer} is a GPU's, which the host cannot access")
                }
                true => format!("rank {peer} cannot be reached by load and store; use put and get"),
                false => format!("there is no rank {peer} in a world of {size}"),
            })
        })
    }

    /// Where the symmetric memory is, if it is a GPU's, and how kernels of this rank are launched there.
    #[must_use]
    pub fn gpu(&self) -> Option<&GpuRank> {
        self.0.engine.gpu()
    }

    /// Waits until all ranks have come here with a kernel that they launch for the first time, and whose programs wait for
    /// other ranks. Code is loaded when no kernel runs, so all must have loaded theirs before one begins to wait.
    /// Collective over the world.
    pub fn meet_before_first_launch(&self) -> Result<(), WorldError> {
        self.0.world.exchange(Call::FirstLaunch, &[]).map(drop)
    }

    /// The address of a rank's segment, as kernels of this rank see it.
    pub fn address_of(&self, peer: usize) -> Result<usize, WorldError> {
        match self.gpu().filter(|_| peer < self.size()) {
            Some(gpu) => Ok(gpu.address(peer) as usize),
            None => Ok(self.base(peer)?.as_ptr().addr()),
        }
    }

    /// The way to the segments that load and store do not reach; `None` where they reach all.
    #[must_use]
    pub fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.0.engine.transport()
    }

    /// Writes bytes of a peer's segment; they are there when this returns.
    pub(crate) fn write_segment(&self, peer: usize, offset: usize, bytes: &[u8]) -> Result<(), WorldError> {
        if let Some(gpu) = self.gpu().filter(|_| peer < self.size()) {
            self.settle()?;
            return gpu.write(peer, offset, bytes);
        }
        match (self.base(peer), self.distant(peer)) {
            (Ok(base), _) => {
                // SAFETY: who calls has checked that the range lies in the segment, which stays mapped as long as the
                // rank. All of Rust's accesses to symmetric memory go through `copy` or atomics.
                unsafe { copy(bytes.as_ptr(), base.as_ptr().wrapping_add(offset), bytes.len()) };
                Ok(())
            }
            (Err(_), Some((transport, rank))) => {
                // SAFETY: a slice can be read.
                unsafe { transport.put(rank, offset, bytes.as_ptr(), bytes.len()) };
                transport.quiet();
                Ok(())
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Reads bytes of a peer's segment.
    pub(crate) fn read_segment(&self, peer: usize, offset: usize, bytes: &mut [u8]) -> Result<(), WorldError> {
        if let Some(gpu) = self.gpu().filter(|_| peer < self.size()) {
            self.settle()?;
            return gpu.read(peer, offset, bytes);
        }
        match (self.base(peer), self.distant(peer)) {
            (Ok(base), _) => {
                // SAFETY: see `write_segment`; the slice is the caller's.
                unsafe { copy(base.as_ptr().wrapping_add(offset), bytes.as_mut_ptr(), bytes.len()) };
                Ok(())
            }
            (Err(_), Some((transport, rank))) => {
                // SAFETY: a unique slice can be written.
                unsafe { transport.get(rank, offset, bytes.as_mut_ptr(), bytes.len()) };
                Ok(())
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The way to a rank that load and store do not reach.
    pub(crate) fn distant(&self, peer: usize) -> Option<(Arc<dyn Transport>, u32)> {
        let is_distant = peer < self.size() && self.0.engine.base(peer).is_none();
        let transport = self.transport().filter(|_| is_distant)?;
        Some((transport, u32::try_from(peer).expect("a rank")))
    }

    /// The place in a peer's segment that corresponds to an address in this rank's.
    pub fn symm_at(&self, address: usize, peer: usize) -> Result<usize, WorldError> {
        let base = self.address_of(self.rank())?;
        match address.checked_sub(base).filter(|&offset| offset < self.segment_bytes()) {
            Some(offset) => Ok(self.address_of(peer)? + offset),
            None => {
                let rank = self.rank();
                Err(WorldError::Argument(format!(
                    "address {address:#x} does not lie in the symmetric heap of rank {rank}"
                )))
            }
        }
    }

    /// On whose behalf kernels are launched, so that a launch that waits for another rank's knows whether anybody is left
    /// to end its wait. `None` outside of [`World::run`](crate::World::run), and where the other ranks are elsewhere.
    #[must_use]
    pub fn launch_member(&self) -> Option<GroupMember> {
        self.member().clone()
    }

    /// This thread acts for the rank, until the result is dropped. The thread of the rank does without; others that do
    /// something for the rank say so, so that nobody takes those who wait for it to wait in vain. `None` outside of
    /// [`World::run`](crate::World::run), and where the other ranks are elsewhere.
    #[must_use]
    pub fn act(&self) -> Option<Acting> {
        self.member().as_ref().map(GroupMember::act)
    }

    /// An error if the world has failed. For code that runs long without waiting for others. Where a rank is still finding
    /// out who is at fault, this waits for it, for 0.8 s at most.
    pub fn check(&self) -> Result<(), WorldError> {
        match self.failure() {
            None => Ok(()),
            Some(failure) => Err(giving_up::ended(self.access(), None, failure)),
        }
    }

    /// The same for code that waits for a word of its own memory, such as `the word at 0x7f00 == 1`, by looking at it.
    pub fn check_waiting(&self, condition: String) -> Result<(), WorldError> {
        match self.failure() {
            None => Ok(()),
            Some(failure) => Err(giving_up::ended(self.access(), Some(Awaited::Word { condition }), failure)),
        }
    }

    /// Whether the world has failed. This waits for nothing.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failure().is_some()
    }

    /// Ends the world with a reason that all ranks report. Returns what ended it, if that was something earlier.
    pub fn fail(&self, reason: &str) -> Failure {
        let reason = format!("{} failed: {reason}", self.name());
        self.end_world(Failure { rank: self.rank(), reason })
    }

    /// Ends the world because another rank does not do what all others do; what that is, the reason tells. If the error was
    /// one of a larger world, this rank is the one that fails.
    pub fn blame(&self, rank: usize, reason: &str) -> Failure {
        if rank >= self.size() {
            return self.fail(reason);
        }
        let reason = format!("{} differs from the others: {reason}", self.0.engine.name(rank));
        self.end_world(Failure { rank, reason })
    }

    /// A new stream.
    pub fn stream(&self) -> Result<Stream, WorldError> {
        Stream::new(self)
    }

    /// How messages call it: `rank 3 (pid 4711)`.
    pub(crate) fn name(&self) -> String {
        self.0.engine.name(self.rank())
    }

    /// Its access to the world.
    pub(crate) fn access(&self) -> &dyn Engine {
        &*self.0.engine
    }

    pub(crate) fn end_world(&self, failure: Failure) -> Failure {
        self.0.engine.fail(failure.clone(), Certainty::Known).err().unwrap_or(failure)
    }

    /// What ended the world, if something did.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.engine.failure()
    }

    pub(crate) fn enter(&self) {
        // What is left of a thread that panicked goes first.
        *self.member() = None;
        drop(self.take_left_error());
        *self.member() = self.group().map(|group| group.join(self.rank()));
        self.0.engine.enter();
    }

    /// This rank is done: ranks that wait for it from now on get an error that says so. [`World::run`](crate::World::run)
    /// and dropping a world do this by themselves; a process that ends without either calls it.
    pub fn leave(&self) {
        self.0.engine.leave();
        *self.member() = None;
    }

    /// Who waits, where all ranks are threads of this process.
    pub(crate) fn group(&self) -> Option<&LaunchGroup> {
        self.0.launches.as_ref()
    }

    /// An error that nobody is there to hear, unless there is one.
    pub(crate) fn leave_error(&self, error: WorldError) {
        self.left_error().get_or_insert(error);
    }

    /// What ended a stream that was dropped, if nobody has heard of it. [`World::run`](crate::World::run) returns it; whoever
    /// runs ranks without that asks for it.
    #[must_use]
    pub fn take_left_error(&self) -> Option<WorldError> {
        self.left_error().take()
    }

    pub(crate) fn note_giving_up(&self) {
        self.0.gives_up.store(true, Ordering::Release);
    }

    /// Whether a thread of this rank has given up a wait, and ends the world or has found it ended.
    pub(crate) fn gives_up(&self) -> bool {
        self.0.gives_up.load(Ordering::Acquire)
    }

    /// Work of a stream, until it is done.
    pub(crate) fn stream_actor(&self) -> Option<Actor> {
        self.group().map(|group| group.actor(self.rank()))
    }

    /// This thread does the work of a stream.
    pub(crate) fn lend_thread(&self) -> Option<Acting> {
        self.group().map(|group| group.lend_thread(self.rank()))
    }

    pub(crate) fn free_block(&self, offset: usize) -> Result<(), WorldError> {
        self.0.heap.free(&self.0.world, offset)
    }

    pub(crate) fn drop_block(&self, offset: usize) {
        self.0.heap.drop_block(offset);
    }

    fn mesh(&self) -> std::sync::MutexGuard<'_, Vec<AxisPosition>> {
        self.0.mesh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn member(&self) -> std::sync::MutexGuard<'_, Option<GroupMember>> {
        self.0.member.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left_error(&self) -> std::sync::MutexGuard<'_, Option<WorldError>> {
        self.0.left_error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
