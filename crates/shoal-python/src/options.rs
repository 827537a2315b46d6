//! Launch options: named arguments of a launch that are no parameters of the kernel.

use std::collections::BTreeMap;
use std::sync::Mutex;

use pyo3::exceptions::{PyAssertionError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use shoal::cuda::LaunchShape;
use shoal::{
    CompileOptions, Device, DiskCache, DotPrecision, GpuShape, Interrupt, LaunchOptions, MAX_WARPS, PrintSink,
};

use crate::errors::{raise, too_many_threads};
use crate::lock::lock;
use crate::{output, signals};

/// Options that change what is compiled, or where it runs.
const MEANT: [&str; 8] = [
    "debug",
    "check_accesses",
    "sanitize_overflow",
    "extern_libs",
    "default_dot_input_precision",
    "num_cpu_threads",
    "num_warps",
    "num_ctas",
];

/// Options that tell GPUs how to run a kernel, and mean nothing to a CPU.
const IGNORED: [&str; 35] = [
    "num_stages",
    "maxnreg",
    "minnreg",
    "enable_fp_fusion",
    "enable_reflect_ftz",
    "launch_cooperative_grid",
    "launch_cluster",
    "launch_pdl",
    "cluster_dims",
    "ptx_options",
    "ptx_version",
    "ir_override",
    "arch",
    "clc",
    "warp_size",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "schedule_hint",
    "allow_flush_denorm",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "max_num_imprecise_acc_default",
    "supported_fp8_dtypes",
    "deprecated_fp8_dot_operand_dtypes",
    "allowed_dot_input_precisions",
    "instrumentation_mode",
    "backend_name",
    "ukernels",
    "vec_lib",
    "enable_fast_math",
    "assume_in_bounds",
    "enable_warp_specialization",
];

/// Whether a launch takes an option of this name.
pub(crate) fn is_known(name: &Bound<'_, PyString>) -> bool {
    name.to_str().is_ok_and(|name| MEANT.contains(&name) || IGNORED.contains(&name))
}

/// The names of all options.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MEANT.into_iter().chain(IGNORED)
}

/// The compiler's options for a launch with these named ones.
pub(crate) fn read(py: Python<'_>, debug: bool, given: &Bound<'_, PyDict>) -> PyResult<CompileOptions> {
    let truth = |name: &Bound<'_, PyString>, default: bool| match given.get_item(name)? {
        Some(value) if !value.is_none() => value.is_truthy(),
        _ => Ok(default),
    };
    if given.get_item(intern!(py, "ir_override"))?.is_some_and(|value| !value.is_none()) {
        return Err(PyValueError::new_err(
            "`ir_override` is not supported: a kernel is always compiled from its source",
        ));
    }
    let settings = py.import(intern!(py, "shoal.knobs"))?;
    let compilation = settings.getattr(intern!(py, "compilation"))?;
    let knob = |name: &Bound<'_, PyString>| compilation.getattr(name).and_then(|value| value.is_truthy());
    // What is interpreted is not compiled: as in Python, globals are what they are when they are read.
    let interpreted = settings.getattr(intern!(py, "runtime"))?.getattr(intern!(py, "interpret"))?.is_truthy()?;
    let mut options = CompileOptions {
        debug,
        check_accesses: truth(intern!(py, "check_accesses"), true)?,
        sanitize_overflow: truth(intern!(py, "sanitize_overflow"), true)?,
        allow_plain_globals: interpreted || knob(intern!(py, "allow_non_constexpr_globals"))?,
        ..CompileOptions::default()
    };
    if let Some(warps) = power_of_two(given, intern!(py, "num_warps"))? {
        if warps > MAX_WARPS {
            return Err(too_many_threads(py, warps));
        }
        options.gpu.num_warps = warps;
    }
    if let Some(blocks) = power_of_two(given, intern!(py, "num_ctas"))? {
        options.gpu = options.gpu.with_blocks(blocks);
    }
    if knob(intern!(py, "always_compile"))? {
        options.disk_cache = DiskCache::Off;
    }
    let precision = match given.get_item(intern!(py, "default_dot_input_precision"))? {
        Some(name) if !name.is_none() => Some(name),
        _ => Some(settings.getattr(intern!(py, "language"))?.getattr(intern!(py, "fp32_default"))?),
    };
    if let Some(name) = precision.filter(|name| !name.is_none()) {
        options.dot_precision = dot_precision(&name.extract::<String>()?)?;
    }
    if let Some(libraries) = given.get_item(intern!(py, "extern_libs"))?.filter(|value| !value.is_none()) {
        let paths = match libraries.cast::<PyDict>() {
            Ok(by_name) => by_name.values().extract(),
            Err(_) => libraries
                .extract::<Vec<(String, std::path::PathBuf)>>()
                .map(|pairs| pairs.into_iter().map(|(_, path)| path).collect()),
        };
        options.extern_libs = paths.map_err(|_| {
            let found = shown(&libraries);
            PyTypeError::new_err(format!("`extern_libs` is a dictionary of names and files of bitcode, not {found}"))
        })?;
    }
    Ok(options)
}

/// How every launch from Python runs: it listens to signals and prints where Python does.
pub(crate) fn launching(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<LaunchOptions> {
    let truth = |name: &Bound<'_, PyString>| match given.get_item(name)? {
        Some(value) => value.is_truthy(),
        None => Ok(false),
    };
    Ok(LaunchOptions {
        interrupt: Some(Interrupt::new(signals::pending)),
        print: PrintSink::Call(std::sync::Arc::new(output::write)),
        gpu: LaunchShape {
            cluster: None,
            cooperative: truth(intern!(py, "launch_cooperative_grid"))?,
            programmatic: truth(intern!(py, "launch_pdl"))?,
        },
        ..LaunchOptions::default()
    })
}

/// The options with what only GPUs look at.
pub(crate) fn for_gpu(py: Python<'_>, options: CompileOptions, given: &Bound<'_, PyDict>) -> PyResult<CompileOptions> {
    let number = |name: &Bound<'_, PyString>| match given.get_item(name)? {
        Some(value) if !value.is_none() => count(name, &value).map(Some),
        _ => Ok(None),
    };
    let usual = GpuShape::default();
    let language = py.import(intern!(py, "shoal.knobs"))?.getattr(intern!(py, "language"))?;
    let fusion = given.get_item(intern!(py, "enable_fp_fusion"))?;
    let gpu = GpuShape {
        num_warps: options.gpu.num_warps,
        num_stages: number(intern!(py, "num_stages"))?.unwrap_or(usual.num_stages),
        max_registers: number(intern!(py, "maxnreg"))?,
        fuse_products: language.call_method1(intern!(py, "fp_fusion_enabled"), (fusion,))?.is_truthy()?,
    };
    // Where nobody says how precise a product of f32 is, GPUs use their matrix units, as Triton does.
    let said = |value: Option<Bound<'_, PyAny>>| value.is_some_and(|value| !value.is_none());
    let dot_precision = match said(given.get_item(intern!(py, "default_dot_input_precision"))?)
        || said(language.getattr(intern!(py, "fp32_default")).ok())
    {
        true => options.dot_precision,
        false => DotPrecision::Tf32,
    };
    Ok(CompileOptions { gpu, dot_precision, ..options })
}

/// The device with as many threads as `num_cpu_threads` says; `None` for the one with all cores.
pub(crate) fn device(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Option<Device>> {
    static DEVICES: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    let threads = given.get_item(intern!(py, "num_cpu_threads"))?.filter(|threads| !threads.is_none());
    let threads = threads.map(|threads| count(intern!(py, "num_cpu_threads"), &threads)).transpose()?;
    let Some(threads) = threads.filter(|&threads| threads > 0) else { return Ok(None) };
    let threads = threads as usize;
    let mut devices = lock(py, &DEVICES);
    if let Some(device) = devices.get(&threads) {
        return Ok(Some(device.clone()));
    }
    let device = Device::cpu_with_threads(threads).map_err(|error| raise(py, error, None))?;
    devices.insert(threads, device.clone());
    Ok(Some(device))
}

/// An option that counts warps or blocks.
fn power_of_two(given: &Bound<'_, PyDict>, option: &Bound<'_, PyString>) -> PyResult<Option<u32>> {
    let Some(value) = given.get_item(option)?.filter(|value| !value.is_none()) else { return Ok(None) };
    match value.extract::<u32>() {
        Ok(count) if count.is_power_of_two() => Ok(Some(count)),
        _ => Err(PyAssertionError::new_err(format!("{option} must be a power of 2, not {}", shown(&value)))),
    }
}

/// An option that is a small number.
fn count(option: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    value
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("`{option}` must be a small whole number, not {}", shown(value))))
}

/// A value as messages show it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "an object that cannot be shown".to_owned(), |text| text.to_string())
}

fn dot_precision(name: &str) -> PyResult<DotPrecision> {
    DotPrecision::ALL.iter().copied().find(|precision| precision.to_string() == name).ok_or_else(|| {
        let known: Vec<String> = DotPrecision::ALL.iter().map(ToString::to_string).collect();
        PyValueError::new_err(format!("there is no precision `{name}` for dot; there are {}", known.join(", ")))
    })
}
