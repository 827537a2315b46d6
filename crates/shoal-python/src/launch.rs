//! A launch, from the arguments of a Python call to its result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use shoal::cache::Cache;
use shoal::cuda::StreamRef;
use shoal::world::Rank;
use shoal::{Access, Arg, Args, ParamKind, Prepared, Report, Variant, target_named};
use smallvec::SmallVec;

use crate::arguments::{self, ExtentNeed, Held, Takes};
use crate::binding::{Kept, Mismatch, Values};
use crate::compiled::Compiled;
use crate::devices::{self, DeviceName};
use crate::errors::raise;
use crate::kernel::{Declared, KernelObject, Live};
use crate::variants::{Given, OptionSet};
use crate::world::current;
use crate::{grid, hooks, mock, options};

/// What is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Goal<'g, 'py> {
    /// A run over this grid.
    Run(&'g Bound<'py, PyAny>),
    /// Compiled code; dtypes stand for pointers.
    Compile,
}

/// Launches a kernel, and gives its `CompiledKernel`. `None` if a hook said not to compile.
#[inline]
pub(crate) fn launch<'py>(
    slf: &Bound<'py, KernelObject>,
    goal: Goal<'_, 'py>,
    args: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let kernel = slf.get();
    let declared = kernel.declared()?;
    for hook in declared.pre_run_hooks.bind(py) {
        hook.call(args, named)?;
    }
    let live = kernel.live(slf)?;
    // Filled in where they are, here and below: moving lists of arguments would take a good part of the time.
    let (mut kept, mut values) = (Kept::default(), Values::new());
    declared.parameters.keep(args, named, &mut kept)?;
    if let Err(Mismatch { named }) = declared.parameters.bind(args, &kept, &mut values) {
        let names = named.into_iter().map(|at| declared.parameters.names[at].to_string());
        return Err(misfit(py, &live, args.len(), &names.collect::<Vec<_>>()));
    }
    let settings = hooks::Settings::now(py)?;
    let debug = debug_of(&kept.options, declared, &settings)?;
    let set = live.variants.with(py, &live.kernel, debug, &kept.options)?;

    let rank = current::rank();
    let default = match (goal, gpu_of(rank.as_ref())) {
        _ if declared.interpret => DeviceName::Interpreter,
        (Goal::Run(_), Some(ordinal)) => DeviceName::Cuda(ordinal),
        (Goal::Run(_), None) => devices::default_device()?,
        (Goal::Compile, _) => devices::current_device(py)?,
    };
    let held = Held::new(match (default, debug) {
        (DeviceName::Interpreter | DeviceName::Cuda(_), _) => ExtentNeed::Needed,
        (DeviceName::Cpu, true) => ExtentNeed::IfKnown,
        (DeviceName::Cpu, false) => ExtentNeed::Unneeded,
    });
    let mut converted = Args::new();
    let protected = convert(py, &live, &set, goal, &values, &held, &mut converted)?;
    let (on, stream) = chosen(py, &set, default, &held, rank.as_ref())?;
    // Code that reaches other ranks through NVSHMEM is another.
    let through = rank.as_ref().filter(|rank| rank.gpu().is_some_and(|gpu| gpu.nvshmem().is_some()));
    let of_rank = through.map(|rank| on.clone().on_rank(rank)).transpose().map_err(|error| raise(py, error, None))?;
    let on = of_rank.as_ref().unwrap_or(on);
    let prepared = on.prepare(&converted).map_err(|error| raise(py, error, None))?;
    let extents = match goal {
        Goal::Run(grid) if grid.is_callable() => {
            grid::extents(&grid.call1((declared.parameters.by_name(py, &values, &kept)?,))?)?
        }
        Goal::Run(grid) => grid::extents(grid)?,
        Goal::Compile => [0; 3],
    };
    let Some((variant, shown)) = compiled(slf, &live, &set, on, &prepared, goal, &protected)? else {
        return Ok(py.None().into_bound(py));
    };
    if let Goal::Run(_) = goal {
        settings.entering(&shown, extents, &values)?;
        let run = match (stream, rank) {
            // It returns at once: giving the interpreter up would cost more.
            (Some(stream), None) => on.run_in(&prepared, &variant, extents, stream),
            (None, None) => py.detach(|| on.run(&prepared, &variant, extents)),
            (None, Some(rank)) => py.detach(|| on.clone().on_rank(&rank)?.run(&prepared, &variant, extents)),
            (Some(stream), Some(rank)) => {
                py.detach(|| on.clone().on_rank(&rank)?.run_in(&prepared, &variant, extents, stream))
            }
        };
        run.map_err(|error| raise(py, error, None))?;
        settings.exiting(&shown, extents, &values)?;
    }
    Ok(shown)
}

/// The GPU that a rank's memory is in.
#[inline]
fn gpu_of(rank: Option<&Rank>) -> Option<u32> {
    rank.and_then(Rank::gpu).map(|gpu| gpu.device().ordinal())
}

/// The kernel on the device that the launch goes to, and the stream there if its arrays are a GPU's.
#[inline]
fn chosen<'s>(
    py: Python<'_>,
    set: &'s OptionSet,
    default: DeviceName,
    held: &Held,
    rank: Option<&Rank>,
) -> PyResult<(&'s shoal::Kernel, Option<StreamRef>)> {
    let Some((ordinal, package)) = held.cuda() else {
        return Ok(match default {
            DeviceName::Cpu => (&set.kernel, None),
            DeviceName::Interpreter => (set.interpreted(), None),
            // Where a rank's program uses torch, its launches are in torch's order.
            DeviceName::Cuda(ordinal) if rank.is_some_and(|rank| rank.gpu().is_some()) => {
                let (kernel, device) = set.on_cuda(py, ordinal)?;
                (kernel, devices::loaded_torch_stream(py, device)?)
            }
            DeviceName::Cuda(ordinal) => (set.on_cuda(py, ordinal)?.0, None),
        });
    };
    if held.has_host() {
        return Err(devices::mixed(set.kernel.name(), ordinal));
    }
    if default == DeviceName::Interpreter {
        return Err(devices::no_interpreter(set.kernel.name()));
    }
    let (kernel, device) = set.on_cuda(py, ordinal)?;
    Ok((kernel, Some(devices::stream(py, device, package)?)))
}

/// Makes arguments as the kernel takes them; gives the parameters whose memory may not be written.
#[inline]
fn convert<'a, 's>(
    py: Python<'_>,
    live: &Live,
    set: &'s OptionSet,
    goal: Goal<'_, '_>,
    values: &[Borrowed<'_, '_, PyAny>],
    held: &'a Held,
    args: &mut Args<'a>,
) -> PyResult<SmallVec<[&'s str; 4]>> {
    let mut protected = SmallVec::new();
    for (param, value) in set.kernel.params().iter().zip(values) {
        let takes = if param.kind() == ParamKind::Constexpr { Takes::Constant } else { Takes::Value };
        let arg = match (takes, goal) {
            (Takes::Value, Goal::Compile) => mock::convert(value, held, &live.bridge),
            _ => arguments::convert(value, takes, held, &live.bridge),
        };
        let arg = arg.map_err(|error| at_parameter(py, error, set, param.name()))?;
        if let Arg::Memory(memory) = &arg
            && memory.access() == Access::ReadOnly
        {
            protected.push(param.name());
        }
        args.push(arg);
    }
    Ok(protected)
}

/// The specialisation for these arguments and its `CompiledKernel`.
#[inline]
fn compiled<'py>(
    slf: &Bound<'py, KernelObject>,
    live: &Live,
    set: &Arc<OptionSet>,
    on: &shoal::Kernel,
    prepared: &Prepared<'_>,
    goal: Goal<'_, 'py>,
    protected: &[&str],
) -> PyResult<Option<(Arc<Variant>, Bound<'py, PyAny>)>> {
    let found = on.find(prepared);
    if let Some(variant) = &found
        && let Some(shown) = set.shown(slf, variant)?
    {
        return Ok(Some((variant.clone(), shown)));
    }
    let variant = match found {
        Some(variant) => variant,
        None => match compile(slf, live, set, on, prepared, goal, protected)? {
            Some(variant) => variant,
            None => return Ok(None),
        },
    };
    let shown = set.show(slf, on, &variant)?;
    Ok(Some((variant, shown)))
}

#[cold]
fn compile(
    slf: &Bound<'_, KernelObject>,
    live: &Live,
    set: &Arc<OptionSet>,
    on: &shoal::Kernel,
    prepared: &Prepared<'_>,
    goal: Goal<'_, '_>,
    protected: &[&str],
) -> PyResult<Option<Arc<Variant>>> {
    let py = slf.py();
    let specs = on.specialised(prepared).map_err(|error| raise(py, error, None))?;
    let signature: Vec<(String, String)> = set
        .kernel
        .params()
        .iter()
        .zip(&specs)
        .map(|(param, spec)| (param.name().to_owned(), spec.to_string()))
        .collect();
    let warmup = matches!(goal, Goal::Compile);
    let named = set.named(py)?;
    if slf.call_method1(intern!(py, "_compiling"), (&signature, &named, warmup))?.is_truthy()? {
        return Ok(None);
    }
    let in_turn = current::rank().is_some();
    let variant = py.detach(|| if in_turn { on.compile_in_turn(prepared) } else { on.compile(prepared) });
    let variant = variant.map_err(|error| {
        let raised = raise(py, error, live.bridge.cause());
        if let [first, ..] = protected {
            let note = format!("`{first}` was passed as an array that is read-only, which counts as `tl.const`");
            drop(raised.value(py).call_method1(intern!(py, "_note_if"), ("`tl.const`", note)));
        }
        raised
    })?;
    let notes = variant.report().notes.iter().filter_map(note).chain(unkept());
    let notes: Vec<(String, String)> = notes.collect();
    slf.call_method1(intern!(py, "_compiled"), (&signature, &named, warmup, notes))?;
    Ok(Some(variant))
}

/// Compiles for a signature, without arguments.
pub(crate) fn compile_signature<'py>(
    slf: &Bound<'py, KernelObject>,
    live: &Live,
    signature: &str,
    named: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let set = with_options(slf, live, named)?;
    let (on, _) = chosen(py, &set, devices::default_device()?, &Held::default(), None)?;
    let variant = py.detach(|| on.compile_for(on.read_signature(signature)?));
    let variant = variant.map_err(|error| raise(py, error, live.bridge.cause()))?;
    let notes: Vec<_> = variant.report().notes.iter().filter_map(note).collect();
    slf.call_method1(intern!(py, "_say"), (notes,))?;
    set.show(slf, on, &variant)
}

/// Compiles for a signature and a target that need not be here.
pub(crate) fn compile_foreign(
    slf: &Bound<'_, KernelObject>,
    live: &Live,
    signature: &str,
    named: &Bound<'_, PyDict>,
    target: &str,
) -> PyResult<Compiled> {
    let py = slf.py();
    let kernel = with_options(slf, live, named)?.kernel.clone();
    let target = target_named(target).map_err(|error| raise(py, error, None))?;
    let options = match target.kind() {
        "cpu" => kernel.options().clone(),
        _ => options::for_gpu(py, kernel.options().clone(), named)?,
    };
    let made = py.detach(|| Compiled::foreign(kernel.with(options), signature, target));
    made.map_err(|error| raise(py, error, live.bridge.cause()))
}

/// A kernel with launch options.
fn with_options(slf: &Bound<'_, KernelObject>, live: &Live, named: &Bound<'_, PyDict>) -> PyResult<Arc<OptionSet>> {
    let py = slf.py();
    let options = named.iter().map(|(name, value)| Ok((name.cast_into::<PyString>()?, value)));
    let options = options.collect::<PyResult<Given<'_>>>()?;
    let debug = debug_of(&options, slf.get().declared()?, &hooks::Settings::now(py)?)?;
    live.variants.with(py, &live.kernel, debug, &options)
}

/// How bad a note is, and its text: what `static_print` says alone, warnings with their place.
fn note(report: &Report) -> Option<(String, String)> {
    let first = report.first()?;
    let severity = first.severity.to_string();
    let text = if severity == "note" { first.message.clone() } else { report.to_string() };
    Some((severity, text))
}

/// Why compiled kernels are not kept on disk, if they are not: said once.
fn unkept() -> Option<(String, String)> {
    static SAID: AtomicBool = AtomicBool::new(false);
    let refusal = Cache::user().err()?;
    let said = SAID.swap(true, Ordering::Relaxed);
    (!said).then(|| ("warning".to_owned(), format!("compiled kernels are not kept: {refusal}")))
}

/// Whether asserts are checked: as the launch says, else as the decorator says, or as the settings say.
#[inline]
fn debug_of(options: &Given<'_>, declared: &Declared, settings: &hooks::Settings<'_>) -> PyResult<bool> {
    let mut debug = declared.debug.unwrap_or(false);
    for (name, value) in options {
        if name == "debug" && !value.is_none() {
            debug = value.is_truthy()?;
        }
    }
    Ok(debug || settings.debug)
}

/// The facade says best what does not fit.
#[cold]
fn misfit(py: Python<'_>, live: &Live, positional: usize, named: &[String]) -> PyErr {
    let mut args = Args::new();
    for _ in 0..positional {
        args.push(Arg::None);
    }
    for name in named {
        args.set(name, Arg::None);
    }
    live.kernel.gather(&mut args);
    match live.kernel.prepare(&args) {
        Err(error) => raise(py, error, None),
        Ok(_) => PyTypeError::new_err(format!("the arguments do not fit the parameters of `{}`", live.kernel.name())),
    }
}

/// Says which argument it was.
#[cold]
fn at_parameter(py: Python<'_>, error: PyErr, set: &OptionSet, name: &str) -> PyErr {
    let text = format!("kernel `{}`, argument `{name}`: {}", set.kernel.name(), error.value(py));
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(text)
    } else if error.get_type(py).is(py.get_type::<pyo3::exceptions::PyOverflowError>()) {
        pyo3::exceptions::PyOverflowError::new_err(text)
    } else if error.get_type(py).is(py.get_type::<pyo3::exceptions::PyValueError>()) {
        pyo3::exceptions::PyValueError::new_err(text)
    } else {
        error
    }
}
