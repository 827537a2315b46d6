//! What is compiled of a kernel, as Python sees it: one `CompiledKernel` for each specialisation and set of options.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use shoal::cuda::CudaDevice;
use shoal::{Device, Variant};
use smallvec::SmallVec;

use crate::compiled::Compiled;
use crate::errors::raise;
use crate::kernel::KernelObject;
use crate::lock::lock;
use crate::options;

/// Named options of a launch, as they were passed.
pub(crate) type Given<'py> = SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 4]>;

/// The sets of options that a kernel was launched with.
pub(crate) struct Variants {
    sets: Mutex<Vec<Arc<OptionSet>>>,
    /// Whether the interpreter runs them, wherever a launch says.
    interpret: bool,
}

/// A kernel with one set of options.
pub(crate) struct OptionSet {
    debug: bool,
    given: Vec<(Py<PyString>, Py<PyAny>)>,
    pub(crate) kernel: shoal::Kernel,
    interpreted: OnceLock<shoal::Kernel>,
    on_cuda: [OnceLock<OnCuda>; MOST_GPUS],
    compiled: Mutex<HashMap<usize, Known, BuildHasherDefault<AddressHasher>>>,
}

/// The kernel on a GPU, for launches.
struct OnCuda {
    kernel: shoal::Kernel,
    device: CudaDevice,
}

/// The most GPUs that a host has.
const MOST_GPUS: usize = 16;

struct Known {
    /// Keeps the address, which is the key, from being used again.
    _variant: Arc<Variant>,
    shown: Py<PyAny>,
}

/// Addresses of variants are as good as random but for their lowest bits.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    #[inline]
    fn write_usize(&mut self, address: usize) {
        // The table takes places from the lower bits and compares the upper seven first.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl Variants {
    pub(crate) fn new(interpret: bool) -> Variants {
        Variants { sets: Mutex::default(), interpret }
    }

    /// The kernel with the options of a launch.
    #[inline]
    pub(crate) fn with(
        &self,
        py: Python<'_>,
        kernel: &shoal::Kernel,
        debug: bool,
        given: &Given<'_>,
    ) -> PyResult<Arc<OptionSet>> {
        if let Some(set) = lock(py, &self.sets).iter().find(|set| set.is_same(debug, given)) {
            return Ok(set.clone());
        }
        // Without the lock: comparing may run Python code, and another thread may fork meanwhile.
        let known = lock(py, &self.sets).clone();
        if let Some(set) = known.iter().find(|set| set.is_equal(py, debug, given)) {
            return Ok(set.clone());
        }
        let named = PyDict::new(py);
        for (name, value) in given {
            named.set_item(name, value)?;
        }
        let mut kernel =
            kernel.clone().with(options::read(py, debug, &named)?).launching(options::launching(py, &named)?);
        if let Some(device) = options::device(py, &named)?.filter(|_| !self.interpret) {
            kernel = kernel.on(device);
        }
        let set = Arc::new(OptionSet {
            debug,
            given: given.iter().map(|(name, value)| (name.clone().unbind(), value.clone().unbind())).collect(),
            kernel,
            interpreted: OnceLock::new(),
            on_cuda: Default::default(),
            compiled: Mutex::default(),
        });
        let mut sets = lock(py, &self.sets);
        // Another thread may have been faster.
        if let Some(set) = sets[known.len()..].iter().find(|set| set.is_same(debug, given)) {
            return Ok(set.clone());
        }
        sets.push(set.clone());
        Ok(set)
    }

    /// Shows all objects to the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(sets) = self.sets.try_lock() else { return Ok(()) };
        for set in sets.iter() {
            set.given.iter().try_for_each(|(_, value)| visit.call(value))?;
            if let Ok(compiled) = set.compiled.try_lock() {
                compiled.values().try_for_each(|known| visit.call(&known.shown))?;
            }
        }
        Ok(())
    }

    /// All `CompiledKernel`s.
    pub(crate) fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let sets = lock(py, &self.sets).clone();
        let shown = |set: &Arc<OptionSet>| -> Vec<Py<PyAny>> {
            lock(py, &set.compiled).values().map(|known| known.shown.clone_ref(py)).collect()
        };
        PyList::new(py, sets.iter().flat_map(shown).collect::<Vec<_>>())
    }
}

impl OptionSet {
    /// The kernel on the interpreter.
    pub(crate) fn interpreted(&self) -> &shoal::Kernel {
        self.interpreted.get_or_init(|| self.kernel.clone().on(Device::Interpreter))
    }

    /// The kernel on a GPU.
    #[inline]
    pub(crate) fn on_cuda(&self, py: Python<'_>, ordinal: u32) -> PyResult<(&shoal::Kernel, CudaDevice)> {
        let slot = self.on_cuda.get(ordinal as usize).ok_or_else(|| {
            PyValueError::new_err(format!("GPU {ordinal}: kernels run on GPUs 0 to {}", MOST_GPUS - 1))
        })?;
        let on = match slot.get() {
            Some(on) => on,
            None => {
                let made = self.make_on_cuda(py, ordinal)?;
                slot.get_or_init(|| made)
            }
        };
        Ok((&on.kernel, on.device))
    }

    #[cold]
    fn make_on_cuda(&self, py: Python<'_>, ordinal: u32) -> PyResult<OnCuda> {
        let named = self.named(py)?;
        let device = CudaDevice::new(ordinal).map_err(|error| raise(py, error.into(), None))?;
        let on = Device::cuda(ordinal).map_err(|error| raise(py, error, None))?;
        let options = options::for_gpu(py, self.kernel.options().clone(), &named)?;
        Ok(OnCuda { kernel: self.kernel.clone().with(options).on(on), device })
    }

    /// Whether the options are the same objects.
    #[inline]
    fn is_same(&self, debug: bool, given: &Given<'_>) -> bool {
        self.agrees(debug, given, |a, b| a.as_ptr() == b.as_ptr())
    }

    /// Whether the options are equal.
    #[cold]
    fn is_equal(&self, py: Python<'_>, debug: bool, given: &Given<'_>) -> bool {
        self.agrees(debug, given, |a, b| a.as_ptr() == b.as_ptr() || a.bind(py).eq(b).unwrap_or(false))
    }

    #[inline]
    fn agrees(&self, debug: bool, given: &Given<'_>, same: impl Fn(&Py<PyAny>, &Bound<'_, PyAny>) -> bool) -> bool {
        self.debug == debug
            && self.given.len() == given.len()
            && self
                .given
                .iter()
                .zip(given)
                .all(|((known, of_known), (name, value))| same(known.as_any(), name.as_any()) && same(of_known, value))
    }

    /// The options as they were passed, and whether asserts are checked.
    pub(crate) fn named<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (name, value) in &self.given {
            named.set_item(name, value)?;
        }
        named.set_item(intern!(py, "debug"), self.debug)?;
        Ok(named)
    }

    /// The `CompiledKernel` of a specialisation.
    #[inline]
    pub(crate) fn shown<'py>(
        &self,
        slf: &Bound<'py, KernelObject>,
        variant: &Arc<Variant>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let known = lock(slf.py(), &self.compiled);
        Ok(known.get(&(Arc::as_ptr(variant) as usize)).map(|known| known.shown.bind(slf.py()).clone()))
    }

    /// Makes the `CompiledKernel` of a specialisation.
    #[cold]
    pub(crate) fn show<'py>(
        &self,
        slf: &Bound<'py, KernelObject>,
        on: &shoal::Kernel,
        variant: &Arc<Variant>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let compiled = Compiled::new(on.clone(), variant.clone());
        let shown = slf.call_method1(intern!(py, "_show"), (compiled, self.named(py)?))?;
        let known = Known { _variant: variant.clone(), shown: shown.clone().unbind() };
        let before = lock(py, &self.compiled).insert(Arc::as_ptr(variant) as usize, known);
        drop(before);
        Ok(shown)
    }
}
