//! Which device a launch goes to, and which of its streams.
//!
//! The arrays decide: those of a GPU are worked on there, in the current stream of their package. Arrays of the host, and
//! launches without arrays, go to the default device: the CPU, or what `SHOAL_DEVICE` or `shoal.device` says.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{ffi, intern};
use shoal::cuda::{CudaDevice, StreamRef};

use crate::arguments::Package;
use crate::errors::raise;
use crate::exchange;

/// A device by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    Cpu,
    Interpreter,
    Cuda(u32),
}

impl DeviceName {
    fn read(name: &str) -> Option<DeviceName> {
        match name {
            "cpu" => Some(DeviceName::Cpu),
            "interp" | "interpreter" => Some(DeviceName::Interpreter),
            "cuda" | "gpu" => Some(DeviceName::Cuda(0)),
            other => other.strip_prefix("cuda:")?.parse().ok().map(DeviceName::Cuda),
        }
    }

    fn text(self) -> String {
        match self {
            DeviceName::Cpu => "cpu".to_owned(),
            DeviceName::Interpreter => "interp".to_owned(),
            DeviceName::Cuda(ordinal) => format!("cuda:{ordinal}"),
        }
    }
}

/// What `shoal.device` said; `None` before it said anything.
static CHOSEN: Mutex<Option<DeviceName>> = Mutex::new(None);

/// The device of launches whose arrays are the host's, or that have none.
#[inline]
pub(crate) fn default_device() -> PyResult<DeviceName> {
    let mut chosen = CHOSEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(name) = *chosen {
        return Ok(name);
    }
    let name = from_environment()?;
    *chosen = Some(name);
    Ok(name)
}

/// The device that code is compiled for when there is nothing to run: a GPU also if the program uses torch with one.
#[cold]
pub(crate) fn current_device(py: Python<'_>) -> PyResult<DeviceName> {
    let default = default_device()?;
    if default != DeviceName::Cpu || CudaDevice::count().unwrap_or(0) == 0 {
        return Ok(default);
    }
    let module = py.import(intern!(py, "shoal.runtime.cuda_driver"))?;
    let ordinal = module.call_method0(intern!(py, "current_ordinal"))?.extract::<Option<u32>>()?;
    Ok(ordinal.map_or(default, DeviceName::Cuda))
}

#[cold]
fn from_environment() -> PyResult<DeviceName> {
    let Some(value) = std::env::var_os("SHOAL_DEVICE").filter(|value| !value.is_empty()) else {
        return Ok(DeviceName::Cpu);
    };
    let value = value.to_string_lossy();
    let unknown = || PyValueError::new_err(format!("SHOAL_DEVICE={value} cannot be used: {}", no_device(&value)));
    DeviceName::read(&value.to_lowercase()).ok_or_else(unknown)
}

fn unknown(name: &str) -> PyErr {
    PyValueError::new_err(no_device(name))
}

fn no_device(name: &str) -> String {
    format!("there is no device `{name}`; there are `cpu`, `interp`, `cuda` and `cuda:NUMBER`")
}

/// The name of the default device.
#[pyfunction]
pub(crate) fn default_device_name() -> PyResult<String> {
    Ok(default_device()?.text())
}

static CUDA_IS_PLAYED: AtomicBool = AtomicBool::new(false);

/// Makes `cuda` a name of the CPU: whoever says that its memory is there has memory of the host.
#[pyfunction]
pub(crate) fn play_cuda() {
    CUDA_IS_PLAYED.store(true, Ordering::Relaxed);
}

pub(crate) fn cuda_is_played() -> bool {
    CUDA_IS_PLAYED.load(Ordering::Relaxed)
}

/// Makes another device the default one; `None`: the one that `SHOAL_DEVICE` names. Gives the name of the one before.
#[pyfunction]
pub(crate) fn set_default_device(py: Python<'_>, name: Option<&str>) -> PyResult<String> {
    let before = default_device()?;
    let device = match name {
        None => from_environment()?,
        Some(name) => DeviceName::read(&name.to_lowercase()).ok_or_else(|| unknown(name))?,
    };
    if let DeviceName::Cuda(ordinal) = device {
        CudaDevice::new(ordinal).map_err(|error| raise(py, error.into(), None))?;
    }
    *CHOSEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(device);
    Ok(before.text())
}

/// How many NVIDIA GPUs there are; 0 without a driver.
#[pyfunction]
pub(crate) fn cuda_device_count() -> u32 {
    CudaDevice::count().unwrap_or(0)
}

/// Facts about an NVIDIA GPU, by the names that Triton's driver gives them and some more.
#[pyfunction]
pub(crate) fn cuda_properties(py: Python<'_>, ordinal: u32) -> PyResult<Bound<'_, PyDict>> {
    let device = CudaDevice::new(ordinal).map_err(|error| raise(py, error.into(), None))?;
    let known = device.properties();
    let facts = PyDict::new(py);
    facts.set_item("name", &known.name)?;
    facts.set_item("arch", device.arch().name())?;
    facts.set_item("capability", known.capability)?;
    facts.set_item("total_memory", known.memory_bytes)?;
    for (name, value) in [
        ("max_shared_mem", known.shared_bytes),
        ("max_num_regs", known.registers),
        ("multiprocessor_count", known.multiprocessors),
        ("warpSize", known.warp_size),
        ("max_threads_per_sm", known.multiprocessor_threads),
        ("max_threads_per_block", known.block_threads),
        ("sm_clock_rate", known.clock_khz),
        ("mem_clock_rate", known.memory_clock_khz),
        ("mem_bus_width", known.memory_bus_bits),
        ("l2_cache_size", known.l2_bytes),
        ("cooperativeLaunch", 1),
    ] {
        facts.set_item(name, value)?;
    }
    Ok(facts)
}

/// The version of CUDA that the driver is for; `None` without a driver.
#[pyfunction]
pub(crate) fn cuda_driver_version() -> Option<(u32, u32)> {
    shoal::cuda::driver_version().ok()
}

/// Waits until all work on a GPU is done.
#[pyfunction]
pub(crate) fn cuda_synchronize(py: Python<'_>, ordinal: u32) -> PyResult<()> {
    let wait = || CudaDevice::new(ordinal)?.synchronize();
    py.detach(wait).map_err(|error| raise(py, error.into(), None))
}

/// The stream that a launch on arrays of a package goes to.
#[inline]
pub(crate) fn stream(py: Python<'_>, device: CudaDevice, package: Package) -> PyResult<StreamRef> {
    let address = match package {
        Package::Torch => torch_stream(py, device.ordinal())?,
        Package::Other => cupy_stream(py)?,
    };
    // SAFETY: the package's current stream is one of the device's primary context, and the package keeps it.
    Ok(unsafe { StreamRef::from_raw(device, address) })
}

/// torch's current stream on a GPU; `None` if the program does not use torch.
pub(crate) fn loaded_torch_stream(py: Python<'_>, device: CudaDevice) -> PyResult<Option<StreamRef>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    match modules.contains(intern!(py, "torch"))? {
        true => stream(py, device, Package::Torch).map(Some),
        false => Ok(None),
    }
}

/// torch's current stream.
#[inline]
fn torch_stream(py: Python<'_>, ordinal: u32) -> PyResult<usize> {
    if let Some(stream) = exchange::torch_stream(py, ordinal) {
        return Ok(stream);
    }
    static FUNCTION: AtomicPtr<ffi::PyObject> = AtomicPtr::new(std::ptr::null_mut());
    let mut function = FUNCTION.load(Ordering::Relaxed);
    if function.is_null() {
        let native = py.import(intern!(py, "torch"))?.getattr(intern!(py, "_C"))?;
        // The reference is given up on purpose: the function lives as long as the process.
        function = native.getattr(intern!(py, "_cuda_getCurrentRawStream"))?.into_ptr();
        FUNCTION.store(function, Ordering::Relaxed);
    }
    // SAFETY: it is a function of torch, kept alive above.
    let function = unsafe { Bound::from_borrowed_ptr(py, function) };
    function.call1((ordinal,))?.extract()
}

/// CuPy's current stream if CuPy is there, else the default one.
fn cupy_stream(py: Python<'_>) -> PyResult<usize> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Ok(cuda) = modules.get_item("cupy.cuda") else { return Ok(0) };
    cuda.call_method0(intern!(py, "get_current_stream"))?.getattr(intern!(py, "ptr"))?.extract()
}

/// Arrays of the host and of a GPU were passed to one launch.
#[cold]
pub(crate) fn mixed(kernel: &str, ordinal: u32) -> PyErr {
    PyValueError::new_err(format!(
        "kernel `{kernel}`: some arrays are in the memory of GPU {ordinal} and some in that of the CPU (Pointer argument \
         cannot be accessed from Triton (cpu tensor?)); copy them to one device first"
    ))
}

/// A launch would have to wait where it must not.
#[cold]
pub(crate) fn no_interpreter(kernel: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "kernel `{kernel}` is interpreted (TRITON_INTERPRET or SHOAL_DEVICE), but its arrays are in a GPU's memory: pass \
         arrays of the CPU"
    ))
}
