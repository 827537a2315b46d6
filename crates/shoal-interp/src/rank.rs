//! Ranks: a kernel on each member of a world, all scheduled together.

use std::time::Instant;

use shoal_ir::Module;
use shoal_ir::abi::Topology;
use shoal_ir::abi::team::sync_words;
use shoal_ir::effects::CallEffects;

use crate::error::Error;
use crate::launch::{ATTENTION, Arg, Host, Options, check};
use crate::memory::{Address, Memory};
use crate::plan::{FuncPlan, Plan};
use crate::program::Machine;
use crate::schedule;
use crate::value::Val;

/// A rank's symmetric heap. All heaps of a world have one size.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Heap {
    /// Where it starts.
    pub base: Address,
    /// Its size.
    pub bytes: u64,
}

/// The launch of a kernel on one rank.
#[derive(Copy, Clone, Debug)]
pub struct RankLaunch<'a> {
    /// The module of the kernel.
    pub module: &'a Module,
    /// Its name.
    pub kernel: &'a str,
    /// The grid on this rank.
    pub grid: [u32; 3],
    /// The arguments on this rank.
    pub args: &'a [Arg],
    /// The rank's heap; `None` if the launch belongs to no world.
    pub heap: Option<Heap>,
}

/// A rank's launch, prepared.
pub(crate) struct RankPlan<'p> {
    pub(crate) number: u32,
    pub(crate) plan: &'p Plan<'p>,
    pub(crate) kernel: &'p FuncPlan<'p>,
    pub(crate) args: Vec<Val>,
    pub(crate) grid: [u32; 3],
    pub(crate) heap: Option<Heap>,
    pub(crate) topology: Topology,
    /// Where the words are in which its teams meet.
    pub(crate) sync_words: u64,
    /// How many of its programs are started before one has to finish.
    pub(crate) resident: usize,
}

/// Runs the launches of all ranks of a world, the first of which is rank 0, to the end of all their programs. Gives the
/// number of operations executed.
///
/// # Errors
/// As [`Error`] says. Memory then holds whatever was written up to there.
pub fn run_ranks(
    launches: &[RankLaunch<'_>],
    memory: &mut Memory,
    options: &Options,
    host: &mut dyn Host,
) -> Result<u64, Error> {
    let plans: Vec<Plan<'_>> = launches.iter().map(|launch| Plan::new(launch.module)).collect();
    let words = SyncWords::allocate(launches, memory);
    let result = run_planned(launches, &plans, memory, options, host, &words);
    words.free(memory);
    result
}

fn run_planned(
    launches: &[RankLaunch<'_>],
    plans: &[Plan<'_>],
    memory: &mut Memory,
    options: &Options,
    host: &mut dyn Host,
    words: &SyncWords,
) -> Result<u64, Error> {
    let mut ranks = Vec::new();
    for (number, (launch, plan)) in launches.iter().zip(plans).enumerate() {
        let (number, size) = (number as u32, launches.len() as u32);
        let topology = options.topologies.get(number as usize).cloned().unwrap_or_else(|| Topology::new(number, size));
        if (topology.rank(), topology.size()) != (number, size) {
            let message = format!("the topology of rank {number} of {size} is about another rank");
            return Err(Error::Arguments { message });
        }
        ranks.push(prepare(launch, plan, options, topology, words.of(number))?);
    }
    let next_look = Instant::now() + ATTENTION;
    let mut machine = Machine { ranks: &ranks, memory, host, steps: 0, max_steps: options.max_steps, next_look };
    schedule::run(&mut machine, options.order)?;
    Ok(machine.steps)
}

/// The words in which teams meet: of each rank's own, as far as there is a world.
struct SyncWords(Vec<Address>);

impl SyncWords {
    fn allocate(launches: &[RankLaunch<'_>], memory: &mut Memory) -> SyncWords {
        let world = launches.len() > 1 && launches.iter().all(|launch| launch.heap.is_some());
        let words = |rank: usize| {
            let words = memory.alloc(sync_words::BYTES);
            memory.name(words, format!("the words in which teams of rank {rank} meet"));
            words
        };
        SyncWords(if world { (0..launches.len()).map(words).collect() } else { Vec::new() })
    }

    fn of(&self, rank: u32) -> u64 {
        self.0.get(rank as usize).map_or(0, |words| words.0)
    }

    fn free(self, memory: &mut Memory) {
        self.0.into_iter().for_each(|words| memory.free(words));
    }
}

fn prepare<'p>(
    launch: &RankLaunch<'_>,
    plan: &'p Plan<'p>,
    options: &Options,
    topology: Topology,
    sync_words: u64,
) -> Result<RankPlan<'p>, Error> {
    let kernel = plan.kernel(launch.kernel).ok_or_else(|| Error::NoKernel { name: launch.kernel.into() })?;
    let args = check(kernel, launch.args)?;
    let effects = CallEffects::of_module(launch.module).of_func(launch.kernel);
    let meet = effects.waits || effects.order.is_some();
    let resident = if meet { options.resident.max(1) } else { 1 };
    let number = topology.rank();
    Ok(RankPlan { number, plan, kernel, args, grid: launch.grid, heap: launch.heap, topology, sync_words, resident })
}
