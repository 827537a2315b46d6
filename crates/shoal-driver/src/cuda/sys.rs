//! The driver's C interface, as far as it is used: types, numbers, and the table of functions.
//!
//! Names are CUDA's own without the prefix `cu`; symbols carry the version that the types here belong to.

use core::ffi::{c_char, c_float, c_int, c_uint, c_void};

/// What every function returns; 0 is success.
pub(crate) type Status = c_uint;
/// An address in a device's memory.
pub(crate) type DevicePtr = u64;
/// A number that stands for a device.
pub(crate) type DeviceId = c_int;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);

        impl $name {
            /// No object.
            pub(crate) const NULL: Self = Self(core::ptr::null_mut());
        }

        // SAFETY: the driver's objects may be used from any thread; a handle is only their name.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )* };
}
handles! {
    /// A context.
    Context;
    /// A queue of work.
    StreamHandle;
    /// Where memory comes from.
    MemoryPool;
    /// A point in a queue.
    EventHandle;
    /// Loaded code, in every context.
    Library;
    /// A kernel of a library.
    Kernel;
    /// A kernel in one context.
    Function;
    /// Code that is being linked.
    LinkState;
    /// Captured work.
    GraphHandle;
    /// Captured work, ready to be launched.
    GraphExec;
    /// A context with a part of the multiprocessors.
    GreenContext;
    /// A description of a part of the multiprocessors.
    ResourceDesc;
}

/// The driver's code for success.
pub(crate) const SUCCESS: Status = 0;
/// There is no work left in a stream, or it is not known yet.
pub(crate) const NOT_READY: Status = 600;

/// Numbers of device attributes.
pub(crate) mod device_attribute {
    use core::ffi::c_int;
    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(crate) const WARP_SIZE: c_int = 10;
    pub(crate) const MAX_REGISTERS_PER_BLOCK: c_int = 12;
    pub(crate) const CLOCK_RATE: c_int = 13;
    pub(crate) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(crate) const MEMORY_CLOCK_RATE: c_int = 36;
    pub(crate) const MEMORY_BUS_WIDTH: c_int = 37;
    pub(crate) const L2_CACHE_SIZE: c_int = 38;
    pub(crate) const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub(crate) const CAPABILITY_MAJOR: c_int = 75;
    pub(crate) const CAPABILITY_MINOR: c_int = 76;
    pub(crate) const MAX_SHARED_MEMORY_OPT_IN: c_int = 97;
}

/// Numbers of function attributes.
pub(crate) mod function_attribute {
    use core::ffi::c_int;
    pub(crate) const SHARED_BYTES: c_int = 1;
    pub(crate) const LOCAL_BYTES: c_int = 3;
    pub(crate) const REGISTERS: c_int = 4;
    pub(crate) const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
}

/// Numbers of options for the driver's assembler.
pub(crate) mod jit_option {
    use core::ffi::c_int;
    pub(crate) const ERROR_LOG: c_int = 5;
    pub(crate) const ERROR_LOG_BYTES: c_int = 6;
    pub(crate) const LINE_INFO: c_int = 13;
}

/// The pointer attribute that says whose memory an address is.
pub(crate) const POINTER_DEVICE: c_int = 9;
/// What is given to the linker: PTX.
pub(crate) const INPUT_PTX: c_int = 1;
/// Memory of the host that all devices see.
pub(crate) const HOST_PORTABLE: c_uint = 1;
/// Memory of the host that devices reach by address.
pub(crate) const HOST_DEVICE_MAPPED: c_uint = 2;
/// The attribute of a memory pool that says how much it keeps when nobody uses it.
pub(crate) const POOL_RELEASE_THRESHOLD: c_int = 4;
/// A stream that waits for the default stream and the other way round.
pub(crate) const STREAM_BLOCKING: c_uint = 0;
/// A stream that does not.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// An event without a time.
pub(crate) const EVENT_NO_TIMING: c_uint = 2;
/// Only what this thread does is captured.
pub(crate) const CAPTURE_THREAD_LOCAL: c_int = 1;
/// A green context with a stream of its own.
pub(crate) const GREEN_DEFAULT_STREAM: c_uint = 1;
/// The resource of multiprocessors.
pub(crate) const RESOURCE_SM: c_int = 1;

/// How the arguments of a launch are passed: as one packed block.
pub(crate) const PARAM_BUFFER: *mut c_void = core::ptr::without_provenance_mut(1);
/// Its size follows.
pub(crate) const PARAM_BUFFER_BYTES: *mut c_void = core::ptr::without_provenance_mut(2);

/// Numbers of launch attributes.
pub(crate) mod launch_attribute {
    use core::ffi::c_int;
    pub(crate) const COOPERATIVE: c_int = 2;
    pub(crate) const CLUSTER: c_int = 4;
    pub(crate) const PROGRAMMATIC_SERIALIZATION: c_int = 6;
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_int,
    pub(crate) pad: c_int,
    pub(crate) value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) stream: StreamHandle,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUdevResource` of multiprocessors, first version.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DeviceResource {
    pub(crate) kind: c_int,
    pub(crate) internal: [u8; 92],
    pub(crate) sm_count: c_uint,
    pub(crate) reserved: [u8; 44],
}

/// A piece of a device's memory that has no address yet.
pub(crate) type PieceHandle = u64;

/// Numbers of memory that is mapped by hand.
pub(crate) mod piece {
    use core::ffi::c_int;
    pub(crate) const PINNED: c_int = 1;
    pub(crate) const POSIX_FILE: c_int = 1;
    pub(crate) const ON_DEVICE: c_int = 1;
    pub(crate) const READ_WRITE: c_int = 3;
    pub(crate) const RECOMMENDED_GRANULARITY: c_int = 1;
}

/// `CUmemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PieceLocation {
    pub(crate) kind: c_int,
    pub(crate) device: DeviceId,
}

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PieceProperties {
    pub(crate) kind: c_int,
    pub(crate) handle_kinds: c_int,
    pub(crate) location: PieceLocation,
    pub(crate) windows_data: *mut c_void,
    pub(crate) flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PieceAccess {
    pub(crate) location: PieceLocation,
    pub(crate) flags: c_int,
}

/// `CUtensorMap`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct TensorMapWords(pub(crate) [u64; 16]);

macro_rules! functions {
    (required { $($field:ident = $symbol:literal($($arg:ty),*);)* } optional { $($late:ident = $late_symbol:literal($($late_arg:ty),*);)* }) => {
        /// The functions of the driver.
        pub(crate) struct Functions {
            $( pub(crate) $field: unsafe extern "C" fn($($arg),*) -> Status, )*
            $( pub(crate) $late: Option<unsafe extern "C" fn($($late_arg),*) -> Status>, )*
        }

        impl Functions {
            /// Finds all functions; the name of the first that is missing, if one is.
            ///
            /// # Safety
            /// The library is the CUDA driver, and is never unloaded.
            pub(crate) unsafe fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the driver's function of this name and version has this type.
                    $( $field: *unsafe { library.get($symbol.as_bytes()) }.map_err(|_| $symbol)?, )*
                    // SAFETY: as above.
                    $( $late: unsafe { library.get($late_symbol.as_bytes()) }.ok().map(|found| *found), )*
                })
            }
        }
    };
}

functions! {
    required {
        init = "cuInit"(c_uint);
        driver_version = "cuDriverGetVersion"(*mut c_int);
        error_name = "cuGetErrorName"(Status, *mut *const c_char);
        error_text = "cuGetErrorString"(Status, *mut *const c_char);
        device_count = "cuDeviceGetCount"(*mut c_int);
        device = "cuDeviceGet"(*mut DeviceId, c_int);
        device_name = "cuDeviceGetName"(*mut c_char, c_int, DeviceId);
        device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, DeviceId);
        device_memory = "cuDeviceTotalMem_v2"(*mut usize, DeviceId);
        primary_context = "cuDevicePrimaryCtxRetain"(*mut Context, DeviceId);
        set_context = "cuCtxSetCurrent"(Context);
        current_context = "cuCtxGetCurrent"(*mut Context);
        context_device = "cuCtxGetDevice"(*mut DeviceId);
        context_synchronize = "cuCtxSynchronize"();
        pointer_attribute = "cuPointerGetAttribute"(*mut c_void, c_int, DevicePtr);
        memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        alloc = "cuMemAlloc_v2"(*mut DevicePtr, usize);
        free = "cuMemFree_v2"(DevicePtr);
        alloc_async = "cuMemAllocAsync"(*mut DevicePtr, usize, StreamHandle);
        free_async = "cuMemFreeAsync"(DevicePtr, StreamHandle);
        copy_to_device = "cuMemcpyHtoDAsync_v2"(DevicePtr, *const c_void, usize, StreamHandle);
        copy_to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, DevicePtr, usize, StreamHandle);
        copy_on_device = "cuMemcpyDtoDAsync_v2"(DevicePtr, DevicePtr, usize, StreamHandle);
        fill_bytes = "cuMemsetD8Async"(DevicePtr, u8, usize, StreamHandle);
        host_alloc = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
        host_free = "cuMemFreeHost"(*mut c_void);
        host_device_pointer = "cuMemHostGetDevicePointer_v2"(*mut DevicePtr, *mut c_void, c_uint);
        stream_create = "cuStreamCreate"(*mut StreamHandle, c_uint);
        stream_destroy = "cuStreamDestroy_v2"(StreamHandle);
        stream_synchronize = "cuStreamSynchronize"(StreamHandle);
        stream_query = "cuStreamQuery"(StreamHandle);
        stream_wait_event = "cuStreamWaitEvent"(StreamHandle, EventHandle, c_uint);
        stream_write_32 = "cuStreamWriteValue32_v2"(StreamHandle, DevicePtr, c_uint, c_uint);
        stream_write_64 = "cuStreamWriteValue64_v2"(StreamHandle, DevicePtr, u64, c_uint);
        stream_wait_32 = "cuStreamWaitValue32_v2"(StreamHandle, DevicePtr, c_uint, c_uint);
        stream_wait_64 = "cuStreamWaitValue64_v2"(StreamHandle, DevicePtr, u64, c_uint);
        capture_begin = "cuStreamBeginCapture_v2"(StreamHandle, c_int);
        capture_end = "cuStreamEndCapture"(StreamHandle, *mut GraphHandle);
        capture_status = "cuStreamIsCapturing"(StreamHandle, *mut c_int);
        graph_instantiate = "cuGraphInstantiateWithFlags"(*mut GraphExec, GraphHandle, u64);
        graph_launch = "cuGraphLaunch"(GraphExec, StreamHandle);
        graph_destroy = "cuGraphDestroy"(GraphHandle);
        graph_exec_destroy = "cuGraphExecDestroy"(GraphExec);
        event_create = "cuEventCreate"(*mut EventHandle, c_uint);
        event_record = "cuEventRecord"(EventHandle, StreamHandle);
        event_synchronize = "cuEventSynchronize"(EventHandle);
        event_elapsed = "cuEventElapsedTime"(*mut c_float, EventHandle, EventHandle);
        event_destroy = "cuEventDestroy_v2"(EventHandle);
        link_create = "cuLinkCreate_v2"(c_uint, *const c_int, *const *mut c_void, *mut LinkState);
        link_add = "cuLinkAddData_v2"(LinkState, c_int, *const c_void, usize, *const c_char, c_uint, *const c_int, *const *mut c_void);
        link_complete = "cuLinkComplete"(LinkState, *mut *const c_void, *mut usize);
        link_destroy = "cuLinkDestroy"(LinkState);
        library_load = "cuLibraryLoadData"(*mut Library, *const c_void, *const c_int, *const *mut c_void, c_uint, *const c_int, *const *mut c_void, c_uint);
        library_unload = "cuLibraryUnload"(Library);
        library_kernel = "cuLibraryGetKernel"(*mut Kernel, Library, *const c_char);
        library_module = "cuLibraryGetModule"(*mut *mut c_void, Library);
        kernel_function = "cuKernelGetFunction"(*mut Function, Kernel);
        kernel_set_attribute = "cuKernelSetAttribute"(c_int, c_int, Kernel, DeviceId);
        kernel_attribute = "cuKernelGetAttribute"(*mut c_int, c_int, Kernel, DeviceId);
        launch = "cuLaunchKernel"(Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle, *const *mut c_void, *const *mut c_void);
        launch_with = "cuLaunchKernelEx"(*const LaunchConfig, Function, *const *mut c_void, *const *mut c_void);
        host_function = "cuLaunchHostFunc"(StreamHandle, unsafe extern "C" fn(*mut c_void), *mut c_void);
        default_pool = "cuDeviceGetDefaultMemPool"(*mut MemoryPool, DeviceId);
        pool_set = "cuMemPoolSetAttribute"(MemoryPool, c_int, *mut c_void);
        device_uuid = "cuDeviceGetUuid_v2"(*mut [u8; 16], DeviceId);
        piece_granularity = "cuMemGetAllocationGranularity"(*mut usize, *const PieceProperties, c_int);
        piece_create = "cuMemCreate"(*mut PieceHandle, usize, *const PieceProperties, u64);
        piece_release = "cuMemRelease"(PieceHandle);
        piece_export = "cuMemExportToShareableHandle"(*mut c_void, PieceHandle, c_int, u64);
        piece_import = "cuMemImportFromShareableHandle"(*mut PieceHandle, *mut c_void, c_int);
        range_reserve = "cuMemAddressReserve"(*mut DevicePtr, usize, usize, DevicePtr, u64);
        range_free = "cuMemAddressFree"(DevicePtr, usize);
        range_map = "cuMemMap"(DevicePtr, usize, usize, PieceHandle, u64);
        range_unmap = "cuMemUnmap"(DevicePtr, usize);
        range_access = "cuMemSetAccess"(DevicePtr, usize, *const PieceAccess, usize);
        resident_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, Function, c_int, usize);
    }
    optional {
        tensor_map_tiled = "cuTensorMapEncodeTiled"(*mut TensorMapWords, c_int, c_uint, DevicePtr, *const u64, *const u64, *const c_uint, *const c_uint, c_int, c_int, c_int, c_int);
        device_resource = "cuDeviceGetDevResource"(DeviceId, *mut DeviceResource, c_int);
        split_multiprocessors = "cuDevSmResourceSplitByCount"(*mut DeviceResource, *mut c_uint, *const DeviceResource, *mut DeviceResource, c_uint, c_uint);
        resource_desc = "cuDevResourceGenerateDesc"(*mut ResourceDesc, *mut DeviceResource, c_uint);
        green_create = "cuGreenCtxCreate"(*mut GreenContext, ResourceDesc, DeviceId, c_uint);
        green_destroy = "cuGreenCtxDestroy"(GreenContext);
        green_context = "cuCtxFromGreenCtx"(*mut Context, GreenContext);
        green_stream = "cuGreenCtxStreamCreate"(*mut StreamHandle, GreenContext, c_uint, c_int);
    }
}
