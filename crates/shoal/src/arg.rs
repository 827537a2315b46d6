//! Launch arguments: what Rust values become when they are passed to a kernel.
//!
//! The rules are Triton's: integers take the smallest of `i32`, `i64` and `u64` that holds the *value*, whatever their
//! Rust type; floats are `f32` unless the parameter is annotated otherwise; a slice or a tensor is a pointer.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use shoal_driver::cuda::CudaBuffer;
use shoal_lang::{Access, HostNamedTuple, HostValue};
use shoal_world::{Rank, SignalPad, Symm};
use smallvec::SmallVec;

use crate::descriptor::TensorDescriptor;
use crate::{DType, Element, Tensor};

/// One argument of a launch.
#[derive(Debug, Clone)]
pub enum Arg<'a> {
    /// Nothing: known at compile time.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// Memory.
    Memory(Memory<'a>),
    /// A view of a tensor that is read and written in blocks.
    Descriptor(&'a TensorDescriptor<'a>),
    /// Several arguments for one parameter.
    Tuple(Vec<Arg<'a>>),
    /// Several arguments for one parameter, with the names that a class of the host program gives them.
    NamedTuple(Arc<HostNamedTuple>, Vec<Arg<'a>>),
    /// A text; only for `constexpr` parameters.
    Text(Cow<'a, str>),
    /// An element type; only for `constexpr` parameters.
    DType(DType),
    /// A function of the kernel's file by its name; only for `constexpr` parameters.
    Function(Cow<'a, str>),
    /// A value of the host program, for kernels that live there (see [`Module::from_host`](crate::Module::from_host)).
    /// Always compiled in.
    Host(HostValue),
}

/// Memory that a kernel gets a pointer to.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// With its provenance exposed, so that arguments can be kept and sent like the references they are made from.
    pub(crate) address: usize,
    /// Bytes before the address that belong to it: strides may be negative.
    pub(crate) before: usize,
    pub(crate) bytes: usize,
    pub(crate) dtype: DType,
    pub(crate) access: Access,
    pub(crate) location: Location,
    life: PhantomData<&'a [u8]>,
}

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// The host's.
    Host,
    /// That of the GPU of this number.
    Cuda(u32),
}

impl<'a> Memory<'a> {
    /// The size of memory that nobody knows the size of: native code takes the address alone, and what checks accesses
    /// leaves such memory unchecked.
    pub const UNMEASURED: usize = usize::MAX;

    /// What the pointer points at.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where it is, with its provenance exposed.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The addresses that belong to it; `None` when nobody knows its size, or no memory lies there.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        let end = self.address.checked_add(self.bytes).filter(|_| self.bytes != Memory::UNMEASURED)?;
        Some(self.address.checked_sub(self.before)?..end)
    }

    /// Whether the kernel may write to it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Memory of another program's making, such as a NumPy array.
    ///
    /// # Safety
    /// For as long as `'a`, `bytes` bytes at `address` are initialised memory that may be read, and written if `access`
    /// says so; its provenance was exposed. Kernels trust the address as they trust a reference.
    #[must_use]
    #[expect(unsafe_code, reason = "the caller promises what a reference would")]
    pub unsafe fn from_raw(address: usize, bytes: usize, dtype: DType, access: Access) -> Memory<'a> {
        Memory { address, before: 0, bytes, dtype, access, location: Location::Host, life: PhantomData }
    }

    /// Memory of a GPU.
    ///
    /// # Safety
    /// As for [`Memory::from_raw`], on that GPU and until what is launched with it is done.
    #[must_use]
    #[expect(unsafe_code, reason = "the caller promises what a reference would")]
    pub unsafe fn on_cuda(self, ordinal: u32) -> Memory<'a> {
        Memory { location: Location::Cuda(ordinal), ..self }
    }

    /// Whose memory it is.
    #[must_use]
    pub fn location(&self) -> Location {
        self.location
    }

    fn device<T: Element>(buffer: &'a CudaBuffer<T>, access: Access) -> Memory<'a> {
        Memory {
            address: buffer.address() as usize,
            before: 0,
            bytes: buffer.bytes(),
            dtype: T::DTYPE,
            access,
            location: Location::Cuda(buffer.device().ordinal()),
            life: PhantomData,
        }
    }

    /// The same, with so many bytes before the address.
    ///
    /// # Safety
    /// As for [`Memory::from_raw`], for those bytes.
    #[must_use]
    #[expect(unsafe_code, reason = "the caller promises what a reference would")]
    pub unsafe fn reaching_back(self, before: usize) -> Memory<'a> {
        Memory { before, ..self }
    }

    /// A place that only a checked world has: it is never followed, only told to the interpreter.
    pub(crate) fn nowhere(address: usize, bytes: usize, dtype: DType, access: Access) -> Memory<'a> {
        Memory { address, before: 0, bytes, dtype, access, location: Location::Host, life: PhantomData }
    }

    fn shared<T: Element>(values: &'a [T]) -> Memory<'a> {
        Memory {
            address: values.as_ptr().expose_provenance(),
            before: 0,
            bytes: size_of_val(values),
            dtype: T::DTYPE,
            access: Access::ReadOnly,
            location: Location::Host,
            life: PhantomData,
        }
    }

    /// This rank's part of a symmetric buffer. Other ranks and their kernels may write to it meanwhile.
    fn symmetric<T: Element + shoal_world::Element>(buffer: &'a Symm<T>) -> Memory<'a> {
        Memory {
            bytes: buffer.len() * size_of::<T>(),
            dtype: T::DTYPE,
            ..Memory::of_rank(buffer.rank(), buffer.offset())
        }
    }

    /// This rank's signal pad: 32-bit slots.
    fn pad(pad: &'a SignalPad) -> Memory<'a> {
        // The segment begins with the pad.
        Memory { bytes: pad.slots() * size_of::<u32>(), ..Memory::of_rank(pad.rank(), 0) }
    }

    /// A place in a rank's own segment, of unsigned words and of no size yet.
    fn of_rank(rank: &Rank, offset: usize) -> Memory<'a> {
        let (base, location) = match rank.gpu() {
            Some(gpu) => (gpu.address(rank.rank()) as usize, Location::Cuda(gpu.device().ordinal())),
            None => {
                let base = rank.base(rank.rank()).expect("a rank reaches its own memory");
                (base.as_ptr().expose_provenance(), Location::Host)
            }
        };
        Memory {
            address: base + offset,
            before: 0,
            bytes: 0,
            dtype: DType::U32,
            access: Access::ReadWrite,
            location,
            life: PhantomData,
        }
    }

    fn exclusive<T: Element>(values: &'a mut [T]) -> Memory<'a> {
        Memory {
            address: values.as_mut_ptr().expose_provenance(),
            before: 0,
            bytes: size_of_val(values),
            dtype: T::DTYPE,
            access: Access::ReadWrite,
            location: Location::Host,
            life: PhantomData,
        }
    }
}

impl<'a> From<&'a Tensor> for Memory<'a> {
    fn from(tensor: &'a Tensor) -> Memory<'a> {
        Memory {
            address: tensor.as_ptr().expose_provenance(),
            before: 0,
            bytes: tensor.bytes().len(),
            dtype: tensor.dtype(),
            access: Access::ReadWrite,
            location: Location::Host,
            life: PhantomData,
        }
    }
}

impl Arg<'_> {
    /// What it is, in words for messages.
    pub(crate) fn described(&self) -> String {
        match self {
            Arg::None => "None".into(),
            Arg::Bool(value) => format!("the truth value {value}"),
            Arg::Int(value) => format!("the integer {value}"),
            Arg::Float(value) => format!("the float {value}"),
            Arg::Memory(memory) => format!("a pointer to {}", crate::dtype_name(memory.dtype)),
            Arg::Descriptor(descriptor) => format!("a tensor descriptor of {}", crate::dtype_name(descriptor.dtype())),
            Arg::Tuple(items) => format!("a tuple of {}", items.len()),
            Arg::NamedTuple(class, _) => format!("a named tuple `{}`", class.name),
            Arg::Text(text) => format!("the text \"{text}\""),
            Arg::DType(dtype) => format!("the type {}", crate::dtype_name(*dtype)),
            Arg::Function(name) => format!("the function `{name}`"),
            Arg::Host(value) => format!("`{value}`"),
        }
    }
}

macro_rules! from_int {
    ($($t:ty),*) => { $( impl From<$t> for Arg<'_> { fn from(value: $t) -> Self { Arg::Int(value as i128) } } )* };
}
from_int!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, usize);

macro_rules! from_owned {
    ($($t:ty, $value:ident => $arg:expr;)*) => { $( impl From<$t> for Arg<'_> { fn from($value: $t) -> Self { $arg } } )* };
}
from_owned! {
    bool, value => Arg::Bool(value);
    f32, value => Arg::Float(value.into());
    f64, value => Arg::Float(value);
    (), _unit => Arg::None;
    DType, dtype => Arg::DType(dtype);
    HostValue, value => Arg::Host(value);
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Arg::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Arg::Memory(tensor.into())
    }
}

impl<'a> From<&'a mut Tensor> for Arg<'a> {
    fn from(tensor: &'a mut Tensor) -> Self {
        Arg::Memory(Memory::from(&*tensor))
    }
}

impl<'a, T: Element> From<&'a [T]> for Arg<'a> {
    fn from(values: &'a [T]) -> Self {
        Arg::Memory(Memory::shared(values))
    }
}

impl<'a, T: Element> From<&'a mut [T]> for Arg<'a> {
    fn from(values: &'a mut [T]) -> Self {
        Arg::Memory(Memory::exclusive(values))
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Arg<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        Arg::Memory(Memory::shared(values))
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for Arg<'a> {
    fn from(values: &'a mut Vec<T>) -> Self {
        Arg::Memory(Memory::exclusive(values))
    }
}

impl<'a, T: Element + shoal_world::Element> From<&'a Symm<T>> for Arg<'a> {
    fn from(buffer: &'a Symm<T>) -> Self {
        Arg::Memory(Memory::symmetric(buffer))
    }
}

/// Kernels read it.
impl<'a, T: Element> From<&'a CudaBuffer<T>> for Arg<'a> {
    fn from(buffer: &'a CudaBuffer<T>) -> Self {
        Arg::Memory(Memory::device(buffer, Access::ReadOnly))
    }
}

/// Kernels read and write it.
impl<'a, T: Element> From<&'a mut CudaBuffer<T>> for Arg<'a> {
    fn from(buffer: &'a mut CudaBuffer<T>) -> Self {
        Arg::Memory(Memory::device(buffer, Access::ReadWrite))
    }
}

impl<'a> From<&'a SignalPad> for Arg<'a> {
    fn from(pad: &'a SignalPad) -> Self {
        Arg::Memory(Memory::pad(pad))
    }
}

impl<'a> From<&'a TensorDescriptor<'a>> for Arg<'a> {
    fn from(descriptor: &'a TensorDescriptor<'a>) -> Self {
        Arg::Descriptor(descriptor)
    }
}

impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Arg::None, Into::into)
    }
}

impl<'a> From<Vec<Arg<'a>>> for Arg<'a> {
    fn from(items: Vec<Arg<'a>>) -> Self {
        Arg::Tuple(items)
    }
}

macro_rules! from_tuple {
    ($($($name:ident)*;)*) => { $(
        impl<'a, $($name: Into<Arg<'a>>),*> From<($($name,)*)> for Arg<'a> {
            #[expect(non_snake_case, reason = "each variable is named after its type parameter")]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Arg::Tuple(vec![$($name.into()),*])
            }
        }
    )* };
}
from_tuple! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

/// The arguments of a launch: by position, then by name. Made by [`args!`](crate::args).
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    pub(crate) positional: SmallVec<[Arg<'a>; 20]>,
    pub(crate) named: SmallVec<[(&'a str, Arg<'a>); 8]>,
}

impl<'a> Args<'a> {
    /// No arguments.
    #[must_use]
    pub fn new() -> Args<'a> {
        Args::default()
    }

    /// Adds an argument by position.
    pub fn push(&mut self, arg: impl Into<Arg<'a>>) -> &mut Args<'a> {
        self.positional.push(arg.into());
        self
    }

    /// Adds an argument by name.
    pub fn set(&mut self, name: &'a str, arg: impl Into<Arg<'a>>) -> &mut Args<'a> {
        self.named.push((name, arg.into()));
        self
    }
}

/// The arguments of a launch: positional ones, then `NAME = value`.
///
/// ```
/// let x = [1.0f32, 2.0];
/// let mut out = [0.0f32; 2];
/// let args = shoal::args!(&x[..], &mut out[..], 2, BLOCK = 16);
/// # let _ = args;
/// ```
#[macro_export]
macro_rules! args {
    (@into $args:ident) => {};
    (@into $args:ident $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $args.set(::core::stringify!($name), $value);
        $($crate::args!(@into $args $($rest)*);)?
    };
    (@into $args:ident $value:expr $(, $($rest:tt)*)?) => {
        $args.push($value);
        $($crate::args!(@into $args $($rest)*);)?
    };
    ($($all:tt)*) => {{
        #[allow(unused_mut, reason = "a kernel may take no arguments")]
        let mut args = $crate::Args::new();
        $crate::args!(@into args $($all)*);
        args
    }};
}
