//! Classes of Python packages that arguments are recognised by, looked up without importing anything.
//!
//! An object of a class can only exist once its module was imported, so a module that is not in `sys.modules` needs no
//! look at all. What was found stays found: classes are not replaced while a program runs.

use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A class of some module.
pub(crate) struct KnownClass {
    module: &'static str,
    name: &'static str,
    found: AtomicPtr<ffi::PyTypeObject>,
}

pub(crate) static NDARRAY: KnownClass = KnownClass::new("numpy", "ndarray");
pub(crate) static NUMPY_SCALAR: KnownClass = KnownClass::new("numpy", "generic");
pub(crate) static TORCH_TENSOR: KnownClass = KnownClass::new("torch", "Tensor");
pub(crate) static CONSTEXPR: KnownClass = KnownClass::new("shoal.language.core", "constexpr");
pub(crate) static DTYPE: KnownClass = KnownClass::new("shoal.language.core", "dtype");
pub(crate) static DESCRIPTOR: KnownClass = KnownClass::new("shoal.tools.tensor_descriptor", "TensorDescriptor");

impl KnownClass {
    const fn new(module: &'static str, name: &'static str) -> KnownClass {
        KnownClass { module, name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Whether `object` is an instance of it.
    #[inline]
    pub(crate) fn is_class_of(&self, object: &Bound<'_, PyAny>) -> bool {
        let mut class = self.found.load(Ordering::Relaxed);
        if class.is_null() {
            class = self.look_up(object.py());
            if class.is_null() {
                return false;
            }
        }
        let ty = object.get_type_ptr();
        // SAFETY: both are classes: `ty` is a living object's, `class` is kept alive by `look_up`.
        ty == class || unsafe { ffi::PyType_IsSubtype(ty, class) } != 0
    }

    /// Whether `object` is an instance of the class itself, not of one that inherits from it.
    #[inline]
    pub(crate) fn is_exact_class_of(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type_ptr() == self.found.load(Ordering::Relaxed)
    }

    #[cold]
    fn look_up(&self, py: Python<'_>) -> *mut ffi::PyTypeObject {
        let Some(class) = self.class(py) else { return std::ptr::null_mut() };
        if !class.is_instance_of::<pyo3::types::PyType>() {
            return std::ptr::null_mut();
        }
        // The reference is given up on purpose: the class lives as long as the process.
        let class = class.into_ptr().cast();
        self.found.store(class, Ordering::Relaxed);
        class
    }

    /// The class, if its module was imported.
    pub(crate) fn class<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let modules = py.import(intern!(py, "sys")).ok()?.getattr(intern!(py, "modules")).ok()?;
        let module = modules.cast_into::<PyDict>().ok()?.get_item(self.module).ok()??;
        // A module that is being imported may not have the class yet.
        module.getattr(self.name).ok()
    }
}
