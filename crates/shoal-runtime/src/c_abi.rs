//! The C interface: what the C files that `shoal compile` makes describe their kernels with, and call.
//!
//! The structures here are repeated in every such file (`crates/shoal/src/aot/c_source.rs` writes them);
//! [`AHEAD_OF_TIME_VERSION`] changes whenever they do. Functions return a [`Status`]; the text of the last error of the calling
//! thread is at [`shoal_aot_error`]. No panic leaves them.

use core::ffi::{CStr, c_char, c_void};
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use half::{bf16, f16};
use shoal_abi::AHEAD_OF_TIME_VERSION;
use shoal_driver::LaunchError;
use shoal_driver::cuda::{CudaError, StreamRef};

use crate::{Error, Family, Loaded, Param, Slot, Variant, WordKind};

/// How a call ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Ok = 0,
    /// No compiled variant takes the arguments.
    NoVariant = 1,
    /// The code is for other CPUs, or other GPUs.
    Cpu = 2,
    /// An argument that cannot be: a configuration, a grid.
    Argument = 3,
    /// Code could not be loaded, or memory or threads were refused.
    System = 4,
    /// A program of the kernel failed.
    KernelFailed = 5,
    /// Programs of the kernel waited for each other in vain.
    Stuck = 6,
    /// A bug in Shoal.
    Internal = 7,
}

/// A launch grid.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CGrid {
    /// Programs along x, y and z.
    pub extents: [u32; 3],
}

/// A family as C describes it.
#[repr(C)]
#[derive(Debug)]
pub struct CFamily {
    /// [`AHEAD_OF_TIME_VERSION`].
    pub version: u32,
    /// How many configurations there are.
    pub configurations: u32,
    /// The kernel's name.
    pub name: *const c_char,
    /// The parameters.
    pub params: *const CParam,
    /// How many.
    pub param_count: usize,
    /// The variants, in the order in which they are tried.
    pub variants: *const CVariant,
    /// How many.
    pub variant_count: usize,
    /// The same for Rust, once it is made.
    pub state: AtomicPtr<Family>,
}

/// A parameter as C describes it.
#[repr(C)]
#[derive(Debug)]
pub struct CParam {
    /// Its name.
    pub name: *const c_char,
    /// The number of its [`WordKind`].
    pub kind: u32,
}

/// A variant as C describes it.
#[repr(C)]
#[derive(Debug)]
pub struct CVariant {
    /// The signature it was compiled for.
    pub signature: *const c_char,
    /// What the compiler states about it; see [`Variant::description`].
    pub description: *const c_char,
    /// One for each parameter of the family.
    pub slots: *const CSlot,
    /// Its relocatable object.
    pub object: *const u8,
    /// How long.
    pub object_bytes: usize,
    /// The configuration it belongs to.
    pub configuration: u32,
}

/// What a variant asks of an argument, as C describes it.
#[repr(C)]
#[derive(Debug)]
pub struct CSlot {
    /// The argument must be a multiple of this.
    pub divisible: u64,
    /// The argument must be this, if `must_equal`.
    pub equals: i64,
    /// Whether `equals` counts.
    pub must_equal: u32,
    /// Bytes in the argument block; 0 when the value is compiled in.
    pub bytes: u32,
}

/// Loads the code for this CPU and starts the threads. Launches do it by themselves; this moves it to a moment of
/// choice.
///
/// # Safety
/// `family` is a truthful description that lives as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shoal_aot_load(family: *const CFamily) -> Status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { described(family) }?.load())
}

/// Launches the variant that the arguments fit; `words` has one for each parameter.
///
/// # Safety
/// As [`shoal_aot_load`] and [`Family::launch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shoal_aot_launch(
    family: *const CFamily,
    configuration: u32,
    grid: CGrid,
    words: *const u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let family = described(family)?;
            family.launch(configuration, grid.extents, array(words, family.params.len()))
        }
    })
}

/// Puts the variant that the arguments fit into a stream of CUDA, and returns at once; `words` has one for each parameter.
/// The stream belongs to the calling thread's context; null is the default stream of it, or of the first GPU if the thread
/// has none.
///
/// # Safety
/// As [`shoal_aot_load`] and [`Family::launch_in`]; the stream lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shoal_aot_launch_in(
    family: *const CFamily,
    configuration: u32,
    stream: *mut c_void,
    grid: CGrid,
    words: *const u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let family = described(family)?;
            let stream = StreamRef::of_current(stream.expose_provenance())?;
            family.launch_in(configuration, stream, grid.extents, array(words, family.params.len()))
        }
    })
}

/// The signature of the variant that a launch with these arguments takes; null if there is none.
///
/// # Safety
/// As [`shoal_aot_load`]; `words` has one word for each parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shoal_aot_variant_of(
    family: *const CFamily,
    configuration: u32,
    words: *const u64,
) -> *const c_char {
    let mut found = ptr::null();
    guarded(|| {
        // SAFETY: the caller's promises. Variants are made in the order of their descriptions.
        unsafe {
            let known = described(family)?;
            let chosen = known.choose(configuration, array(words, known.params.len()))?;
            let at = known.variants.iter().position(|variant| ptr::eq(variant, chosen));
            found = at.map_or(ptr::null(), |at| (*(*family).variants.add(at)).signature);
        }
        Ok(())
    });
    found
}

/// The text of this thread's last error, until its next one; empty before the first.
#[unsafe(no_mangle)]
pub extern "C" fn shoal_aot_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

/// The bits of a number as `fp16`.
#[unsafe(no_mangle)]
pub extern "C" fn shoal_aot_f16(value: f32) -> u64 {
    f16::from_f32(value).to_bits().into()
}

/// The bits of a number as `bf16`.
#[unsafe(no_mangle)]
pub extern "C" fn shoal_aot_bf16(value: f32) -> u64 {
    bf16::from_f32(value).to_bits().into()
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs `f`; keeps its error's text and returns its status.
fn guarded(f: impl FnOnce() -> Result<(), Error>) -> Status {
    let (status, text) = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(error)) => (status(&error), error.to_string()),
        Err(_) => (Status::Internal, "the runtime panicked: this is a bug in Shoal, please report it".to_owned()),
    };
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    LAST_ERROR.with_borrow_mut(|last| *last = text);
    status
}

fn status(error: &Error) -> Status {
    match error {
        Error::NoVariant { .. } => Status::NoVariant,
        Error::Cpu { .. } | Error::Gpu { .. } | Error::Place { .. } | Error::Launch(LaunchError::Feature { .. }) => {
            Status::Cpu
        }
        Error::Configuration { .. }
        | Error::Grid { .. }
        | Error::Launch(LaunchError::Grid { .. })
        | Error::Cuda(CudaError::Grid { .. }) => Status::Argument,
        Error::Load(_)
        | Error::Memory(_)
        | Error::Device(_)
        | Error::Description(_)
        | Error::Cuda(_)
        | Error::Launch(LaunchError::Memory { .. }) => Status::System,
        Error::Launch(LaunchError::Failed { .. }) => Status::KernelFailed,
        Error::Launch(LaunchError::Stuck { .. }) => Status::Stuck,
        // Nothing interrupts these launches, and arguments are packed here.
        Error::Kernel(_) | Error::Launch(_) => Status::Internal,
    }
}

/// The family that C describes, made at the first call.
///
/// # Safety
/// `family` is null or a truthful description that lives as long as the program.
unsafe fn described(family: *const CFamily) -> Result<&'static Family, Error> {
    // SAFETY: the caller's promise.
    let Some(description) = (unsafe { family.as_ref() }) else {
        return Err(Error::Description("the description of the kernel is a null pointer".into()));
    };
    // SAFETY: only ever set below, to memory that is never freed.
    if let Some(known) = unsafe { description.state.load(Ordering::Acquire).as_ref() } {
        return Ok(known);
    }
    if description.version != AHEAD_OF_TIME_VERSION {
        return Err(Error::Description(format!(
            "the kernel was compiled for version {} of the runtime's interface, but the runtime has version {AHEAD_OF_TIME_VERSION}; \
             compile and link with one release of Shoal",
            description.version
        )));
    }
    // SAFETY: the caller's promise.
    let made = Box::into_raw(Box::new(unsafe { read(description) }?));
    let kept = description.state.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    // SAFETY: `made` is fresh; when another thread was faster it is freed, and that thread's is taken. What `read`
    // leaked for it stays: a few bytes, once.
    Ok(unsafe {
        match kept {
            Ok(_) => &*made,
            Err(theirs) => {
                drop(Box::from_raw(made));
                &*theirs
            }
        }
    })
}

/// # Safety
/// The description is truthful and lives as long as the program.
unsafe fn read(family: &CFamily) -> Result<Family, Error> {
    // SAFETY: the caller's promise covers all texts and arrays.
    unsafe {
        let params = array(family.params, family.param_count);
        let variants = array(family.variants, family.variant_count).iter();
        let variants: Vec<Variant> = variants.map(|v| read_variant(v, params.len())).collect();
        let param = |p: &CParam| {
            let (name, kind) = (text(p.name), WordKind::from_number(p.kind));
            let unknown = || Error::Description(format!("`{name}` is a parameter of no kind that there is"));
            Ok(Param { name, kind: kind.ok_or_else(unknown)? })
        };
        let params: Vec<Param> = params.iter().map(param).collect::<Result<_, Error>>()?;
        Ok(Family {
            name: text(family.name),
            params: params.leak(),
            configurations: family.configurations,
            variants: variants.leak(),
        })
    }
}

/// # Safety
/// As [`read`].
unsafe fn read_variant(variant: &CVariant, params: usize) -> Variant {
    let slot = |slot: &CSlot| Slot {
        bytes: slot.bytes as u8,
        divisible: slot.divisible,
        equals: (slot.must_equal != 0).then_some(slot.equals),
    };
    // SAFETY: the caller's promise.
    unsafe {
        Variant {
            signature: text(variant.signature),
            configuration: variant.configuration,
            slots: array(variant.slots, params).iter().map(slot).collect::<Vec<_>>().leak(),
            description: text(variant.description),
            object: array(variant.object, variant.object_bytes),
            loaded: Loaded::new(),
        }
    }
}

/// # Safety
/// `text` is null or a text that lives as long as the program.
unsafe fn text(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("(not UTF-8)")
}

/// # Safety
/// `first` points at `count` values that live as long as they are used, or `count` is 0.
unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(first, count) }
}
