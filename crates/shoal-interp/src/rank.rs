//! Ranks: a kernel on each member of a world, all scheduled together.

use std::time::Instant;

use shoal_ir::Module;
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
    let prepare = |((number, launch), plan)| prepare(number, launch, plan, options);
    let ranks = (0..).zip(launches).zip(&plans).map(prepare).collect::<Result<Vec<_>, _>>()?;
    let next_look = Instant::now() + ATTENTION;
    let mut machine = Machine { ranks: &ranks, memory, host, steps: 0, max_steps: options.max_steps, next_look };
    schedule::run(&mut machine, options.order)?;
    Ok(machine.steps)
}

fn prepare<'p>(
    number: u32,
    launch: &RankLaunch<'_>,
    plan: &'p Plan<'p>,
    options: &Options,
) -> Result<RankPlan<'p>, Error> {
    let kernel = plan.kernel(launch.kernel).ok_or_else(|| Error::NoKernel { name: launch.kernel.into() })?;
    let args = check(kernel, launch.args)?;
    let effects = CallEffects::of_module(launch.module).of_func(launch.kernel);
    let meet = effects.waits || effects.order.is_some();
    let resident = if meet { options.resident.max(1) } else { 1 };
    Ok(RankPlan { number, plan, kernel, args, grid: launch.grid, heap: launch.heap, resident })
}
