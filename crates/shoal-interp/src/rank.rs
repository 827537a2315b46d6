//! Ranks: what the host of each member of a world does, all scheduled together.

use std::time::Instant;

use shoal_ir::abi::Topology;
use shoal_ir::abi::team::sync_words;
use shoal_ir::effects::CallEffects;
use shoal_ir::{Module, Span};

use crate::check::Checker;
use crate::error::Error;
use crate::launch::{Actors, Arg, HOST_POLL_INTERVAL, Host, Options, check};
use crate::machine::Machine;
use crate::memory::{Address, Memory};
use crate::pick::Picker;
use crate::plan::{FuncPlan, Plan};
use crate::schedule::{self, HostQueue, Task};
use crate::stream::{StreamAction, StreamTask};
use crate::time::Time;
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
    /// How many of its programs a device holds at once, where that is known and less than [`Options::resident`].
    pub room: Option<usize>,
}

/// What the host of a rank does, one after the other.
#[derive(Clone, Debug)]
pub enum HostAction<'a> {
    /// Puts the launch of a kernel into stream 0. The rank's heap is the world's, whatever the launch says.
    Launch(RankLaunch<'a>),
    /// Puts something into a stream; where the source says so.
    On(u32, StreamAction<'a>, Span),
    /// Waits until all that is in a stream is done.
    Synchronize(u32),
    /// Waits for stream 0, and meets the hosts of all other ranks.
    Barrier,
    /// Waits for stream 0, and copies bytes to memory.
    Write {
        /// Where to.
        address: Address,
        /// What.
        bytes: &'a [u8],
        /// Where the source says so.
        span: Span,
    },
    /// Waits for stream 0, and copies bytes from memory.
    Read {
        /// Where from.
        address: Address,
        /// How many.
        bytes: u64,
        /// Where the source says so.
        span: Span,
    },
}

/// A rank's launch, prepared.
pub(crate) struct RankPlan<'p> {
    pub(crate) number: u32,
    /// Which launch of its rank it is, from 0.
    pub(crate) launch: u32,
    pub(crate) plan: &'p Plan<'p>,
    pub(crate) kernel: &'p FuncPlan<'p>,
    pub(crate) args: Vec<Val>,
    pub(crate) grid: [u32; 3],
    pub(crate) in_world: bool,
    /// How many of its programs a device holds at once, if that is known.
    pub(crate) room: Option<usize>,
    pub(crate) topology: Topology,
    /// Its programs take turns; those of others run one after another.
    pub(crate) takes_turns: bool,
    /// It has code for single threads.
    pub(crate) has_lanes: bool,
}

impl RankPlan<'_> {
    /// The lanes of a program.
    pub(crate) fn lanes(&self) -> u32 {
        self.kernel.func.gpu.num_warps * shoal_ir::shmem::WARP_LANES
    }
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
    let heaps: Vec<Heap> = launches.iter().filter_map(|launch| launch.heap).collect();
    let queues: Vec<Vec<HostAction<'_>>> = launches.iter().map(|&launch| vec![HostAction::Launch(launch)]).collect();
    run_alone(0, &heaps, &queues, memory, options, host)
}

/// Runs a launch of one rank of a world, whose other ranks run elsewhere. `heaps` are those of all ranks. Gives the number
/// of operations executed.
///
/// # Errors
/// As [`run_ranks`].
pub fn run_rank(
    rank: u32,
    heaps: &[Heap],
    launch: RankLaunch<'_>,
    memory: &mut Memory,
    options: &Options,
    host: &mut dyn Host,
) -> Result<u64, Error> {
    let launch = RankLaunch { heap: heaps.get(rank as usize).copied(), ..launch };
    run_alone(rank, heaps, &[vec![HostAction::Launch(launch)]], memory, options, host)
}

fn run_alone(
    first_rank: u32,
    heaps: &[Heap],
    queues: &[Vec<HostAction<'_>>],
    memory: &mut Memory,
    options: &Options,
    host: &mut dyn Host,
) -> Result<u64, Error> {
    let plans = Plans::new(queues);
    let world = WorldPlan::new(&plans, first_rank, heaps, queues, options)?;
    world.run(memory, options, &mut Picker::new(options.order), host, None)
}

/// The modules of all launches, each prepared once.
pub(crate) struct Plans<'a>(Vec<(&'a Module, Plan<'a>)>);

impl<'a> Plans<'a> {
    pub(crate) fn new(queues: &'a [Vec<HostAction<'a>>]) -> Plans<'a> {
        let mut plans = Plans(Vec::new());
        for launch in queues.iter().flatten().filter_map(launch_of) {
            if plans.of(launch.module).is_none() {
                plans.0.push((launch.module, Plan::new(launch.module)));
            }
        }
        plans
    }

    fn of(&self, module: &Module) -> Option<&Plan<'a>> {
        self.0.iter().find(|(known, _)| std::ptr::eq(*known, module)).map(|(_, plan)| plan)
    }
}

/// Everything that happens in a world, prepared: what each rank's host does.
pub(crate) struct WorldPlan<'p> {
    heaps: &'p [Heap],
    first_rank: u32,
    queues: &'p [Vec<HostAction<'p>>],
    /// The launches of each queue.
    launches: Vec<Vec<RankPlan<'p>>>,
}

impl<'p> WorldPlan<'p> {
    /// `heaps` are those of all ranks, none outside of a world; the first queue is that of rank `first_rank`.
    pub(crate) fn new(
        plans: &'p Plans<'p>,
        first_rank: u32,
        heaps: &'p [Heap],
        queues: &'p [Vec<HostAction<'p>>],
        options: &Options,
    ) -> Result<WorldPlan<'p>, Error> {
        let mut launches = Vec::new();
        let size = heaps.len().max(1) as u32;
        for (number, queue) in (first_rank..).zip(queues) {
            let topology = options.topologies.iter().find(|topology| topology.rank() == number);
            let topology = topology.cloned().unwrap_or_else(|| Topology::new(number, size.max(number + 1)));
            let mut prepared = Vec::new();
            for launch in queue.iter().filter_map(launch_of) {
                let Some(plan) = plans.of(launch.module) else { continue };
                let place = (number, prepared.len() as u32);
                prepared.push(prepare(place, launch, plan, options.actors, topology.clone())?);
            }
            launches.push(prepared);
        }
        Ok(WorldPlan { heaps, first_rank, queues, launches })
    }

    /// Gives the number of operations executed.
    pub(crate) fn run(
        &self,
        memory: &mut Memory,
        options: &Options,
        picker: &mut Picker,
        host: &mut dyn Host,
        checker: Option<&mut Checker>,
    ) -> Result<u64, Error> {
        let words = SyncWords::new(self.heaps, memory, options);
        let result = self.run_with(memory, options, picker, host, checker, &words.addresses);
        words.free(memory);
        result
    }

    fn run_with(
        &self,
        memory: &mut Memory,
        options: &Options,
        picker: &mut Picker,
        host: &mut dyn Host,
        checker: Option<&mut Checker>,
        sync_words: &[u64],
    ) -> Result<u64, Error> {
        let mut queues = Vec::new();
        let mut numbers = 0;
        for ((rank, queue), plans) in (self.first_rank..).zip(self.queues).zip(&self.launches) {
            queues.push(HostQueue::new(rank, tasks(queue, plans), &mut numbers));
        }
        let mut machine = Machine {
            heaps: self.heaps,
            sync_words,
            memory,
            host,
            checker,
            numbers,
            delivery: options.delivery,
            elements: options.elements,
            transfers: Vec::new(),
            steps: 0,
            time: Time::default(),
            max_steps: options.max_steps,
            next_look: Instant::now() + HOST_POLL_INTERVAL,
            grid_words: Vec::new(),
        };
        let outcome = schedule::run(&mut machine, queues, options, picker);
        let (steps, words) = (machine.steps, machine.grid_words);
        words.into_iter().for_each(|(_, words)| memory.free(words));
        outcome.map(|()| steps)
    }
}

fn launch_of<'a, 'b>(action: &'b HostAction<'a>) -> Option<&'b RankLaunch<'a>> {
    match action {
        HostAction::Launch(launch) | HostAction::On(_, StreamAction::Launch(launch), _) => Some(launch),
        HostAction::On(..)
        | HostAction::Synchronize(_)
        | HostAction::Barrier
        | HostAction::Write { .. }
        | HostAction::Read { .. } => None,
    }
}

fn tasks<'p>(queue: &'p [HostAction<'_>], plans: &'p [RankPlan<'p>]) -> Vec<Task<'p>> {
    let mut plans = plans.iter();
    let task = |action: &'p HostAction<'_>| match action {
        HostAction::Launch(_) => plans.next().map(|plan| Task::Enqueue(0, StreamTask::Launch(plan), Span::NONE)),
        HostAction::On(stream, action, span) => {
            let task = match action {
                StreamAction::Launch(_) => StreamTask::Launch(plans.next()?),
                StreamAction::Copy { to, from, bytes } => StreamTask::Copy { to: to.0, from: from.0, bytes: *bytes },
                StreamAction::Write { address, bytes } => StreamTask::Write { address: address.0, bytes },
                StreamAction::WriteValue { address, bytes, value } => {
                    StreamTask::WriteValue { address: address.0, bytes: *bytes, value: *value }
                }
                StreamAction::WaitValue { address, bytes, compare, value } => {
                    StreamTask::WaitValue { address: address.0, bytes: *bytes, compare: *compare, value: *value }
                }
                StreamAction::Record(event) => StreamTask::Record(*event),
                StreamAction::Wait(event) => StreamTask::Wait(*event),
            };
            Some(Task::Enqueue(*stream, task, *span))
        }
        HostAction::Synchronize(stream) => Some(Task::Synchronize(*stream)),
        HostAction::Barrier => Some(Task::Barrier),
        HostAction::Write { address, bytes, span } => Some(Task::Write { address: address.0, bytes, span: *span }),
        HostAction::Read { address, bytes, span } => {
            Some(Task::Read { address: address.0, bytes: *bytes, span: *span })
        }
    };
    queue.iter().filter_map(task).collect()
}

/// The words in which teams meet, of each rank of a world.
struct SyncWords {
    addresses: Vec<u64>,
    /// Those that only this run has.
    own: Vec<Address>,
}

impl SyncWords {
    fn new(heaps: &[Heap], memory: &mut Memory, options: &Options) -> SyncWords {
        if let Some(offset) = options.sync_words {
            return SyncWords { addresses: heaps.iter().map(|heap| heap.base.0 + offset).collect(), own: Vec::new() };
        }
        let words = |rank: usize| {
            let words = memory.alloc(sync_words::BYTES);
            memory.name(words, format!("the words in which teams of rank {rank} meet"));
            words
        };
        let own: Vec<Address> = if heaps.len() > 1 { (0..heaps.len()).map(words).collect() } else { Vec::new() };
        SyncWords { addresses: own.iter().map(|words| words.0).collect(), own }
    }

    fn free(self, memory: &mut Memory) {
        self.own.into_iter().for_each(|words| memory.free(words));
    }
}

fn prepare<'p>(
    (number, order): (u32, u32),
    launch: &RankLaunch<'_>,
    plan: &'p Plan<'p>,
    actors: Actors,
    topology: Topology,
) -> Result<RankPlan<'p>, Error> {
    let kernel = plan.kernel(launch.kernel).ok_or_else(|| Error::NoKernel { name: launch.kernel.into() })?;
    let args = check(kernel, launch.args)?;
    let effects = CallEffects::of_module(launch.module).of_func(launch.kernel);
    let takes_turns = effects.waits || effects.order.is_some() || actors == Actors::All;
    let (in_world, room) = (launch.heap.is_some(), launch.room);
    Ok(RankPlan {
        number,
        launch: order,
        plan,
        kernel,
        args,
        grid: launch.grid,
        in_world,
        room,
        topology,
        takes_turns,
        has_lanes: plan.has_lanes(),
    })
}
