//! Starting a kernel: arguments, options, result.

use std::rc::Rc;
use std::time::Duration;

use shoal_ir::abi::Topology;
use shoal_ir::{Const, Elem, Module, Type};

use crate::error::Error;
use crate::memory::{Address, Memory};
use crate::plan::FuncPlan;
use crate::rank::{RankLaunch, run_ranks};
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
}

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose turn it is.
    pub order: Order,
    /// How many operations all programs together may execute.
    pub max_steps: u64,
    /// How many programs are started before any has to finish. More are started when all of these wait. Programs that
    /// can neither wait nor synchronise run one after another.
    pub resident: usize,
    /// The teams and the mesh of each rank, rank 0 first. Empty: the teams that every rank has, on one host.
    pub topologies: Vec<Topology>,
}

impl Default for Options {
    fn default() -> Options {
        Options { order: Order::RoundRobin, max_steps: u64::MAX, resident: 64, topologies: Vec::new() }
    }
}

/// How often the host is asked whether to stop.
pub(crate) const ATTENTION: Duration = Duration::from_millis(50);

/// Whom a run prints to, and who may stop it. A function that takes lines is one that never stops a run.
pub trait Host {
    /// Takes a printed line.
    fn print(&mut self, line: String);

    /// Whether to stop; asked about every 50 ms.
    fn is_interrupted(&mut self) -> bool {
        false
    }
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
    run_ranks(&[RankLaunch { module, kernel, grid, args, heap: None }], memory, options, host)
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
