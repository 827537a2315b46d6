//! The driver's library, loaded when it is first needed.

use std::{
    ffi::{CStr, c_int},
    ptr,
    sync::OnceLock,
};

use super::{
    error::CudaError,
    sys::{Functions, SUCCESS, Status},
};

/// The driver's library as it is known on Linux.
const LIBRARY: &str = "libcuda.so.1";

/// The driver, initialised. Without one, an error that says so; it is looked for once.
pub(crate) fn driver() -> Result<&'static Functions, CudaError> {
    static DRIVER: OnceLock<Result<Functions, CudaError>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The variable that says how many queues of a GPU do not wait for each other.
const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// How many queues of a GPU do not wait for each other: streams beyond that share one, and a stream that waits holds up
/// those that share its queue. It is 8, or what `CUDA_DEVICE_MAX_CONNECTIONS` said when the driver was started.
#[must_use]
pub fn independent_queues() -> usize {
    std::env::var(QUEUES).ok().and_then(|value| value.trim().parse().ok()).unwrap_or(8)
}

/// Asks for as many queues as there can be, if nobody has said how many, and nobody can be reading the environment.
fn ask_for_queues() {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads == 1 && std::env::var_os(QUEUES).is_none() {
        // SAFETY: this is the only thread of the process.
        unsafe { std::env::set_var(QUEUES, "32") };
    }
}

fn load() -> Result<Functions, CudaError> {
    ask_for_queues();
    // SAFETY: loading NVIDIA's driver runs its initialisers, which every CUDA program does.
    let library = unsafe { libloading::Library::new(LIBRARY) };
    let library = library.map_err(|why| CudaError::NoDriver { why: why.to_string() })?;
    let version = version(&library);
    // SAFETY: the library is the driver, and is forgotten below, so that it stays loaded.
    let functions = unsafe { Functions::find(&library) };
    // Threads of the driver go on until the process ends.
    core::mem::forget(library);
    let functions = functions.map_err(|missing| CudaError::TooOld { version, missing: missing.to_owned() })?;
    // SAFETY: the flags must be zero.
    let status = unsafe { (functions.init)(0) };
    functions.check(status, || "starting CUDA".to_owned())?;
    Ok(functions)
}

/// The version of CUDA that the driver is for: 13000 for 13.0; 0 if it does not say.
fn version(library: &libloading::Library) -> u32 {
    type Version = unsafe extern "C" fn(*mut c_int) -> Status;
    let mut version = 0;
    // SAFETY: the driver has had this function with this type since its first version.
    if let Ok(ask) = unsafe { library.get::<Version>(b"cuDriverGetVersion") } {
        // SAFETY: it may be asked before the driver is initialised.
        unsafe { ask(&raw mut version) };
    }
    u32::try_from(version).unwrap_or(0)
}

/// The version of CUDA that the driver is for, major and minor.
///
/// # Errors
/// When there is no driver.
pub fn driver_version() -> Result<(u32, u32), CudaError> {
    let cuda = driver()?;
    let mut version: c_int = 0;
    // SAFETY: the pointer is to a local.
    cuda.check(unsafe { (cuda.driver_version)(&raw mut version) }, || "asking for the driver's version".to_owned())?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

impl Functions {
    /// Success, or what went wrong while doing `what`.
    #[inline]
    pub(crate) fn check(&self, status: Status, what: impl FnOnce() -> String) -> Result<(), CudaError> {
        if status == SUCCESS { Ok(()) } else { Err(self.failed(status, what())) }
    }

    #[cold]
    pub(crate) fn failed(&self, status: Status, what: String) -> CudaError {
        let words = |ask: unsafe extern "C" fn(Status, *mut *const core::ffi::c_char) -> Status| {
            let mut text = ptr::null();
            // SAFETY: the pointer is to a local.
            let known = unsafe { ask(status, &raw mut text) } == SUCCESS && !text.is_null();
            // SAFETY: texts of the driver are C strings that are never freed.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = words(self.error_name).unwrap_or_else(|| format!("error {status}"));
        let text = words(self.error_text).unwrap_or_else(|| "an unknown error".to_owned());
        CudaError::Call { what, name, text }
    }
}
