//! The arguments of a call, found for each parameter.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use crate::options;
use crate::variants::Given;

/// What Python says about a kernel's parameters.
pub(crate) struct Parameters {
    pub(crate) names: Vec<Py<PyString>>,
    pub(crate) defaults: Vec<Option<Py<PyAny>>>,
    /// Where `*rest` stands.
    pub(crate) variadic: Option<usize>,
    /// Whether a parameter has the name of a launch option: an argument for it by name is both.
    names_options: bool,
}

/// The arguments of a call.
pub(crate) struct Bindings<'py> {
    /// One for each parameter; that of `*rest` is a tuple.
    pub(crate) values: SmallVec<[Bound<'py, PyAny>; 24]>,
    /// Named arguments that are options, whether they are parameters as well or not.
    pub(crate) options: Given<'py>,
}

/// Why a call cannot be bound.
pub(crate) enum Unbound<'py> {
    /// Too many, too few, or one twice: parameters that were given by name.
    Mismatch { positional: usize, named: Vec<Bound<'py, PyString>> },
    /// Something else.
    Error(PyErr),
}

impl Parameters {
    pub(crate) fn new(
        names: Vec<Bound<'_, PyString>>,
        defaults: Vec<Option<Py<PyAny>>>,
        variadic: Option<usize>,
    ) -> PyResult<Parameters> {
        let names_options = names.iter().any(options::is_known);
        let interned = |name: &Bound<'_, PyString>| Ok(PyString::intern(name.py(), name.to_str()?).unbind());
        let names = names.iter().map(interned).collect::<PyResult<_>>()?;
        Ok(Parameters { names, defaults, variadic, names_options })
    }

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
            match self.meaning(py, &name) {
                Meaning::Parameter(at) => {
                    mismatch |= slots[at].is_some();
                    if self.names_options && options::is_known(&name) {
                        options.push((name.clone(), value.clone()));
                    }
                    slots[at] = Some(value);
                    named.push(name);
                }
                Meaning::Option => options.push((name, value)),
                Meaning::Nothing => return Err(Unbound::Error(unknown(&name))),
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

    /// What a name stands for. Names in a program's text are one object wherever they stand, so most are found without
    /// looking at their letters.
    #[inline]
    fn meaning(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> Meaning {
        let is_parameter = |at: &usize| Some(*at) != self.variadic;
        let same = self.names.iter().position(|known| known.as_ptr() == name.as_ptr()).filter(is_parameter);
        if let Some(at) = same {
            return Meaning::Parameter(at);
        }
        if options::is_known(name) && !self.names_options {
            return Meaning::Option;
        }
        let equal = |known: &Py<PyString>| known.bind(py).as_any().eq(name).unwrap_or(false);
        match self.names.iter().position(equal).filter(is_parameter) {
            Some(at) => Meaning::Parameter(at),
            None if options::is_known(name) => Meaning::Option,
            None => Meaning::Nothing,
        }
    }
}

/// What a named argument is.
enum Meaning {
    Parameter(usize),
    Option,
    Nothing,
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
            "`{name}` cannot be passed to a launch: it runs where its arrays are, in the current stream there"
        )),
        _ => PyKeyError::new_err(format!("Keyword argument {name} was specified but unrecognised")),
    }
}
