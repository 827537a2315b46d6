//! Kernels on a GPU: loaded code with the facts the compiler states about it, and their launch.

use core::{
    ffi::{c_int, c_uint, c_void},
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};
use std::{
    ffi::CString,
    sync::{Arc, OnceLock},
};

use shoal_abi::{ANYWHERE, KernelDescription, NvptxNeeds, TableUse};
use smallvec::SmallVec;

use super::tensor_map::encode_for;
use super::{
    device::CudaDevice,
    error::CudaError,
    rank_table,
    stream::StreamRef,
    sys::{
        DeviceId, Function, Functions, Kernel, LaunchAttribute, LaunchConfig, Library, PARAM_BUFFER,
        PARAM_BUFFER_BYTES, function_attribute, launch_attribute,
    },
};
use crate::{args::ArgBlock, bounds::Bounds};

/// A block gets so much shared memory without asking.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;
/// In a block of arguments tensor maps lie at multiples of this, and have so many bytes.
const TENSOR_MAP_ALIGNMENT: usize = 64;
const TENSOR_MAP_BYTES: usize = 128;
/// The largest extents of a grid.
const GRID_LIMIT: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// A kernel that can be launched on one device.
#[derive(Debug)]
pub struct CudaKernel {
    id: u64,
    device: CudaDevice,
    library: Library,
    kernel: Kernel,
    function: Function,
    description: KernelDescription,
    needs: NvptxNeeds,
    resources: Resources,
    args_bytes: usize,
    /// Programs that a multiprocessor runs at the same time, once somebody asked.
    resident: OnceLock<u32>,
    /// Who is told before the code is unloaded.
    before_unload: OnceLock<fn(usize)>,
}

/// What of a multiprocessor a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's own memory: spilled registers and arrays.
    pub local_bytes: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// How a kernel is launched, beyond its grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// Programs of so many neighbours run together and reach each other's shared memory.
    pub cluster: Option<[u32; 3]>,
    /// All programs run at the same time, so that they may wait for each other.
    pub cooperative: bool,
    /// The launch may begin before the one ahead of it in the stream has ended: the kernel waits for it itself.
    pub programmatic: bool,
}

/// What a launch passes behind its arguments, to kernels that ask for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchTables<'a> {
    /// The address of the launching rank's [table](super::RankTable); `None` if no rank launches.
    pub ranks: Option<u64>,
    /// The memory of the arguments, for kernels that check their accesses. Without it, all addresses that can be memory are
    /// taken to be.
    pub bounds: Option<&'a Arc<Bounds>>,
}

impl CudaKernel {
    /// Loads a kernel's machine code, or its PTX.
    ///
    /// # Errors
    /// When the driver refuses, or the kernel wants more shared memory than the device has.
    pub fn load(device: CudaDevice, code: &[u8], description: KernelDescription) -> Result<CudaKernel, CudaError> {
        let Some(needs) = description.nvptx().cloned() else {
            return Err(CudaError::Invalid(format!("kernel `{}` was not compiled for a GPU", description.name)));
        };
        if needs.table == TableUse::Waits {
            // Later there may be kernels that run, or a capture.
            rank_table::table_of(device)?;
        }
        let cuda = device.bind()?;
        let loading = || format!("loading `{}`", description.name);
        // PTX is a text that ends with a zero; machine code says its own length.
        let code = CString::new(code).map_or_else(|_| code.to_vec(), CString::into_bytes_with_nul);
        let mut library = Library::NULL;
        // SAFETY: the code is an image that the compiler or the assembler made; there are no options.
        let status = unsafe {
            (cuda.library_load)(
                &raw mut library,
                code.as_ptr().cast(),
                ptr::null(),
                ptr::null(),
                0,
                ptr::null(),
                ptr::null(),
                0,
            )
        };
        cuda.check(status, loading)?;
        // From here on, dropping it unloads the library.
        static LOADED: AtomicU64 = AtomicU64::new(0);
        let mut loaded = CudaKernel {
            id: LOADED.fetch_add(1, Ordering::Relaxed),
            device,
            library,
            kernel: Kernel::NULL,
            function: Function::NULL,
            args_bytes: description.args_bytes(),
            resident: OnceLock::new(),
            before_unload: OnceLock::new(),
            resources: Resources {
                registers: 0,
                local_bytes: 0,
                shared_bytes: needs.shared_bytes,
                threads: needs.threads,
            },
            needs,
            description,
        };
        let name = CString::new(loaded.description.name.as_str())
            .map_err(|_| CudaError::Invalid("a kernel's name has a zero byte".to_owned()))?;
        let loading = || format!("loading `{}`", loaded.description.name);
        let mut kernel = Kernel::NULL;
        // SAFETY: the library is loaded, and the name a C string.
        cuda.check(unsafe { (cuda.library_kernel)(&raw mut kernel, library, name.as_ptr()) }, loading)?;
        let mut function = Function::NULL;
        // The code goes to the device now: a load while other kernels wait for this one would never end.
        // SAFETY: the kernel belongs to a loaded library.
        cuda.check(unsafe { (cuda.kernel_function)(&raw mut function, kernel) }, loading)?;
        loaded.resources = resources(cuda, kernel, device.id(), &loaded.needs)?;
        allow_shared(cuda, device, kernel, loaded.needs.shared_bytes, loaded.resources.shared_bytes)?;
        (loaded.kernel, loaded.function) = (kernel, function);
        Ok(loaded)
    }

    /// What the compiler stated.
    #[must_use]
    pub fn description(&self) -> &KernelDescription {
        &self.description
    }

    /// Its device.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.device
    }

    /// A number that no other loaded kernel of this process has had.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The address of its module in the device's context, as other libraries take it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn module(&self) -> Result<usize, CudaError> {
        let cuda = self.device.bind()?;
        let mut module: *mut c_void = ptr::null_mut();
        // SAFETY: the library is loaded, and the pointer is to a local.
        let status = unsafe { (cuda.library_module)(&raw mut module, self.library) };
        cuda.check(status, || format!("asking for the module of `{}`", self.description.name))?;
        Ok(module.expose_provenance())
    }

    /// Before the code is unloaded, calls `tell` with the address of its [module](CudaKernel::module): for a library that
    /// keeps addresses in it. There is one such library at most.
    pub fn before_unload(&self, tell: fn(usize)) {
        let told = self.before_unload.get_or_init(|| tell);
        debug_assert!(
            core::ptr::fn_addr_eq(*told, tell),
            "two libraries keep addresses in `{}`",
            self.description.name
        );
    }

    /// What of a multiprocessor it takes.
    #[must_use]
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// How many programs of it a multiprocessor runs at the same time.
    ///
    /// # Errors
    /// When the driver cannot tell.
    pub fn resident_programs(&self) -> Result<u32, CudaError> {
        if let Some(&resident) = self.resident.get() {
            return Ok(resident);
        }
        let cuda = self.device.bind()?;
        let mut blocks: c_int = 0;
        let (threads, shared) = (self.needs.threads.cast_signed(), self.needs.shared_bytes as usize);
        // SAFETY: the function is loaded, and the pointer is to a local.
        let status = unsafe { (cuda.resident_blocks)(&raw mut blocks, self.function, threads, shared) };
        cuda.check(status, || format!("asking how many programs of `{}` fit", self.description.name))?;
        Ok(*self.resident.get_or_init(|| u32::try_from(blocks).unwrap_or(0)))
    }

    /// Whether a program of it may fail: it has assertions, or its accesses are checked.
    #[must_use]
    pub fn can_fail(&self) -> bool {
        self.description.can_fail
    }

    /// What it wants a table of ranks for.
    #[must_use]
    pub fn table_use(&self) -> TableUse {
        self.needs.table
    }

    /// The arguments with what no argument stands for behind them, if the kernel takes any: the address of its table of
    /// ranks, and the maps of its tensors.
    #[inline]
    fn with_extras(&self, args: &ArgBlock, tables: LaunchTables<'_>) -> Result<Option<ArgBlock>, CudaError> {
        let with_table = self.with_tables(args, tables)?;
        if self.needs.tensor_maps.is_empty() {
            return Ok(with_table);
        }
        let mut block = with_table.unwrap_or_else(|| args.clone());
        for map in &self.needs.tensor_maps {
            let map = encode_for(&self.description, map, args)?;
            block = block.with_words(map.words(), TENSOR_MAP_ALIGNMENT);
        }
        Ok(Some(block))
    }

    /// Where each argument lies, if they must be passed one by one: only the driver knows where it puts tensor maps.
    #[inline]
    fn param_pointers(&self, args: &ArgBlock) -> SmallVec<[*mut c_void; 24]> {
        let maps = self.needs.tensor_maps.len();
        let mut pointers = SmallVec::new();
        if maps == 0 {
            return pointers;
        }
        let start = args.as_ptr().cast_mut();
        let mut end = 0;
        let table = (self.needs.table != TableUse::None).then_some((8, 8));
        let bounds = if self.needs.checks { 2 * self.description.params.len() } else { 0 };
        let bounds = std::iter::repeat_n((8, 8), bounds);
        let own = self.description.params.iter().map(|param| (param.size, param.align.max(1)));
        let maps = std::iter::repeat_n((TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT), maps);
        for (size, align) in own.chain(table).chain(bounds).chain(maps) {
            let at = usize::next_multiple_of(end, align);
            end = at + size;
            pointers.push(start.wrapping_add(at).cast());
        }
        pointers
    }

    /// The arguments with what the kernel takes behind them: the address of a table, and where its memory is.
    fn with_tables(&self, args: &ArgBlock, tables: LaunchTables<'_>) -> Result<Option<ArgBlock>, CudaError> {
        let address = match (self.needs.table, tables.ranks) {
            (TableUse::None, _) => return Ok(None),
            (TableUse::Waits | TableUse::Ranks, Some(address)) => address,
            (TableUse::Waits, None) => {
                let table = rank_table::table_of(self.device)?;
                // What nobody has asked about since is told to whoever launches next.
                if let Some(stuck) = table.take_report() {
                    return Err(CudaError::Reported(Box::new(stuck)));
                }
                if let Some(bounds) = tables.bounds {
                    table.checking(bounds);
                }
                table.launching(&self.description.name)
            }
            (TableUse::Ranks, None) => {
                let name = &self.description.name;
                let text = format!(
                    "kernel `{name}` asks for its rank or reaches others: launch it as a rank of a world of this GPU"
                );
                return Err(CudaError::Invalid(text));
            }
        };
        let mut words: SmallVec<[u64; 8]> = SmallVec::from_slice(&[address]);
        if self.needs.checks {
            let mut reaches = tables.bounds.map(|bounds| bounds.reaches()).unwrap_or_default();
            reaches.resize(self.description.params.len(), ANYWHERE);
            words.extend(reaches.into_iter().flat_map(|reach| [reach.start, reach.end]));
        }
        Ok(Some(args.with_words(&words, 8)))
    }

    /// Puts a launch into a stream; it runs when what is before it in the stream is done.
    ///
    /// # Errors
    /// When the grid is too large, the arguments do not fit, or the driver refuses. What goes wrong while it runs is
    /// told by whoever waits for the stream.
    ///
    /// # Safety
    /// The kernel's code is described truthfully; `args` holds its arguments, whose pointers are valid on the device for
    /// everything the kernel does with them, until it has ended. `tables` are the launching rank's, if a rank launches.
    #[inline]
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        args: &ArgBlock,
        tables: LaunchTables<'_>,
        stream: StreamRef,
    ) -> Result<(), CudaError> {
        if self.check(grid, args)? == Programs::None {
            return Ok(());
        }
        let longer = self.with_extras(args, tables)?;
        let args = longer.as_ref().unwrap_or(args);
        let cuda = stream.bind()?;
        let mut bytes = args.len();
        let block: *mut c_void = args.as_ptr().cast_mut().cast();
        let packed = [PARAM_BUFFER, block, PARAM_BUFFER_BYTES, (&raw mut bytes).cast(), ptr::null_mut()];
        let one_by_one = self.param_pointers(args);
        let (params, extra) = passed(&one_by_one, &packed, bytes);
        let (threads, shared) = (self.needs.threads, self.needs.shared_bytes);
        let [x, y, z] = grid;
        let function = self.function_for(stream);
        // SAFETY: the function is loaded; the block has the size of its parameters and is copied by the call.
        let status = unsafe { (cuda.launch)(function, x, y, z, threads, 1, 1, shared, stream.raw(), params, extra) };
        cuda.check(status, || format!("launching `{}`", self.description.name))
    }

    /// The same with more to say about how it runs.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and when the device cannot run it so.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch_shaped(
        &self,
        grid: [u32; 3],
        args: &ArgBlock,
        tables: LaunchTables<'_>,
        (stream, shape): (StreamRef, LaunchShape),
    ) -> Result<(), CudaError> {
        if self.check(grid, args)? == Programs::None {
            return Ok(());
        }
        let longer = self.with_extras(args, tables)?;
        let args = longer.as_ref().unwrap_or(args);
        let cuda = stream.bind()?;
        let mut attributes: SmallVec<[LaunchAttribute; 3]> = SmallVec::new();
        let mut say = |id, words: &[u32]| {
            let mut value = [0; 16];
            value[..words.len()].copy_from_slice(words);
            attributes.push(LaunchAttribute { id, pad: 0, value });
        };
        if let Some(cluster) = shape.cluster {
            say(launch_attribute::CLUSTER, &cluster);
        }
        if shape.cooperative {
            say(launch_attribute::COOPERATIVE, &[1]);
        }
        if shape.programmatic {
            say(launch_attribute::PROGRAMMATIC_SERIALIZATION, &[1]);
        }
        let config = LaunchConfig {
            grid,
            block: [self.needs.threads, 1, 1],
            shared_bytes: self.needs.shared_bytes,
            stream: stream.raw(),
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as c_uint,
        };
        let mut bytes = args.len();
        let block: *mut c_void = args.as_ptr().cast_mut().cast();
        let packed = [PARAM_BUFFER, block, PARAM_BUFFER_BYTES, (&raw mut bytes).cast(), ptr::null_mut()];
        let one_by_one = self.param_pointers(args);
        let (params, extra) = passed(&one_by_one, &packed, bytes);
        // SAFETY: as in `launch`; the attributes live until the call returns.
        let status = unsafe { (cuda.launch_with)(&raw const config, self.function_for(stream), params, extra) };
        cuda.check(status, || format!("launching `{}`", self.description.name))
    }

    /// The kernel as launches in the stream's context name it.
    #[inline]
    fn function_for(&self, stream: StreamRef) -> Function {
        // In another context of the device, the driver finds the function itself.
        if stream.is_primary() { self.function } else { Function(self.kernel.0) }
    }

    #[inline]
    fn check(&self, grid: [u32; 3], args: &ArgBlock) -> Result<Programs, CudaError> {
        if grid.contains(&0) {
            return Ok(Programs::None);
        }
        if grid.iter().zip(GRID_LIMIT).any(|(&extent, limit)| extent > limit) {
            return Err(CudaError::Grid { grid });
        }
        if args.len() != self.args_bytes {
            let kernel = self.description.name.clone();
            return Err(CudaError::Arguments { kernel, expected: self.args_bytes, got: args.len() });
        }
        Ok(Programs::Some)
    }
}

/// Arguments as the driver takes them: pointers to each, or the block that holds them.
#[inline]
fn passed(
    one_by_one: &[*mut c_void],
    packed: &[*mut c_void; 5],
    bytes: usize,
) -> (*const *mut c_void, *const *mut c_void) {
    match (one_by_one.is_empty(), bytes) {
        (false, _) => (one_by_one.as_ptr(), ptr::null()),
        (true, 0) => (ptr::null(), ptr::null()),
        (true, _) => (ptr::null(), packed.as_ptr()),
    }
}

/// Whether a grid has programs.
#[derive(PartialEq, Eq)]
enum Programs {
    None,
    Some,
}

fn resources(cuda: &Functions, kernel: Kernel, device: DeviceId, needs: &NvptxNeeds) -> Result<Resources, CudaError> {
    let number = |which| {
        let mut value: c_int = 0;
        // SAFETY: the kernel is loaded, and the pointer is to a local.
        let status = unsafe { (cuda.kernel_attribute)(&raw mut value, which, kernel, device) };
        cuda.check(status, || "asking what a kernel takes".to_owned())?;
        Ok::<u32, CudaError>(u32::try_from(value).unwrap_or(0))
    };
    Ok(Resources {
        registers: number(function_attribute::REGISTERS)?,
        local_bytes: number(function_attribute::LOCAL_BYTES)?,
        shared_bytes: number(function_attribute::SHARED_BYTES)? + needs.shared_bytes,
        threads: needs.threads,
    })
}

/// Lets blocks of the kernel have as much shared memory as they want.
fn allow_shared(cuda: &Functions, device: CudaDevice, kernel: Kernel, dynamic: u32, all: u32) -> Result<(), CudaError> {
    let limit = device.properties().shared_bytes;
    if all > limit {
        return Err(CudaError::OutOfResources { what: "shared memory", required: all.into(), limit: limit.into() });
    }
    if all <= SHARED_WITHOUT_ASKING {
        return Ok(());
    }
    let which = function_attribute::MAX_DYNAMIC_SHARED_BYTES;
    // SAFETY: the kernel is loaded.
    let status = unsafe { (cuda.kernel_set_attribute)(which, dynamic.cast_signed(), kernel, device.id()) };
    cuda.check(status, || format!("asking for {dynamic} bytes of shared memory"))
}

impl Drop for CudaKernel {
    fn drop(&mut self) {
        if let Some(tell) = self.before_unload.get()
            && let Ok(module) = self.module()
        {
            tell(module);
        }
        if let Ok(cuda) = self.device.bind() {
            // SAFETY: it was loaded for this object. The driver waits for launches of it.
            unsafe { (cuda.library_unload)(self.library) };
        }
    }
}
