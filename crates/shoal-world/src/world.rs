//! Worlds: where they come from, and running a function on their ranks.

use std::error::Error;
use std::sync::{Arc, mpsc};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use shoal_driver::LaunchGroup;
use shoal_driver::cuda::CudaDevice;

use crate::engine::processes::membership::Membership;
use crate::engine::{Engine, EngineKind, cuda, cuda_processes, nvshmem, openshmem, processes, threads};
use crate::environment::Variables;
use crate::error::{WorldError, listed_names};
use crate::giving_up;
use crate::options::WorldOptions;
use crate::rank::Rank;
use crate::wait_report::WaitReport;
use crate::world_device::WorldDevice;

/// The most ranks that share a GPU: it has so many queues that do not wait for each other.
const MOST_ON_A_GPU: usize = 32;

/// How long ranks have to end after the world has failed, before that is told.
const GRACE: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Ranks that reach each other's memory.
///
/// ```
/// use shoal_world::World;
///
/// let sums = World::threads(4)?.run(|rank| {
///     let x = rank.symm_zeros::<u32>(1)?;
///     x.write(&[rank.rank() as u32 + 1])?;
///     rank.barrier()?;
///     let mut sum = 0;
///     for peer in 0..rank.size() {
///         sum += x.read_from(peer, ..)?[0];
///     }
///     Ok::<_, shoal_world::WorldError>(sum)
/// })?;
/// assert_eq!(sums, [10, 10, 10, 10]);
/// # Ok::<(), shoal_world::WorldError>(())
/// ```
#[derive(Debug)]
pub struct World {
    /// The ranks that this process runs: all of them, or one.
    ranks: Vec<Rank>,
}

impl World {
    /// A world of `n` ranks that are threads of this process.
    pub fn threads(n: usize) -> Result<World, WorldError> {
        World::threads_with(n, &WorldOptions::from_env()?)
    }

    /// A world of `n` ranks that are threads of this process, with settings.
    pub fn threads_with(n: usize, options: &WorldOptions) -> Result<World, WorldError> {
        options.check()?;
        check_number_of_ranks(n)?;
        let group = LaunchGroup::new(options.timeout);
        let engines = threads::start(options, n, Some(&group))?;
        let rank = |engine| Rank::new(Arc::new(engine), options, Some(group.clone()));
        Ok(World { ranks: engines.into_iter().map(rank).collect() })
    }

    /// A world of `n` ranks that are threads of this process and share GPU number `ordinal`.
    pub fn cuda(n: usize, ordinal: u32) -> Result<World, WorldError> {
        World::cuda_with(n, ordinal, &WorldOptions::from_env()?)
    }

    /// A world of ranks that share a GPU, with settings.
    pub fn cuda_with(n: usize, ordinal: u32, options: &WorldOptions) -> Result<World, WorldError> {
        options.check()?;
        check_number_of_ranks(n)?;
        if n > MOST_ON_A_GPU {
            let text =
                format!("a world of {n} ranks on one GPU, which runs the work of {MOST_ON_A_GPU} at a time at most");
            return Err(WorldError::Setup(text));
        }
        let device = CudaDevice::new(ordinal).map_err(WorldError::gpu)?;
        let engines = cuda::start(options, n, device)?;
        Ok(World { ranks: engines.into_iter().map(|engine| Rank::new(Arc::new(engine), options, None)).collect() })
    }

    /// The world that this process was started for, by `shoal launch`, `torchrun` or `oshrun`: it is one rank of it.
    /// Returns when all ranks have come.
    ///
    /// Under `oshrun` the engine is `openshmem`, elsewhere `processes`; `SHOAL_ENGINE` chooses one by its name. Symmetric
    /// memory is the host's, or with `SHOAL_DEVICE=cuda` that of GPUs, which the ranks have in turns; that of the engine
    /// `nvshmem` is always GPUs'.
    ///
    /// The variables are those of `torchrun`: `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`, and `LOCAL_RANK` and
    /// `LOCAL_WORLD_SIZE` where they are set. `SHOAL_TOKEN` is a secret that `shoal launch` adds; where it is set, a
    /// process without it cannot join. Only processes of the same user can in any case.
    pub fn from_env() -> Result<World, WorldError> {
        World::from_env_with(&WorldOptions::from_env()?)
    }

    /// The world that this process was started for, with settings, which must be the same on all ranks.
    pub fn from_env_with(options: &WorldOptions) -> Result<World, WorldError> {
        World::from_env_on(WorldDevice::from_env()?, options)
    }

    /// The world that this process was started for, with its symmetric memory on this device. All ranks must choose the
    /// same kind.
    pub fn from_env_on(device: WorldDevice, options: &WorldOptions) -> Result<World, WorldError> {
        options.check()?;
        let variables = Variables::of_process();
        let engine: Arc<dyn Engine> = match (openshmem::membership::engine(&variables)?, device) {
            (EngineKind::OpenShmem, WorldDevice::Cpu) => {
                Arc::new(openshmem::join(&openshmem::membership::Membership::read(&variables)?, options)?)
            }
            (EngineKind::Nvshmem, device) => {
                let ordinal = match device {
                    WorldDevice::Cpu => None,
                    WorldDevice::Cuda(ordinal) => ordinal,
                };
                Arc::new(nvshmem::join(&Membership::read(&variables)?, options, ordinal)?)
            }
            (EngineKind::OpenShmem, WorldDevice::Cuda(_)) => {
                return Err(WorldError::Setup(
                    "the engine `openshmem` has its memory on the host; ranks with GPUs have the engine `processes` or `nvshmem`"
                        .to_owned(),
                ));
            }
            (EngineKind::Processes | EngineKind::Threads | EngineKind::Cuda, WorldDevice::Cpu) => {
                Arc::new(processes::join(&Membership::read(&variables)?, options)?)
            }
            (EngineKind::Processes | EngineKind::Threads | EngineKind::Cuda, WorldDevice::Cuda(ordinal)) => {
                Arc::new(cuda_processes::join(&Membership::read(&variables)?, options, ordinal)?)
            }
        };
        Ok(World { ranks: vec![Rank::new(engine, options, None)] })
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.ranks[0].size()
    }

    /// How the ranks reach each other.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.ranks[0].engine()
    }

    /// The ranks that this process runs: all of them for `threads` and `cuda`, one for the others.
    #[must_use]
    pub fn local_ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// Runs a function on each rank of this process, and returns its results in the order of the ranks.
    ///
    /// When one fails, panics or dies, the others get an error from whatever they wait for, and so does the caller: that
    /// of the rank which failed first.
    pub fn run<T, E>(&self, function: impl Fn(&Rank) -> Result<T, E> + Sync) -> Result<Vec<T>, WorldError>
    where
        T: Send,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.ranks[0].check()?;
        match self.engine() {
            EngineKind::Threads | EngineKind::Cuda => self.run_threads(&function),
            EngineKind::Processes | EngineKind::OpenShmem | EngineKind::Nvshmem => {
                Ok(vec![run_one(&self.ranks[0], &function)?])
            }
        }
    }

    fn run_threads<T, E>(&self, function: &(impl Fn(&Rank) -> Result<T, E> + Sync)) -> Result<Vec<T>, WorldError>
    where
        T: Send,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        for rank in &self.ranks {
            rank.enter();
        }
        let results: Vec<Result<T, WorldError>> = std::thread::scope(|scope| {
            let mut started = Vec::new();
            let (alive, ends) = mpsc::channel::<()>();
            for rank in &self.ranks {
                let (name, alive) = (format!("rank {}", rank.rank()), alive.clone());
                let thread = std::thread::Builder::new().name(name).spawn_scoped(scope, move || {
                    let acting = rank.act();
                    let result = run_one(rank, function);
                    drop((acting, alive));
                    rank.leave();
                    result
                });
                if let Err(reason) = &thread {
                    rank.fail(&format!("cannot start its thread: {reason}"));
                }
                started.push(thread);
            }
            drop(alive);
            self.tell_who_does_not_end(&ends, &started);
            let results = self.ranks.iter().zip(started).map(|(rank, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| {
                    let message = panic_message(&*panic);
                    Err(WorldError::Panicked { rank: rank.rank(), message, others: Vec::new() })
                }),
                Err(source) => {
                    Err(WorldError::System { doing: format!("start the thread of rank {}", rank.rank()), source })
                }
            });
            results.collect()
        });
        self.first_cause(results)
    }

    /// Returns when all threads have ended. A world that has failed can end no sooner than its last rank, whatever that does:
    /// whoever waits for it hears why.
    fn tell_who_does_not_end<T>(
        &self,
        ends: &mpsc::Receiver<()>,
        started: &[std::io::Result<ScopedJoinHandle<'_, T>>],
    ) {
        let mut failed_since = None;
        while ends.recv_timeout(BETWEEN_LOOKS) == Err(mpsc::RecvTimeoutError::Timeout) {
            let Some(failure) = self.ranks[0].failure() else { continue };
            let since: &Instant = failed_since.get_or_insert_with(Instant::now);
            if since.elapsed() < GRACE {
                continue;
            }
            let runs = |thread: &&_| matches!(thread, Ok(thread) if !ScopedJoinHandle::is_finished(thread));
            let running =
                self.ranks.iter().zip(started).filter(|(_, thread)| runs(thread)).map(|(rank, _)| rank.name());
            let running: Vec<String> = running.collect();
            eprintln!("the world has failed, and waits for the end of {}: {failure}", listed_names(&running));
            return;
        }
    }

    /// What the ranks waited for when the world failed, those at fault first; empty if it has not, or none did. All is told
    /// once the ranks have ended.
    #[must_use]
    pub fn waits(&self) -> Vec<WaitReport> {
        giving_up::told_by_all(self.ranks[0].access())
    }

    /// All results, or the error of the rank that failed first, or else one that tells of the other ranks.
    fn first_cause<T>(&self, results: Vec<Result<T, WorldError>>) -> Result<Vec<T>, WorldError> {
        let culprit = self.ranks[0].failure().map(|failure| failure.rank);
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for (rank, result) in results.into_iter().enumerate() {
            match result {
                Ok(value) => good.push(value),
                Err(error) => {
                    let tells = matches!(&error, WorldError::Failed { others, .. } if !others.is_empty());
                    bad.push((culprit != Some(rank), !tells, error));
                }
            }
        }
        let best = bad.into_iter().min_by_key(|&(innocent, silent, _)| (innocent, silent));
        best.map_or(Ok(good), |(.., error)| Err(self.with_waits(error)))
    }

    /// The error with what kernels of the other ranks waited for, as far as it does not tell that itself: nobody else
    /// hears of their errors.
    fn with_waits(&self, mut error: WorldError) -> WorldError {
        let text = error.to_string();
        if let WorldError::Rank { rank, others, .. }
        | WorldError::Failed { rank, others, .. }
        | WorldError::Panicked { rank, others, .. } = &mut error
        {
            let waits = self.ranks.iter().filter(|other| other.rank() != *rank).filter_map(Rank::waited_in_kernel);
            others.extend(waits.filter(|wait| !text.contains(&wait.to_string())));
        }
        error
    }
}

fn check_number_of_ranks(n: usize) -> Result<(), WorldError> {
    match u32::try_from(n) {
        Ok(1..) => Ok(()),
        Ok(0) => Err(WorldError::Setup("a world of 0 ranks; it needs at least one".to_owned())),
        Err(_) => Err(WorldError::Setup(format!("a world of {n} ranks; it has {} at most", u32::MAX))),
    }
}

/// Runs the function of one rank; a failure of it is told to the others.
fn run_one<T, E>(rank: &Rank, function: &impl Fn(&Rank) -> Result<T, E>) -> Result<T, WorldError>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    /// Tells the others of a panic.
    struct Guard<'a>(&'a Rank);

    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.fail("it panicked");
            }
        }
    }

    let guard = Guard(rank);
    let result = function(rank).map_err(Into::into).and_then(|value| {
        // What a rank has launched on a GPU ends before the rank does.
        rank.settle()?;
        // What streams that it has dropped came to is its affair, too.
        rank.take_left_error().map_or(Ok(value), |error| Err(error.into()))
    });
    let result = result.map_err(|error: Box<dyn Error + Send + Sync>| {
        match error.downcast_ref::<WorldError>().and_then(WorldError::odd_one) {
            Some(odd) => rank.blame(odd, &error.to_string()),
            None => rank.fail(&error.to_string()),
        };
        // An error of the world tells its rank itself.
        match error.downcast::<WorldError>() {
            Ok(error) => match *error {
                error @ WorldError::Failed { .. } => error,
                error => WorldError::Rank { rank: rank.rank(), source: Box::new(error), others: Vec::new() },
            },
            Err(source) => WorldError::Rank { rank: rank.rank(), source, others: Vec::new() },
        }
    });
    drop(guard);
    result
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}
