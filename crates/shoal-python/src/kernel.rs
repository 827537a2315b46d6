//! Kernels as Python sees them: the base of `shoal.runtime.jit.JITFunction`.

use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use shoal::{Device, Module};

use crate::binding::Parameters;
use crate::bridge::{Bridge, Names};
use crate::compiled::Compiled;
use crate::errors::raise;
use crate::host_value;
use crate::launch::{self, Goal};
use crate::lock::lock;
use crate::variants::Variants;

/// A kernel.
///
/// `JITFunction` fills it in and adds what people look at; all of a launch happens here.
#[pyclass(name = "Kernel", module = "shoal._native", subclass, frozen)]
pub(crate) struct KernelObject {
    declared: OnceLock<Declared>,
    live: Mutex<Option<Arc<Live>>>,
}

/// What stays as it was declared.
pub(crate) struct Declared {
    pub(crate) parameters: Parameters,
    pub(crate) pre_run_hooks: Py<PyList>,
    pub(crate) interpret: bool,
    pub(crate) debug: Option<bool>,
}

/// What is made of the source, when it is first needed.
pub(crate) struct Live {
    pub(crate) kernel: shoal::Kernel,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) variants: Variants,
}

#[pymethods]
impl KernelObject {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> KernelObject {
        KernelObject { declared: OnceLock::new(), live: Mutex::new(None) }
    }

    /// Says what a launch must know: names, defaults as `()` or `(value,)`, the place of `*rest`, functions to call
    /// before each launch, whether the interpreter runs the kernel, and whether its asserts are checked.
    fn _declare(
        &self,
        names: Vec<Bound<'_, PyString>>,
        defaults: Vec<Vec<Py<PyAny>>>,
        variadic: Option<usize>,
        pre_run_hooks: Py<PyList>,
        interpret: bool,
        debug: Option<bool>,
    ) -> PyResult<()> {
        let defaults = defaults.into_iter().map(|mut default| default.pop()).collect();
        let parameters = Parameters::new(names, defaults, variadic)?;
        let declared = Declared { parameters, pre_run_hooks, interpret, debug };
        self.declared.set(declared).map_err(|_| PyRuntimeError::new_err("a kernel is declared once"))
    }

    /// Forgets what was compiled.
    fn _reset(&self, py: Python<'_>) {
        let before = lock(py, &self.live).take();
        drop(before);
    }

    /// The globals that were compiled in: `{(name, id of the namespace): (value, namespace)}`.
    fn _used_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let live = lock(py, &self.live).clone();
        live.map_or_else(|| Ok(PyDict::new(py)), |live| live.bridge.used_values(py))
    }

    /// All that is compiled, as `CompiledKernel`s.
    fn _compiled_kernels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let live = lock(py, &self.live).clone();
        live.map_or_else(|| Ok(PyList::empty(py)), |live| live.variants.all(py))
    }

    /// Compiles for a signature such as `x=*fp32:16, n=i32, BLOCK=256`, with these launch options.
    fn _compile_signature<'py>(
        slf: &Bound<'py, Self>,
        signature: &str,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let live = slf.get().live(slf)?;
        launch::compile_signature(slf, &live, signature, options)
    }

    /// Compiles for a signature and a target that need not be here, such as `sm_90a`.
    fn _compile_foreign(
        slf: &Bound<'_, Self>,
        signature: &str,
        options: &Bound<'_, PyDict>,
        target: &str,
    ) -> PyResult<Compiled> {
        let live = slf.get().live(slf)?;
        launch::compile_foreign(slf, &live, signature, options, target)
    }

    /// A kernel knows its globals, and they know the kernel: without this, none would ever be freed.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(declared) = self.declared.get() {
            declared.parameters.defaults.iter().flatten().try_for_each(|default| visit.call(default))?;
            visit.call(&declared.pre_run_hooks)?;
        }
        // Held by nobody but launches, which keep the kernel alive; what is not visited now is visited next time.
        match self.live.try_lock().ok().as_deref() {
            Some(Some(live)) => {
                live.bridge.traverse(&visit)?;
                live.variants.traverse(&visit)
            }
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        // The collector holds the interpreter, and nobody else holds what it clears.
        let before = self.live.try_lock().ok().and_then(|mut live| live.take());
        drop(before);
    }

    fn __getitem__(slf: &Bound<'_, Self>, grid: Py<PyAny>) -> Launcher {
        Launcher { kernel: slf.clone().unbind(), grid }
    }

    /// Launches: `kernel.run(*args, grid=grid, warmup=False, **named)` is `kernel[grid](*args, **named)`.
    #[pyo3(signature = (*args, grid, warmup = false, **named))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: &Bound<'py, PyAny>,
        warmup: bool,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let goal = if warmup { Goal::Compile } else { Goal::Run(grid) };
        launch::launch(slf, goal, args, named)
    }

    /// Compiles for arguments of this kind without running. Dtypes stand for pointers to them.
    #[pyo3(signature = (*args, grid = None, **named))]
    fn warmup<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = grid;
        launch::launch(slf, Goal::Compile, args, named)
    }
}

impl KernelObject {
    pub(crate) fn declared(&self) -> PyResult<&Declared> {
        self.declared.get().ok_or_else(|| PyRuntimeError::new_err("the kernel was made without `JITFunction`"))
    }

    /// The kernel, made from its source when it is first needed, and again when functions it calls were defined anew.
    #[inline]
    pub(crate) fn live(&self, slf: &Bound<'_, KernelObject>) -> PyResult<Arc<Live>> {
        let py = slf.py();
        let known = lock(py, &self.live).clone();
        if let Some(live) = &known
            && live.bridge.check_names(py)? == Names::Same
        {
            return Ok(live.clone());
        }
        let made = Arc::new(self.make(slf)?);
        let mut live = lock(py, &self.live);
        // Another thread may have been faster: ranks that launch the same kernel share its code.
        if let Some(other) = live.clone()
            && known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &other))
        {
            drop(live);
            return Ok(other);
        }
        let before = live.replace(made.clone());
        drop(live);
        drop(before);
        Ok(made)
    }

    #[cold]
    fn make(&self, slf: &Bound<'_, KernelObject>) -> PyResult<Live> {
        let py = slf.py();
        let bridge = Arc::new(Bridge::new(py)?);
        let facts = bridge.rules(py).call_method1(intern!(py, "source"), (slf,))?;
        let source = host_value::source(slf.as_any(), &facts, &bridge)?;
        let name = source.name.clone();
        let interpret = self.declared()?.interpret;
        let asked = bridge.clone();
        let made = py.detach(|| {
            let kernel = Module::from_host(source, asked)?.kernel(&name)?;
            Ok(if interpret { kernel.on(Device::Interpreter) } else { kernel })
        });
        let kernel = made.map_err(|error| raise(py, error, bridge.cause()))?;
        Ok(Live { kernel, bridge, variants: Variants::new(interpret) })
    }
}

/// `kernel[grid]`: a kernel that waits for its arguments.
#[pyclass(module = "shoal._native", frozen)]
pub(crate) struct Launcher {
    kernel: Py<KernelObject>,
    grid: Py<PyAny>,
}

#[pymethods]
impl Launcher {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        launch::launch(self.kernel.bind(py), Goal::Run(self.grid.bind(py)), args, named)
    }
}
