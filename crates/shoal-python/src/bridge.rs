//! Live Python objects, as the compiler asks for them.
//!
//! The rules of looking up and telling apart are `runtime/bridge.py`; here the answers become the compiler's values,
//! and what was answered is remembered: objects live as long as the kernel, and globals that are compiled in are
//! compared with what they are at every launch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple};
use shoal::{HostBridge, HostNamedTuple, HostObject, HostValue};
use smallvec::SmallVec;

use crate::host_value;
use crate::lock::{lock, lock_briefly};

/// The bridge of one kernel.
pub(crate) struct Bridge {
    rules: Py<PyModule>,
    objects: Mutex<HashMap<u64, Py<PyAny>>>,
    used: Mutex<Vec<Used>>,
    raised: Mutex<Option<PyErr>>,
    named_tuples: Mutex<HashMap<HostObject, Arc<HostNamedTuple>>>,
    /// Constants that can be compared, by their class and value.
    equal: Py<PyDict>,
}

/// A name of a namespace that was compiled in.
struct Used {
    namespace: Py<PyDict>,
    name: Py<PyString>,
    value: Py<PyAny>,
    matters: Matters,
}

/// What it means when such a name stands for something else later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matters {
    /// The kernel holds a value that is no longer true.
    Value,
    /// A function was defined anew, as people do in notebooks: the kernel is compiled anew.
    Function,
}

/// What became of the names that were compiled in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// They stand for the same.
    Same,
    /// A function was defined anew.
    NewFunctions,
}

impl Bridge {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Bridge> {
        let rules = py.import(intern!(py, "shoal.runtime.bridge"))?.unbind();
        Ok(Bridge {
            rules,
            objects: Mutex::default(),
            used: Mutex::default(),
            raised: Mutex::default(),
            named_tuples: Mutex::default(),
            equal: PyDict::new(py).unbind(),
        })
    }

    /// `runtime/bridge.py`.
    pub(crate) fn rules<'py>(&self, py: Python<'py>) -> &Bound<'py, PyModule> {
        self.rules.bind(py)
    }

    /// The number of an object, which is kept from now on.
    pub(crate) fn number(&self, object: &Bound<'_, PyAny>) -> HostObject {
        let number = object.as_ptr() as u64;
        lock_briefly(&self.objects).entry(number).or_insert_with(|| object.clone().unbind());
        HostObject(number)
    }

    /// The number of an object, or of one that is equal to it and came before. Objects that can be hashed promise that
    /// they stay equal, so a configuration that is made anew for each launch is compiled in once.
    pub(crate) fn number_of_equal(&self, object: &Bound<'_, PyAny>) -> HostObject {
        let py = object.py();
        let equal = self.equal.bind(py);
        let key = (object.get_type(), object);
        let known = equal.get_item(&key).ok().flatten();
        match known {
            Some(known) => self.number(&known),
            None => {
                // What cannot be hashed is itself only.
                drop(equal.set_item(key, object));
                self.number(object)
            }
        }
    }

    /// The object of a number.
    pub(crate) fn object<'py>(&self, py: Python<'py>, number: HostObject) -> Option<Bound<'py, PyAny>> {
        lock_briefly(&self.objects).get(&number.0).map(|object| object.bind(py).clone())
    }

    /// A class of named tuples, described once.
    pub(crate) fn named_tuple(
        &self,
        class: &Bound<'_, PyAny>,
        describe: impl FnOnce() -> PyResult<Option<Arc<HostNamedTuple>>>,
    ) -> PyResult<Option<Arc<HostNamedTuple>>> {
        let number = self.number(class);
        if let Some(known) = lock_briefly(&self.named_tuples).get(&number) {
            return Ok(Some(known.clone()));
        }
        let described = describe()?;
        if let Some(described) = &described {
            lock_briefly(&self.named_tuples).insert(number, described.clone());
        }
        Ok(described)
    }

    /// Shows all objects to the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.equal)?;
        if let Ok(objects) = self.objects.try_lock() {
            objects.values().try_for_each(|object| visit.call(object))?;
        }
        if let Ok(used) = self.used.try_lock() {
            for used in used.iter() {
                visit.call(&used.namespace)?;
                visit.call(&used.value)?;
            }
        }
        Ok(())
    }

    /// What Python raised while the compiler asked: the cause of the error that came of it.
    pub(crate) fn cause(&self) -> Option<PyErr> {
        lock_briefly(&self.raised).take()
    }

    /// Looks whether the names that were compiled in still stand for the same.
    ///
    /// # Errors
    /// When a value has changed.
    pub(crate) fn check_names(&self, py: Python<'_>) -> PyResult<Names> {
        let mut others: SmallVec<[(Used, Option<Bound<'_, PyAny>>); 0]> = SmallVec::new();
        for used in lock(py, &self.used).iter() {
            let now = used.namespace.bind(py).get_item(&used.name)?;
            if now.as_ref().is_some_and(|now| now.as_ptr() == used.value.as_ptr()) {
                continue;
            }
            if used.matters == Matters::Function {
                return Ok(Names::NewFunctions);
            }
            others.push((used.clone_ref(py), now));
        }
        // Without the lock: comparing may run Python code, and another thread may fork meanwhile.
        others.into_iter().try_for_each(|(used, now)| used.compare(py, now))?;
        Ok(Names::Same)
    }

    /// The values that were compiled in: `{(name, id of the namespace): (value, namespace)}`.
    pub(crate) fn used_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        let used: Vec<Used> = lock(py, &self.used).iter().map(|used| used.clone_ref(py)).collect();
        for used in used.iter().filter(|used| used.matters == Matters::Value) {
            let namespace = used.namespace.bind(py);
            values.set_item((&used.name, namespace.as_ptr() as usize), (&used.value, namespace))?;
        }
        Ok(values)
    }

    fn remember(&self, py: Python<'_>, namespace: Py<PyDict>, name: &str, object: Bound<'_, PyAny>, value: &HostValue) {
        let matters = match value {
            HostValue::Function(_) | HostValue::AggregateClass(_) => Matters::Function,
            HostValue::Bool(_)
            | HostValue::Int(_)
            | HostValue::Float(_)
            | HostValue::Str(_)
            | HostValue::Tuple(_)
            | HostValue::Dict(_)
            | HostValue::Dtype(_)
            | HostValue::Constexpr(_)
            | HostValue::NamedTuple(..)
            | HostValue::Member(..) => Matters::Value,
            _ => return,
        };
        let name = PyString::intern(py, name).unbind();
        let mut used = lock(py, &self.used);
        let same =
            |known: &Used| known.namespace.as_ptr() == namespace.as_ptr() && known.name.as_ptr() == name.as_ptr();
        if !used.iter().any(same) {
            used.push(Used { namespace, name, value: object.unbind(), matters });
        }
    }

    /// Runs `ask`; what it raises is kept.
    fn asked<T>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
        let asked = || {
            Python::attach(|py| {
                ask(py).map_err(|error| {
                    let text = error.to_string();
                    let before = lock(py, &self.raised).replace(error);
                    drop(before);
                    text
                })
            })
        };
        // A thread that holds the interpreter may be forking, which waits for compilations but not for this.
        shoal::fork::outside(asked)
    }

    fn found(&self, py: Python<'_>, answer: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<HostValue>> {
        if answer.is_none() {
            return Ok(None);
        }
        let (object, namespace, kept): (Bound<'_, PyAny>, Option<Bound<'_, PyDict>>, Bound<'_, PyAny>) =
            answer.cast::<PyTuple>()?.extract()?;
        let value = host_value::from_python(py, &object, self)?;
        if let Some(namespace) = namespace {
            self.remember(py, namespace.unbind(), name, kept, &value);
        }
        Ok(Some(value))
    }
}

impl Used {
    fn clone_ref(&self, py: Python<'_>) -> Used {
        let Used { namespace, name, value, matters } = self;
        Used {
            namespace: namespace.clone_ref(py),
            name: name.clone_ref(py),
            value: value.clone_ref(py),
            matters: *matters,
        }
    }

    /// Other objects may still be equal.
    #[cold]
    fn compare(&self, py: Python<'_>, now: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let before = self.value.bind(py);
        let shown = match &now {
            // `==` of a `constexpr` gives a `constexpr`, of an array an array: what counts is whether it is true.
            Some(now) if now.rich_compare(before, pyo3::basic::CompareOp::Eq)?.is_truthy().unwrap_or(false) => {
                return Ok(());
            }
            Some(now) => now.repr()?.to_string(),
            None => "nothing".to_owned(),
        };
        Err(PyRuntimeError::new_err(format!(
            "Global variable {} has changed since we compiled this kernel, from {} to {shown}; make it an argument if \
             it is meant to change",
            self.name,
            before.repr()?
        )))
    }
}

impl HostBridge for Bridge {
    fn name(&self, function: HostObject, name: &str) -> Option<HostValue> {
        let asked = self.asked(|py| {
            let Some(function) = self.object(py, function) else { return Ok(None) };
            let answer = self.rules(py).call_method1(intern!(py, "name"), (function, name))?;
            self.found(py, &answer, name)
        });
        asked.ok().flatten()
    }

    /// Not remembered: Python evaluated annotations and defaults when it defined the function.
    fn signature_name(&self, function: HostObject, name: &str) -> Option<HostValue> {
        let asked = self.asked(|py| {
            let Some(function) = self.object(py, function) else { return Ok(None) };
            let answer = self.rules(py).call_method1(intern!(py, "name"), (function, name))?;
            if answer.is_none() {
                return Ok(None);
            }
            host_value::from_python(py, &answer.get_item(0)?, self).map(Some)
        });
        asked.ok().flatten()
    }

    fn added_annotation(&self, function: HostObject, parameter: &str) -> Option<HostValue> {
        let asked = self.asked(|py| {
            let Some(function) = self.object(py, function) else { return Ok(None) };
            let answer = self.rules(py).call_method1(intern!(py, "annotation"), (function, parameter))?;
            if answer.is_none() {
                return Ok(None);
            }
            host_value::from_python(py, &answer, self).map(Some)
        });
        asked.ok().flatten()
    }

    fn file_text(&self, function: HostObject) -> Option<String> {
        let asked = self.asked(|py| {
            let Some(function) = self.object(py, function) else { return Ok(None) };
            self.rules(py).call_method1(intern!(py, "file_text"), (function,))?.extract().map(Some)
        });
        asked.ok().flatten()
    }

    fn attribute(&self, object: HostObject, name: &str) -> Option<HostValue> {
        let asked = self.asked(|py| {
            let Some(object) = self.object(py, object) else { return Ok(None) };
            let answer = self.rules(py).call_method1(intern!(py, "attribute"), (object, name))?;
            self.found(py, &answer, name)
        });
        asked.ok().flatten()
    }

    fn call(&self, object: HostObject, args: &[HostValue], named: &[(String, HostValue)]) -> Result<HostValue, String> {
        self.asked(|py| {
            let object =
                self.object(py, object).ok_or_else(|| PyRuntimeError::new_err("the object is no longer there"))?;
            let args = args.iter().map(|arg| host_value::to_python(py, arg, self)).collect::<PyResult<Vec<_>>>()?;
            let named_args = PyDict::new(py);
            for (name, value) in named {
                named_args.set_item(name, host_value::to_python(py, value, self)?)?;
            }
            let result = object.call(PyTuple::new(py, args)?, Some(&named_args))?;
            host_value::from_python(py, &result, self)
        })
    }
}
