//! The arguments of a call, found for each parameter.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use crate::options;

/// What Python says about a kernel's parameters.
pub(crate) struct Parameters {
    pub(crate) names: Vec<Py<PyString>>,
    pub(crate) defaults: Vec<Option<Py<PyAny>>>,
    /// Where `*rest` stands.
    pub(crate) variadic: Option<usize>,
}

/// The arguments of a call.
pub(crate) struct Bindings<'py> {
    /// One for each parameter; that of `*rest` is a tuple.
    pub(crate) values: SmallVec<[Bound<'py, PyAny>; 24]>,
    /// Named arguments that are no parameters.
    pub(crate) options: SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 4]>,
}

/// Why a call cannot be bound.
pub(crate) enum Unbound<'py> {
    /// Too many, too few, or one twice: parameters that were given by name.
    Mismatch { positional: usize, named: Vec<Bound<'py, PyString>> },
    /// Something else.
    Error(PyErr),
}

impl Parameters {
    /// Finds the argument of each parameter.
    #[inline]
    pub(crate) fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bindings<'py>, Unbound<'py>> {
        let py = args.py();
        let given = args.len();
        let first = self.variadic.unwrap_or(self.names.len());
        let mut slots: SmallVec<[Option<Bound<'py, PyAny>>; 24]> = args.iter().take(first).map(Some).collect();
        let mut mismatch = given > first && self.variadic.is_none();
        slots.resize(self.names.len(), None);
        if let Some(at) = self.variadic {
            slots[at] = Some(args.get_slice(at.min(given), given).into_any());
        }
        let mut options = SmallVec::new();
        let mut named = Vec::new();
        for (name, value) in kwargs.into_iter().flatten() {
            let name = name.cast_into::<PyString>().map_err(|error| Unbound::Error(error.into()))?;
            match self.position(py, &name).filter(|&at| Some(at) != self.variadic) {
                Some(at) => {
                    mismatch |= slots[at].is_some();
                    slots[at] = Some(value);
                    named.push(name);
                }
                None if options::is_known(&name) => options.push((name, value)),
                None => return Err(Unbound::Error(unknown(&name))),
            }
        }
        let mut values = SmallVec::with_capacity(slots.len());
        for (slot, default) in slots.into_iter().zip(&self.defaults) {
            match (slot, default) {
                (Some(value), _) => values.push(value),
                (None, Some(default)) => values.push(default.bind(py).clone()),
                (None, None) => mismatch = true,
            }
        }
        if mismatch {
            return Err(Unbound::Mismatch { positional: given, named });
        }
        Ok(Bindings { values, options })
    }

    /// Names of parameters and of arguments are mostly the same object; if not, they may still be equal.
    #[inline]
    fn position(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> Option<usize> {
        let same = self.names.iter().position(|known| known.as_ptr() == name.as_ptr());
        same.or_else(|| self.names.iter().position(|known| known.bind(py).as_any().eq(name).unwrap_or(false)))
    }
}

impl<'py> Bindings<'py> {
    /// The arguments by name, for a grid that is computed from them.
    pub(crate) fn by_name(&self, py: Python<'py>, parameters: &Parameters) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in parameters.names.iter().zip(&self.values) {
            dict.set_item(name, value)?;
        }
        for (name, value) in &self.options {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}

fn unknown(name: &Bound<'_, PyString>) -> PyErr {
    match name.to_str() {
        Ok(name @ ("device" | "stream" | "device_type")) => PyTypeError::new_err(format!(
            "`{name}` cannot be passed to a launch: kernels run on the CPU, and a launch returns when it is done"
        )),
        _ => PyKeyError::new_err(format!("Keyword argument {name} was specified but unrecognised")),
    }
}
