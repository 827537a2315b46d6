//! The arguments of a call, found for each parameter.

use pyo3::Borrowed;
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

/// Arguments of a call that nobody else keeps: those by name, and `*rest`.
#[derive(Default)]
pub(crate) struct Kept<'py> {
    /// Where the parameter stands, and the argument.
    by_name: SmallVec<[(usize, Bound<'py, PyAny>); 8]>,
    rest: Option<Bound<'py, PyTuple>>,
    /// Named arguments that are options, whether they are parameters as well or not.
    pub(crate) options: Given<'py>,
}

/// The arguments of a call, one for each parameter; that of `*rest` is a tuple.
pub(crate) type Values<'a, 'py> = SmallVec<[Borrowed<'a, 'py, PyAny>; 24]>;

/// A call has too many arguments, too few, or one twice.
pub(crate) struct Mismatch {
    /// Where the parameters stand that were given by name.
    pub(crate) named: Vec<usize>,
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

    /// Looks at the arguments that are given by name, and takes `*rest` together.
    #[inline]
    pub(crate) fn keep<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        kept: &mut Kept<'py>,
    ) -> PyResult<()> {
        if let Some(at) = self.variadic {
            kept.rest = Some(args.get_slice(at.min(args.len()), args.len()));
        }
        for (name, value) in kwargs.into_iter().flatten() {
            let name = name.cast_into::<PyString>()?;
            match self.meaning(args.py(), &name) {
                Meaning::Parameter(at) => {
                    kept.by_name.push((at, value.clone()));
                    if self.names_options && options::is_known(&name) {
                        kept.options.push((name, value));
                    }
                }
                Meaning::Option => kept.options.push((name, value)),
                Meaning::Nothing => return Err(unknown(&name)),
            }
        }
        Ok(())
    }

    /// Finds the argument of each parameter.
    #[inline]
    pub(crate) fn bind<'a, 'py>(
        &'a self,
        args: &'a Bound<'py, PyTuple>,
        kept: &'a Kept<'py>,
        values: &mut Values<'a, 'py>,
    ) -> Result<(), Mismatch> {
        if args.len() == self.names.len() && kept.by_name.is_empty() && self.variadic.is_none() {
            values.extend(args.iter_borrowed());
            return Ok(());
        }
        self.bind_by_name(args, kept, values)
    }

    fn bind_by_name<'a, 'py>(
        &'a self,
        args: &'a Bound<'py, PyTuple>,
        kept: &'a Kept<'py>,
        values: &mut Values<'a, 'py>,
    ) -> Result<(), Mismatch> {
        let py = args.py();
        let given = args.len();
        let first = self.variadic.unwrap_or(self.names.len());
        let mut slots: SmallVec<[Option<Borrowed<'a, 'py, PyAny>>; 24]> =
            args.iter_borrowed().take(first).map(Some).collect();
        let mut mismatch = given > first && self.variadic.is_none();
        slots.resize(self.names.len(), None);
        if let (Some(at), Some(rest)) = (self.variadic, &kept.rest) {
            slots[at] = Some(rest.as_any().as_borrowed());
        }
        for (at, value) in &kept.by_name {
            mismatch |= slots[*at].replace(value.as_borrowed()).is_some();
        }
        for (slot, default) in slots.into_iter().zip(&self.defaults) {
            match (slot, default) {
                (Some(value), _) => values.push(value),
                (None, Some(default)) => values.push(default.bind_borrowed(py)),
                (None, None) => mismatch = true,
            }
        }
        match mismatch {
            true => Err(Mismatch { named: kept.by_name.iter().map(|(at, _)| *at).collect() }),
            false => Ok(()),
        }
    }

    /// The arguments by name, for a grid that is computed from them.
    pub(crate) fn by_name<'py>(
        &self,
        py: Python<'py>,
        values: &Values<'_, 'py>,
        kept: &Kept<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.names.iter().zip(values) {
            dict.set_item(name, value)?;
        }
        for (name, value) in &kept.options {
            dict.set_item(name, value)?;
        }
        Ok(dict)
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

fn unknown(name: &Bound<'_, PyString>) -> PyErr {
    match name.to_str() {
        Ok(name @ ("device" | "stream" | "device_type")) => PyTypeError::new_err(format!(
            "`{name}` cannot be passed to a launch: it runs where its arrays are, in the current stream there"
        )),
        _ => PyKeyError::new_err(format!("Keyword argument {name} was specified but unrecognised")),
    }
}
