//! Starting a kernel: arguments, options, result.

use std::rc::Rc;
use std::time::Duration;

use shoal_ir::abi::Topology;
use shoal_ir::{Const, Elem, Module, Type};

use crate::error::Error;
use crate::memory::{Address, Memory};
use crate::plan::FuncPlan;
use crate::rank::{RankLaunch, run_ranks};
use crate::transfer::Delivery;
use crate::value::{Descriptor, Val};

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// An address, for a pointer.
    Pointer(Address),
    /// A number of the parameter's own type.
    Scalar(Const),
    /// A tensor, for a descriptor.
    Desc {
        /// Its first element.
        base: Address,
        /// Its sizes.
        shape: Vec<i64>,
        /// How many elements apart neighbours along each dimension are.
        strides: Vec<i64>,
    },
}

/// Whose turn it is at a scheduling point.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Each live program in turn.
    #[default]
    RoundRobin,
    /// Any of them, by a random sequence that the seed fixes.
    Random(u64),
    /// The one with the highest of random priorities, of which a few change as they run. Finds mistakes that need few
    /// programs to be late at the right moment.
    Pct {
        /// Fixes the random sequence.
        seed: u64,
        /// How many priorities change.
        depth: u32,
        /// Among how many first choices they do.
        horizon: u32,
    },
    /// Ranks one after the other, in an order that the seed fixes: each goes as far as it can before the next one moves.
    Skewed(u64),
    /// Each in turn, but for one transfer, which comes as soon as others have changed its word so many times, or when nobody
    /// else can go on. Finds mistakes that need a signal to be overtaken.
    Overtaken {
        /// Its number among all that take turns.
        transfer: u64,
        /// How many changes come before it.
        times: u32,
    },
}

/// Whether programs may be started beyond [`Options::resident`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Residency {
    /// Yes, when all that are started wait.
    #[default]
    Growing,
    /// No, as on a device with room for so many; programs start in any order.
    Strict,
}

/// Which kernels' programs take turns.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Actors {
    /// Those of kernels that wait or order. Others run one after another.
    #[default]
    Meeting,
    /// All.
    All,
}

/// In which order an operation accesses the elements of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElementOrder {
    /// Row-major, as it is defined.
    #[default]
    Forward,
    /// The other way round: what comes out otherwise is not the same on a GPU, which has no such order.
    Backward,
    /// From this one on, and then those before it.
    From(usize),
    /// As it comes; a store of different values to one address is refused.
    Unordered,
}

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose turn it is.
    pub order: Order,
    /// How many operations all programs together may execute.
    pub max_steps: u64,
    /// When all that is left are loops that go round and change nothing: how many turns each may still have before they
    /// count as deadlocked.
    pub vain_turns: u64,
    /// How many programs of a rank are started before any has to finish.
    pub resident: usize,
    /// Whether more are started when all of these wait.
    pub residency: Residency,
    /// Which programs take turns.
    pub actors: Actors,
    /// When SHMEM transfers are delivered.
    pub delivery: Delivery,
    /// In which order an operation writes the elements of a tile: seen only where several go to one address.
    pub elements: ElementOrder,
    /// The teams and the mesh of each rank, rank 0 first. Empty: the teams that every rank has, on one host.
    pub topologies: Vec<Topology>,
    /// Where, in each heap, the words are in which teams meet, zero at first. `None`: the run has some of its own, which
    /// is for runs of all ranks together.
    pub sync_words: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            order: Order::RoundRobin,
            max_steps: u64::MAX,
            vain_turns: u64::MAX,
            resident: 64,
            residency: Residency::Growing,
            actors: Actors::Meeting,
            delivery: Delivery::AtOnce,
            elements: ElementOrder::default(),
            topologies: Vec::new(),
            sync_words: None,
        }
    }
}

/// How often the host is asked whether to stop.
pub(crate) const HOST_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The host of a run: it takes printed lines, and may interrupt the run. A function that takes lines never does.
pub trait Host {
    /// Takes a printed line.
    fn print(&mut self, line: String);

    /// Whether to stop; asked about every 50 ms.
    fn is_interrupted(&mut self) -> bool {
        false
    }

    /// A program has come to a scheduling point: others that share the memory may go on now.
    fn turn(&mut self) {}

    /// No program can go on: waits until somebody else has changed memory, if there is anybody.
    fn idle(&mut self) -> Idle {
        Idle::Nobody
    }
}

/// What came of a wait for others.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Memory may have changed.
    Changed,
    /// Nobody is left who could change it.
    Nobody,
    /// The run is to stop.
    Stop,
}

impl<F: FnMut(String)> Host for F {
    fn print(&mut self, line: String) {
        self(line);
    }
}

/// What a finished run leaves besides memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What the programs printed, line by line, in the order of execution.
    pub prints: Vec<String>,
    /// How many operations were executed.
    pub steps: u64,
}

/// Runs a kernel of a verified module on a grid, to the end of all its programs.
///
/// # Errors
/// As [`Error`] says. Memory then holds whatever was written up to there.
pub fn run(
    module: &Module,
    kernel: &str,
    grid: [u32; 3],
    args: &[Arg],
    memory: &mut Memory,
    options: &Options,
) -> Result<Report, Error> {
    let mut prints = Vec::new();
    let steps = run_for(module, kernel, grid, args, memory, options, &mut |line: String| prints.push(line))?;
    Ok(Report { prints, steps })
}

/// The same for a host, which gets each printed line as it comes, so that a run that fails or never ends shows its
/// lines too, and which may stop the run. Gives the number of operations executed.
///
/// # Errors
/// As [`run`].
pub fn run_for(
    module: &Module,
    kernel: &str,
    grid: [u32; 3],
    args: &[Arg],
    memory: &mut Memory,
    options: &Options,
    host: &mut dyn Host,
) -> Result<u64, Error> {
    run_ranks(&[RankLaunch { module, kernel, grid, args, heap: None, room: None }], memory, options, host)
}

/// The arguments as values, if each fits its parameter.
pub(crate) fn check(kernel: &FuncPlan<'_>, args: &[Arg]) -> Result<Vec<Val>, Error> {
    let func = kernel.func;
    let (wanted, found) = (func.params().len(), args.len());
    if wanted != found {
        let message = format!("kernel `{}` takes {wanted} arguments, but {found} were given", func.name);
        return Err(Error::Arguments { message });
    }
    let fit = |(index, (&param, arg)): (usize, (&shoal_ir::Value, &Arg))| {
        let value = func.value(param);
        fit(&value.ty, arg).ok_or_else(|| {
            let name = value.name.as_deref().map_or_else(|| format!("argument {index}"), |n| format!("argument `{n}`"));
            let message =
                format!("{name} of kernel `{}` has type `{}`, but {} was given", func.name, value.ty, title(arg));
            Error::Arguments { message }
        })
    };
    func.params().iter().zip(args).enumerate().map(fit).collect()
}

fn fit(ty: &Type, arg: &Arg) -> Option<Val> {
    match (ty, arg) {
        (Type::Elem(Elem::Ptr(_)), Arg::Pointer(address)) => Some(Val::Scalar(address.0)),
        (Type::Elem(Elem::Scalar(ty)), Arg::Scalar(value)) if *ty == value.ty() => Some(Val::Scalar(value.bits())),
        (Type::Desc(desc), Arg::Desc { base, shape, strides })
            if shape.len() == desc.block.len() && strides.len() == desc.block.len() =>
        {
            Some(Val::Desc(Rc::new(Descriptor { base: base.0, shape: shape.clone(), strides: strides.clone() })))
        }
        (Type::Elem(_) | Type::Tile(_) | Type::Desc(_) | Type::Token, _) => None,
    }
}

fn title(arg: &Arg) -> String {
    match arg {
        Arg::Pointer(_) => "a pointer".into(),
        Arg::Scalar(value) => format!("a number of type `{}`", value.ty()),
        Arg::Desc { shape, .. } => format!("a tensor with {} dimensions", shape.len()),
    }
}
