//! What Python objects become when they are passed to a kernel.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};
use shoal::{Arg, HostValue, TensorDescriptor};

use crate::bridge::Bridge;
use crate::kernel::KernelObject;
use crate::known::{CONSTEXPR, DESCRIPTOR, DTYPE, NDARRAY, NUMPY_SCALAR, TORCH_TENSOR};
use crate::{descriptor, dtypes, host_value, memory, nesting, numpy};

/// Whether a launch must know how far arrays reach.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ExtentNeed {
    /// It does not: native code takes the address alone.
    #[default]
    Unneeded,
    /// It checks the arrays that tell.
    IfKnown,
    /// It does.
    Needed,
}

/// Whose streams order the work on an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Package {
    /// torch's.
    Torch,
    /// Another package's, such as CuPy.
    Other,
}

/// What arguments need beyond the objects that were passed, for as long as a launch takes.
#[derive(Default)]
pub(crate) struct Held {
    extents: ExtentNeed,
    host: Cell<bool>,
    cuda: Cell<Option<(u32, Package)>>,
    objects: RefCell<Vec<Py<PyAny>>>,
    // Boxed: references to them are handed out while more come.
    #[expect(clippy::vec_box, reason = "a growing vector moves its elements")]
    descriptors: RefCell<Vec<Box<TensorDescriptor<'static>>>>,
}

impl Held {
    pub(crate) fn new(extents: ExtentNeed) -> Held {
        Held { extents, ..Held::default() }
    }

    /// Whether arrays are to be asked how far they reach.
    pub(crate) fn extents(&self) -> ExtentNeed {
        self.extents
    }

    /// An array of the host was passed.
    #[inline]
    pub(crate) fn note_host(&self) {
        self.host.set(true);
    }

    /// An array of a GPU was passed. If one is torch's, so is the stream.
    #[inline]
    pub(crate) fn note_cuda(&self, ordinal: u32, package: Package) {
        if package == Package::Torch || self.cuda.get().is_none() {
            self.cuda.set(Some((ordinal, package)));
        }
    }

    /// Whether arrays of the host were passed.
    pub(crate) fn has_host(&self) -> bool {
        self.host.get()
    }

    /// The GPU whose arrays were passed, if any were.
    #[inline]
    pub(crate) fn cuda(&self) -> Option<(u32, Package)> {
        self.cuda.get()
    }

    /// Keeps an object alive.
    pub(crate) fn keep(&self, object: Py<PyAny>) {
        self.objects.borrow_mut().push(object);
    }

    /// Lets another keep what this one keeps.
    pub(crate) fn give_to(self, other: &Held) {
        other.objects.borrow_mut().extend(self.objects.into_inner());
        if self.host.get() {
            other.note_host();
        }
        if let Some((ordinal, package)) = self.cuda.get() {
            other.note_cuda(ordinal, package);
        }
    }

    /// Keeps a descriptor where it is.
    pub(crate) fn descriptor(&self, descriptor: TensorDescriptor<'static>) -> &TensorDescriptor<'_> {
        let boxed = Box::new(descriptor);
        let place: *const TensorDescriptor<'static> = &*boxed;
        self.descriptors.borrow_mut().push(boxed);
        // SAFETY: boxes stay where they are, nothing is ever taken out, and `self` outlives the reference.
        unsafe { &*place }
    }
}

/// How a parameter takes its argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// As a value known at compile time: any object will do.
    Constant,
    /// As a value of the launch.
    Value,
}

/// One argument. `'a` is the launch: the caller keeps the object for as long, `held` keeps the rest.
#[inline]
pub(crate) fn convert<'a>(
    object: &Bound<'_, PyAny>,
    takes: Takes,
    held: &'a Held,
    bridge: &Bridge,
) -> PyResult<Arg<'a>> {
    if takes == Takes::Value && TORCH_TENSOR.is_exact_class_of(object) {
        return memory::torch(object, held).map(Arg::Memory);
    }
    if object.is_exact_instance_of::<PyInt>() {
        return integer(object);
    }
    if object.is_exact_instance_of::<PyFloat>() {
        // SAFETY: it is a float.
        return Ok(Arg::Float(unsafe { ffi::PyFloat_AsDouble(object.as_ptr()) }));
    }
    if object.is_none() {
        return Ok(Arg::None);
    }
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(Arg::Bool(object.is_truthy()?));
    }
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Ok(Arg::Text(Cow::Owned(text.to_str()?.to_owned())));
    }
    // After what a look at the class tells: where NumPy is not imported, this asks for it each time.
    if NDARRAY.is_class_of(object) {
        held.note_host();
        // SAFETY: it is an array, and the caller keeps it for the launch.
        return unsafe { numpy::memory(object) }.map(Arg::Memory);
    }
    match takes {
        Takes::Constant => constant(object, bridge),
        Takes::Value => value(object, held, bridge),
    }
}

#[inline]
fn integer<'a>(object: &Bound<'_, PyAny>) -> PyResult<Arg<'a>> {
    let mut overflow: c_int = 0;
    // SAFETY: it is an int, so nothing but an overflow can happen.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    if overflow == 0 {
        return Ok(Arg::Int(value.into()));
    }
    object.extract::<i128>().map(Arg::Int).map_err(|_| {
        PyOverflowError::new_err(format!(
            "the integer {object} is too large; integers from -2^63 to 2^64 - 1 can be passed"
        ))
    })
}

/// An argument that is compiled in.
fn constant<'a>(object: &Bound<'_, PyAny>, bridge: &Bridge) -> PyResult<Arg<'a>> {
    let py = object.py();
    if DTYPE.is_class_of(object)
        && let Some(dtype) = dtypes::from_object(object)?
    {
        return Ok(Arg::DType(dtype));
    }
    if NUMPY_SCALAR.is_class_of(object) {
        return number(object);
    }
    Ok(match host_value::from_python(py, object, bridge)? {
        HostValue::Constexpr(inner) => plain(*inner),
        other => plain(other),
    })
}

/// What a launch argument can be is passed as such: it makes short keys.
fn plain<'a>(value: HostValue) -> Arg<'a> {
    match value {
        HostValue::None => Arg::None,
        HostValue::Bool(value) => Arg::Bool(value),
        HostValue::Int(value) => Arg::Int(value),
        HostValue::Float(value) => Arg::Float(value),
        HostValue::Str(text) => Arg::Text(Cow::Owned(text)),
        HostValue::Tuple(items) => Arg::Tuple(items.into_iter().map(plain).collect()),
        HostValue::Dtype(name) => match dtypes::from_name(&name) {
            Some(dtype) => Arg::DType(dtype),
            None => Arg::Host(HostValue::Dtype(name)),
        },
        other => Arg::Host(other),
    }
}

/// An argument that is passed at the launch, and is neither a plain number nor a NumPy array.
fn value<'a>(object: &Bound<'_, PyAny>, held: &'a Held, bridge: &Bridge) -> PyResult<Arg<'a>> {
    let py = object.py();
    // A class has what its instances have, and is none.
    if object.cast::<PyType>().is_ok() {
        return Err(unknown(object)?);
    }
    // One of a class that inherits from it, or the first of all: the class is known from then on.
    if TORCH_TENSOR.is_class_of(object) {
        return memory::torch(object, held).map(Arg::Memory);
    }
    if CONSTEXPR.is_class_of(object) || object.cast::<KernelObject>().is_ok() {
        return Ok(Arg::Host(host_value::from_python(py, object, bridge)?));
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        let items = nesting::deeper(py, || {
            items.iter_borrowed().map(|item| convert(&item, Takes::Value, held, bridge)).collect::<PyResult<Vec<_>>>()
        })?;
        return Ok(match host_value::named_tuple_class(object, bridge)? {
            Some(class) => Arg::NamedTuple(class, items),
            None => Arg::Tuple(items),
        });
    }
    if let Ok(items) = object.cast_exact::<PyList>() {
        return value(items.to_tuple().as_any(), held, bridge);
    }
    if DESCRIPTOR.is_class_of(object) {
        return Ok(Arg::Descriptor(held.descriptor(descriptor::from_python(object, held)?)));
    }
    if NUMPY_SCALAR.is_class_of(object) {
        return number(object);
    }
    if object.cast::<PyBool>().is_err() && object.cast::<PyInt>().is_ok() {
        return integer(object);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Arg::Float(number.value()));
    }
    if let Some(memory) = memory::by_protocol(object, held)? {
        return Ok(Arg::Memory(memory));
    }
    if object.hasattr(intern!(py, "__index__"))? {
        return integer(&object.call_method0(intern!(py, "__index__"))?);
    }
    if DTYPE.is_class_of(object) {
        return constant(object, bridge);
    }
    Err(unknown(object)?)
}

#[cold]
fn unknown(object: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let class = object.get_type().qualname()?;
    Ok(PyTypeError::new_err(format!(
        "failed to specialize argument of type: {class}; kernels take numbers, arrays (NumPy, torch, DLPack), tuples \
         of them, and anything else only for parameters that are `constexpr`"
    )))
}

/// A scalar of NumPy or of a package that adds types to it.
fn number<'a>(object: &Bound<'_, PyAny>) -> PyResult<Arg<'a>> {
    let py = object.py();
    let item = object.call_method0(intern!(py, "item"))?;
    if item.is_exact_instance_of::<PyBool>() {
        return Ok(Arg::Bool(item.is_truthy()?));
    }
    if item.is_instance_of::<PyInt>() {
        return integer(&item);
    }
    match item.extract() {
        Ok(number) => Ok(Arg::Float(number)),
        Err(_) => Err(unknown(object)?),
    }
}
