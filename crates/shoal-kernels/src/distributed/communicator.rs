//! A rank with the library's kernels and the pads by which their programs meet.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use shoal::profile::{Track, clock_ahead, now};
use shoal::world::{CallLog, Rank, SameCall, SignalPad, Symm, WorldError};
use shoal::{Args, Error, Kernel, args, dtype_name};

use super::catalog::catalog;
use super::data::Number;
use super::profiling::Profiling;
use crate::library::{Library, Source, cdiv};

/// What a rank launches collective kernels with. All ranks make theirs together, and use it for the same launches in the
/// same order. The kernels use the rank's signal pad from its first slot on, so of all that uses the pad only one may
/// run at a time.
#[derive(Debug)]
pub struct Communicator<'a> {
    library: &'a Library,
    rank: Rank,
    pad: SignalPad,
    programs: usize,
    kernels: Mutex<HashMap<(Source, &'static str), Kernel>>,
    stage: OnceLock<WordStage>,
    profiling: Option<Profiling>,
    /// The words by which programs meet that put and signal, and the rounds in which they have.
    signals: OnceLock<Symm<i64>>,
    rounds: AtomicI64,
    /// Launches that go over their elements forwards and backwards in turn.
    turns: AtomicI64,
    split_tables: OnceLock<Symm<i64>>,
    /// What was called, which must be the same on all ranks.
    calls: OnceLock<CallLog>,
    /// Calls whose kernels have been loaded, by their names, elements and sizes.
    loaded: Mutex<HashSet<(&'static str, &'static str, Vec<usize>)>>,
}

/// Rounds that a launch of puts takes at most.
const ROUNDS: i64 = 4;

/// Which slots of the pad a kernel uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slots {
    /// Those by which programs meet.
    Meeting,
    /// As many again.
    MeetingAndSteps,
    /// None: its programs wait for nobody, or meet elsewhere.
    Nothing,
}

/// Where little is exchanged without a meeting, in one step or in two; see `one_shot_all_reduce_words` in `all_reduce.py`.
#[derive(Debug)]
pub(crate) struct WordStage {
    pub(crate) one_shot: Words,
    pub(crate) two_shot: Words,
}

/// Words, and the numbers of the launches that have used them.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) stage: Symm<u64>,
    pub(crate) launches: Symm<i64>,
}

impl WordStage {
    /// Threads of a program.
    pub(crate) const THREADS: usize = 256;
    /// Words of 32 bits that a thread exchanges in one step.
    pub(crate) const ROUNDS: usize = 1;
    /// Words of 32 bits at most.
    pub(crate) const MOST: usize = 1 << 14;

    fn new(rank: &Rank) -> Result<WordStage, Error> {
        let world = rank.size();
        let words = |programs: usize, words: usize| {
            Ok::<_, Error>(Words { stage: rank.symm_zeros(programs * words)?, launches: rank.symm_zeros(programs)? })
        };
        let room = WordStage::THREADS * WordStage::ROUNDS;
        Ok(WordStage {
            one_shot: words(cdiv(WordStage::MOST, room), 2 * world * room)?,
            two_shot: words(cdiv(WordStage::MOST, WordStage::THREADS * world), 4 * world * WordStage::THREADS)?,
        })
    }
}

impl<'a> Communicator<'a> {
    /// As many programs as the device runs at once, shared among the ranks, and at least one. Collective over the world.
    ///
    /// # Errors
    /// When the device does not start, the pads are too small, or the world fails.
    pub fn new(library: &'a Library, rank: &Rank) -> Result<Communicator<'a>, Error> {
        let sharers = rank.gpu().map_or(rank.size(), |gpu| gpu.sharers());
        let mine = (library.device().programs_at_once()? / sharers).max(1) as u64;
        let all = rank.world().all_gather(&mine.to_le_bytes())?;
        let number = |bytes: &Vec<u8>| <[u8; 8]>::try_from(bytes.as_slice()).map_or(1, u64::from_le_bytes);
        let least = all.iter().map(number).min().unwrap_or(1);
        Communicator::with_programs(library, rank, usize::try_from(least).unwrap_or(1))
    }

    /// At most so many programs on each rank; all ranks must say the same.
    ///
    /// # Errors
    /// When the pads have no slots for so many, or there are none.
    pub fn with_programs(library: &'a Library, rank: &Rank, programs: usize) -> Result<Communicator<'a>, Error> {
        if programs == 0 {
            return Err(WorldError::Argument("a communicator needs at least one program".to_owned()).into());
        }
        let pad = rank.signal_pad();
        pad.check(programs, rank.size())?;
        Ok(Communicator {
            library,
            rank: rank.clone(),
            pad,
            programs,
            kernels: Mutex::default(),
            stage: OnceLock::new(),
            profiling: None,
            signals: OnceLock::new(),
            rounds: AtomicI64::new(0),
            turns: AtomicI64::new(0),
            split_tables: OnceLock::new(),
            calls: OnceLock::new(),
            loaded: Mutex::default(),
        })
    }

    /// The rank that launches.
    #[must_use]
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.rank.size()
    }

    /// The library whose kernels are launched.
    #[must_use]
    pub fn library(&self) -> &'a Library {
        self.library
    }

    /// The pads by which programs meet.
    #[must_use]
    pub fn pad(&self) -> &SignalPad {
        &self.pad
    }

    /// From now on, records what launches do: so many records of each program for those kernels that record themselves.
    ///
    /// # Errors
    /// When the clock of the rank's GPU cannot be read.
    pub fn start_profile(&mut self, records: usize) -> Result<(), Error> {
        let ahead = if self.rank.gpu().is_some() { self.gpu_clock_ahead()? } else { 0 };
        self.profiling = Some(Profiling::new(self.programs, records, ahead));
        Ok(())
    }

    /// How far the GPU's clock is ahead of the host's.
    fn gpu_clock_ahead(&self) -> Result<i64, Error> {
        let kernel = self.kernel(Source::GemmRanks, "read_clock")?;
        let read = || {
            let mut time = vec![0u64];
            kernel.launch(1, args!(&mut time))?;
            Ok::<u64, Error>(time[0])
        };
        // The first launch compiles.
        read()?;
        clock_ahead(read)
    }

    /// What was recorded since [`Communicator::start_profile`]; nothing more is.
    pub fn take_profile(&mut self) -> Vec<Track> {
        self.profiling.take().map_or_else(Vec::new, Profiling::tracks)
    }

    /// Compares what this rank is about to call with what the others call: a function, written with names for its sizes
    /// (`broadcast(n, root)`), on elements of a type. Every collective begins with it, so that ranks that pass different sizes
    /// end with an error instead of waiting, or with wrong numbers. The first call is collective over the world. Ranks on
    /// GPUs are not compared.
    ///
    /// # Errors
    /// When another rank calls something else, which ends the world.
    pub fn agree(&self, name: &str, element: &str, sizes: &[usize]) -> Result<(), Error> {
        if self.size() == 1 || self.rank.gpu().is_some() {
            return Ok(());
        }
        let calls = match self.calls.get() {
            Some(calls) => calls,
            None => {
                let made = CallLog::new(&self.rank)?;
                self.calls.get_or_init(|| made)
            }
        };
        Ok(calls.call(&SameCall { name, element, sizes })?)
    }

    /// The same for elements of a type.
    pub(crate) fn agree_on<T: Number>(&self, name: &str, sizes: &[usize]) -> Result<(), Error> {
        self.agree(name, dtype_name(T::DTYPE), sizes)
    }

    /// Where little is exchanged. The first call is collective over the world.
    pub(crate) fn word_stage(&self) -> Result<&WordStage, Error> {
        if let Some(stage) = self.stage.get() {
            return Ok(stage);
        }
        let made = WordStage::new(&self.rank)?;
        Ok(self.stage.get_or_init(|| made))
    }

    /// Where kernels and streams record; `None` if nothing is recorded.
    pub(crate) fn profiling(&self) -> Option<&Profiling> {
        self.profiling.as_ref()
    }

    /// How many programs share `blocks` blocks of work.
    pub(crate) fn programs(&self, blocks: usize) -> usize {
        blocks.clamp(1, self.programs)
    }

    /// Launches a kernel on this rank.
    pub(crate) fn launch(
        &self,
        source: Source,
        name: &'static str,
        programs: usize,
        slots: Slots,
        args: Args<'_>,
    ) -> Result<(), Error> {
        let regions = match slots {
            Slots::Meeting => 1,
            Slots::MeetingAndSteps => 2,
            Slots::Nothing => 0,
        };
        self.pad.check(programs * regions, self.size())?;
        self.check_reach(source, name)?;
        let kernel = self.kernel(source, name)?;
        let Some(profiling) = &self.profiling else { return kernel.launch(programs, args) };
        let start = now();
        let done = kernel.launch(programs, args);
        profiling.host().record(name, start);
        done
    }

    /// Whether loads and stores of this rank reach the memory of all others.
    #[must_use]
    pub fn reaches_all(&self) -> bool {
        self.rank.transport().is_none()
    }

    /// Refuses kernels that load and store other ranks' memory where that does not reach all.
    fn check_reach(&self, source: Source, name: &str) -> Result<(), Error> {
        if source.runs_between_hosts(name) || self.reaches_all() {
            return Ok(());
        }
        let far = (0..self.size()).find(|&peer| self.rank.base(peer).is_err()).unwrap_or_default();
        let there: Vec<&str> = catalog().iter().filter(|item| item.runs_between_hosts).map(|item| item.name).collect();
        Err(WorldError::Argument(format!(
            "{name} loads and stores other ranks' memory, and rank {far} cannot be reached so from rank {}; between hosts \
             there are {}",
            self.rank.rank(),
            there.join(", ")
        ))
        .into())
    }

    /// The words by which programs meet that put and signal, and the first of a launch's rounds. Allocated on the first
    /// call, which is collective over the world.
    pub(crate) fn next_rounds(&self) -> Result<(&Symm<i64>, i64), Error> {
        let words = elements(&[2, self.programs, self.size()])?;
        let signals = self.symmetric(&self.signals, words)?;
        Ok((signals, self.rounds.fetch_add(ROUNDS, Ordering::Relaxed) + 1))
    }

    /// The number of a launch that goes over its elements forwards and backwards in turn; the same on all ranks.
    pub(crate) fn next_turn(&self) -> i64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Memory for everybody's splits, for each program. Allocated on the first call, which is collective over the world.
    pub(crate) fn split_tables(&self) -> Result<&Symm<i64>, Error> {
        self.symmetric(&self.split_tables, elements(&[self.programs, self.size(), self.size()])?)
    }

    fn symmetric<'b>(&self, place: &'b OnceLock<Symm<i64>>, words: usize) -> Result<&'b Symm<i64>, Error> {
        match place.get() {
            Some(known) => Ok(known),
            None => {
                let made = self.rank.symm_zeros(words)?;
                Ok(place.get_or_init(|| made))
            }
        }
    }

    /// Compiles and loads the kernels of a call, on all ranks, before one goes on, unless such a call was made before: on a
    /// GPU code is loaded when nothing waits there, neither kernels nor streams, so also what is launched behind a meeting
    /// is loaded ahead of it. Collective over the world, whose ranks [agree](Communicator::agree_on) on the call.
    pub(crate) fn load_for<T: Number>(
        &self,
        call: &'static str,
        sizes: &[usize],
        kernels: &[(Source, &'static str, &Args<'_>)],
    ) -> Result<(), Error> {
        let key = (call, dtype_name(T::DTYPE), sizes.to_vec());
        if self.loaded.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return Ok(());
        }
        for &(source, name, args) in kernels {
            self.kernel(source, name)?.warm_up(args)?;
        }
        self.rank.barrier()?;
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        Ok(())
    }

    fn kernel(&self, source: Source, name: &'static str) -> Result<Kernel, Error> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&(source, name)) {
            return Ok(kernel.clone());
        }
        let kernel = self.library.kernel(source, name)?.on_rank(&self.rank)?;
        kernels.insert((source, name), kernel.clone());
        Ok(kernel)
    }
}

/// Refuses a buffer that has not exactly the elements that are needed.
pub(crate) fn exactly(what: &str, has: usize, needs: usize) -> Result<(), Error> {
    if has == needs {
        return Ok(());
    }
    Err(WorldError::Argument(format!("`{what}` has {has} elements, but needs {needs}")).into())
}

/// Refuses a buffer that has fewer elements than are needed.
pub(crate) fn at_least(what: &str, has: usize, needs: usize) -> Result<(), Error> {
    if has >= needs {
        return Ok(());
    }
    Err(WorldError::Argument(format!("`{what}` has {has} elements, but needs at least {needs}")).into())
}

/// A product of sizes; an error where no memory is so large.
pub(crate) fn elements(sizes: &[usize]) -> Result<usize, Error> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.ok_or_else(|| Error::TooLarge { shape: sizes.to_vec() })
}
