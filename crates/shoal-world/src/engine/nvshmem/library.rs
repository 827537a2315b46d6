//! NVSHMEM's library for hosts, loaded at run time: where it is, and the functions that the engine calls.

use std::ffi::{OsString, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::error::WorldError;

/// The library for hosts.
const HOST: &str = "libnvshmem_host.so.3";
/// The device functions as bitcode, beside it.
const BITCODE: &str = "libnvshmem_device.bc";
/// The variable that says where both are.
const PLACE: &str = "SHOAL_NVSHMEM";

/// `nvshmemx_uniqueid_t`: by which processes find each other.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct UniqueId {
    version: c_int,
    rest: [u8; 124],
}

/// Bytes of a [`UniqueId`].
pub(super) const ID_BYTES: usize = size_of::<UniqueId>();

/// What structures say of themselves: their version and their size.
const fn version_of<T>() -> c_int {
    (1 << 16) + size_of::<T>() as c_int
}

impl UniqueId {
    pub(super) fn empty() -> UniqueId {
        UniqueId { version: version_of::<UniqueId>(), rest: [0; 124] }
    }

    pub(super) fn to_bytes(self) -> [u8; ID_BYTES] {
        let mut bytes = [0; ID_BYTES];
        bytes[..4].copy_from_slice(&self.version.to_ne_bytes());
        bytes[4..].copy_from_slice(&self.rest);
        bytes
    }

    /// `None` for anything of another size.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<UniqueId> {
        let (version, rest) = bytes.split_first_chunk::<4>()?;
        Some(UniqueId { version: c_int::from_ne_bytes(*version), rest: rest.try_into().ok()? })
    }
}

/// `nvshmemx_uniqueid_args_t`.
#[repr(C)]
struct UniqueIdArgs {
    version: c_int,
    id: *const UniqueId,
    rank: c_int,
    ranks: c_int,
}

/// `nvshmemx_init_args_t`.
#[repr(C)]
struct InitArgs {
    version: c_int,
    by_id: UniqueIdArgs,
    rest: [u8; 96],
}

/// `nvshmemx_init_attr_t`.
#[repr(C)]
pub(super) struct InitAttributes {
    version: c_int,
    communicator: *mut c_void,
    args: InitArgs,
}

const _: () = assert!(ID_BYTES == 128 && size_of::<InitArgs>() == 128 && size_of::<InitAttributes>() == 144);

/// Processes meet by a unique id.
pub(super) const BY_UNIQUE_ID: c_uint = 1 << 3;

impl InitAttributes {
    pub(super) fn empty() -> InitAttributes {
        let by_id = UniqueIdArgs { version: version_of::<UniqueIdArgs>(), id: std::ptr::null(), rank: -1, ranks: -1 };
        let args = InitArgs { version: version_of::<InitArgs>(), by_id, rest: [0; 96] };
        InitAttributes { version: version_of::<InitAttributes>(), communicator: std::ptr::null_mut(), args }
    }
}

/// Declares the functions, and loads them all.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal: fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The library's functions.
        #[derive(Debug)]
        pub(super) struct Library {
            /// The device functions as bitcode.
            pub(super) bitcode: PathBuf,
            $($(#[$doc])* pub(super) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Library {
            /// Loads the library of a folder for the rest of the process.
            fn load(folder: &Path) -> Result<Library, String> {
                let path = folder.join(HOST);
                // SAFETY: what the library does when it is loaded is what every program that is linked with it relies on.
                let handle = unsafe { Handle::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(|why| why.to_string())?;
                // SAFETY: the types are those of the library's headers.
                let library = unsafe {
                    Library {
                        bitcode: folder.join(BITCODE),
                        $($field: *handle
                            .get::<unsafe extern "C" fn($($arg),*) $(-> $result)?>($symbol.as_bytes())
                            .map_err(|_| format!("{} has no `{}`; version 3 has it", path.display(), $symbol))?,)*
                    }
                };
                // It has threads of its own, so it stays.
                std::mem::forget(handle);
                Ok(library)
            }
        }
    };
}

functions! {
    get_unique_id = "nvshmemx_get_uniqueid": fn(*mut UniqueId) -> c_int;
    /// Rank, ranks, what they meet by, where that is kept.
    set_unique_id = "nvshmemx_set_attr_uniqueid_args": fn(c_int, c_int, *const UniqueId, *mut InitAttributes) -> c_int;
    /// Collective.
    init = "nvshmemx_hostlib_init_attr": fn(c_uint, *mut InitAttributes) -> c_int;
    my_pe = "nvshmem_my_pe": fn() -> c_int;
    n_pes = "nvshmem_n_pes": fn() -> c_int;
    /// Collective: alignment and bytes.
    align = "nvshmem_align": fn(usize, usize) -> *mut c_void;
    /// The same place at a rank, or null if loads and stores do not reach it.
    ptr = "nvshmem_ptr": fn(*const c_void, c_int) -> *mut c_void;
    /// Collective.
    barrier_all = "nvshmem_barrier_all": fn();
    /// Lets the functions of loaded code know what the library knows.
    module_init = "nvshmemx_cumodule_init": fn(*mut c_void) -> c_int;
    /// The library writes into all loaded code that it knows whenever it learns of more; into this no longer.
    module_finalize = "nvshmemx_cumodule_finalize": fn(*mut c_void) -> c_int;
    /// Major, minor, patch.
    version_info = "nvshmemx_vendor_get_version_info": fn(*mut c_int, *mut c_int, *mut c_int);
}

impl Library {
    /// The library, looked for once.
    pub(super) fn get() -> Result<&'static Library, WorldError> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(find).as_ref().map_err(|why| WorldError::Setup(why.clone()))
    }

    /// `NVSHMEM 3.4.5 in …`.
    pub(super) fn description(&self) -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the function writes three numbers; it may be called before the initialisation.
        unsafe { (self.version_info)(&raw mut major, &raw mut minor, &raw mut patch) };
        let folder = self.bitcode.parent().unwrap_or(Path::new("")).display();
        format!("NVSHMEM {major}.{minor}.{patch} in {folder}")
    }
}

fn find() -> Result<Library, String> {
    let advice = format!("`pip install nvidia-nvshmem-cu12` (or -cu13), or say in {PLACE} which folder has it");
    if let Some(said) = std::env::var_os(PLACE).filter(|said| !said.is_empty()) {
        let said = PathBuf::from(said);
        let folder = if said.is_file() { said.parent().map(Path::to_owned).unwrap_or_default() } else { said };
        let found = [folder.clone(), folder.join("lib")].into_iter().find(|folder| is_complete(folder));
        let folder = found.ok_or_else(|| format!("{PLACE}={}: no {HOST} and {BITCODE} there", folder.display()))?;
        return Library::load(&folder).map_err(|why| format!("NVSHMEM cannot be loaded: {why}"));
    }
    let folder = places(&|name| std::env::var_os(name)).chain(of_python()).find(|folder| is_complete(folder));
    let folder = folder.ok_or_else(|| format!("NVSHMEM is not installed: {advice}"))?;
    Library::load(&folder).map_err(|why| format!("NVSHMEM cannot be loaded: {why}; {advice}"))
}

fn is_complete(folder: &Path) -> bool {
    folder.join(HOST).is_file() && folder.join(BITCODE).is_file()
}

/// Folders that variables name, and those of CUDA's toolkit and of packages for Linux.
fn places(variable: &dyn Fn(&str) -> Option<OsString>) -> impl Iterator<Item = PathBuf> + use<> {
    let homes =
        ["NVSHMEM_HOME", "NVSHMEM_PREFIX", "CUDA_HOME", "CUDA_PATH"].map(|name| variable(name).map(PathBuf::from));
    let homes =
        homes.into_iter().flatten().chain([PathBuf::from("/usr/local/nvshmem"), PathBuf::from("/usr/local/cuda")]);
    let of_homes = homes.flat_map(|home| ["lib", "lib64"].map(|lib| home.join(lib)));
    let of_packages = ["13", "12"].map(|cuda| PathBuf::from("/usr/lib/x86_64-linux-gnu/nvshmem").join(cuda));
    of_homes.chain(of_packages)
}

/// Where Python's packages have it, if there is a Python.
fn of_python() -> impl Iterator<Item = PathBuf> {
    let program = std::env::var_os("VIRTUAL_ENV").map(|home| PathBuf::from(home).join("bin/python3"));
    let program = program.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("python3"));
    let text = "import sysconfig, site; print(sysconfig.get_path('purelib'), *site.getsitepackages(), \
                site.getusersitepackages(), sep='\\n')";
    let output = Command::new(program).args(["-c", text]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let folders: Vec<PathBuf> = text.lines().map(|line| PathBuf::from(line).join("nvidia/nvshmem/lib")).collect();
    folders.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back() {
        let mut id = UniqueId::empty();
        id.rest[123] = 7;
        let back = UniqueId::from_bytes(&id.to_bytes()).unwrap();
        assert_eq!((back.version, back.rest), ((1 << 16) + 128, id.rest));
        assert!(UniqueId::from_bytes(&[0; 127]).is_none());
    }

    #[test]
    fn variables_name_folders() {
        let variable = |name: &str| (name == "NVSHMEM_HOME").then(|| OsString::from("/opt/nvshmem"));
        assert_eq!(places(&variable).next().as_deref(), Some(Path::new("/opt/nvshmem/lib")));
    }
}
