//! Open MPI's OpenSHMEM library, loaded at run time: the functions of version 1.4 that the engine calls.

use std::ffi::{c_int, c_ulong, c_void};

use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};

use crate::error::WorldError;

/// Threads may call, one at a time. (The names of levels have these numbers in Open MPI.)
pub(super) const SERIALIZED: c_int = 2;

/// File names of the library, the one with its version first.
const NAMES: [&str; 2] = ["liboshmem.so.40", "liboshmem.so"];

/// Declares the functions, and loads them all.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal: fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The library's functions. They may be called by one thread at a time, once it is initialised.
        #[derive(Debug)]
        pub(super) struct Library {
            $($(#[$doc])* pub(super) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Library {
            /// Loads the library for the rest of the process.
            pub(super) fn load() -> Result<Library, WorldError> {
                let handle = open()?;
                let missing = |symbol: &str| {
                    WorldError::Setup(format!(
                        "Open MPI's OpenSHMEM library has no `{symbol}`; the engine `openshmem` needs version 4 or later"
                    ))
                };
                // SAFETY: the types are those of the library's header.
                let library = unsafe {
                    Library {
                        $($field: *handle
                            .get::<unsafe extern "C" fn($($arg),*) $(-> $result)?>($symbol.as_bytes())
                            .map_err(|_| missing($symbol))?,)*
                    }
                };
                // It has threads and exit handlers of its own, so it stays.
                std::mem::forget(handle);
                Ok(library)
            }
        }
    };
}

functions! {
    /// Collective.
    init_thread = "shmem_init_thread": fn(c_int, *mut c_int) -> c_int;
    /// Collective.
    finalize = "shmem_finalize": fn();
    my_pe = "shmem_my_pe": fn() -> c_int;
    n_pes = "shmem_n_pes": fn() -> c_int;
    /// Collective: alignment and bytes.
    align = "shmem_align": fn(usize, usize) -> *mut c_void;
    /// The same place at a rank, or null if loads and stores do not reach it.
    ptr = "shmem_ptr": fn(*const c_void, c_int) -> *mut c_void;
    /// Target, source, bytes, rank.
    putmem = "shmem_putmem": fn(*mut c_void, *const c_void, usize, c_int);
    /// Target, source, bytes, rank.
    getmem = "shmem_getmem": fn(*mut c_void, *const c_void, usize, c_int);
    atomic_set = "shmem_ulong_atomic_set": fn(*mut c_ulong, c_ulong, c_int);
    atomic_add = "shmem_ulong_atomic_add": fn(*mut c_ulong, c_ulong, c_int);
    fence = "shmem_fence": fn();
    quiet = "shmem_quiet": fn();
    /// Collective.
    barrier_all = "shmem_barrier_all": fn();
    /// Lets arrive what others have sent. Open MPI's own, as OpenSHMEM has no call for it.
    progress = "opal_progress": fn();
    /// The version of OpenSHMEM: major, minor.
    info_get_version = "shmem_info_get_version": fn(*mut c_int, *mut c_int);
}

impl Library {
    /// The version of OpenSHMEM that it has, as it says itself.
    pub(super) fn version(&self) -> String {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the function writes two numbers; it may be called before the initialisation.
        unsafe { (self.info_get_version)(&raw mut major, &raw mut minor) };
        format!("OpenSHMEM {major}.{minor}")
    }
}

/// A word of the library's is one of ours.
const _: () = assert!(size_of::<c_ulong>() == 8);

fn open() -> Result<Handle, WorldError> {
    let mut reason = String::new();
    for name in NAMES {
        // SAFETY: what the library does when it is loaded is what every program that is linked with it relies on.
        // Its plug-ins look for its symbols among the global ones.
        match unsafe { Handle::open(Some(name), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(handle) => return Ok(handle),
            Err(error) if reason.is_empty() => reason = error.to_string(),
            Err(_) => {}
        }
    }
    Err(WorldError::Setup(format!(
        "Open MPI's OpenSHMEM library cannot be loaded: {reason}; install it (Debian: openmpi-bin libopenmpi-dev)"
    )))
}
