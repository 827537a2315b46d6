//! One compiled specialisation, for `runtime/kernel.py` to show.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use shoal::{ArgSpec, Origin, Stage, Variant};

use crate::errors::raise;

/// One compiled specialisation.
#[pyclass(module = "shoal._native", frozen)]
pub(crate) struct Compiled {
    kernel: shoal::Kernel,
    variant: Arc<Variant>,
}

impl Compiled {
    pub(crate) fn new(kernel: shoal::Kernel, variant: Arc<Variant>) -> Compiled {
        Compiled { kernel, variant }
    }
}

#[pymethods]
impl Compiled {
    /// The kernel's name.
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    /// What is compiled in of each argument: `[(name, "*fp32:16"), ...]`.
    #[getter]
    fn signature(&self) -> Vec<(&str, String)> {
        let params = self.kernel.params().iter().map(shoal::Param::name);
        params.zip(self.variant.specs().iter().map(ToString::to_string)).collect()
    }

    /// The parameters whose values are compiled in.
    #[getter]
    fn constants(&self) -> Vec<&str> {
        let constant = |spec: &ArgSpec| matches!(spec, ArgSpec::Constant(_));
        let pairs = self.kernel.params().iter().zip(self.variant.specs());
        pairs.filter(|(_, spec)| constant(spec)).map(|(param, _)| param.name()).collect()
    }

    /// Whether the code was in the cache on disk.
    #[getter(from_cache)]
    fn was_cached(&self) -> bool {
        self.variant.report().origin == Origin::Cached
    }

    /// Seconds that each step took.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.variant.report();
        let times = PyDict::new(py);
        for (step, time) in [
            ("parse", report.parse),
            ("lower", report.lower),
            ("passes", report.passes),
            ("codegen", report.codegen),
            ("assemble", report.assemble),
            ("lookup", report.lookup),
            ("load", report.load),
        ] {
            times.set_item(step, time.as_secs_f64())?;
        }
        Ok(times)
    }

    /// Size of the machine code's object.
    #[getter]
    fn object_bytes(&self) -> usize {
        self.variant.report().object_bytes
    }

    /// What it is compiled for: `("cuda", "sm_90a")`.
    #[getter]
    fn target(&self) -> (&'static str, &str) {
        let target = self.kernel.device().target();
        (target.kind(), target.name())
    }

    /// What of a GPU it takes: registers of a thread, bytes of local memory of a thread, bytes of shared memory of a
    /// program. `None` for a CPU.
    #[getter]
    fn gpu_resources(&self) -> Option<(u32, u32, u32)> {
        let resources = self.variant.gpu_resources()?;
        Some((resources.registers, resources.local_bytes, resources.shared_bytes))
    }

    /// The kernel in one of its forms: `tile`, `tile-opt`, `llvm-raw`, `llvm`, `asm`, `obj`.
    fn emit<'py>(&self, py: Python<'py>, stage: &str) -> PyResult<Bound<'py, PyBytes>> {
        let stage = Stage::ALL
            .into_iter()
            .find(|known| known.name() == stage)
            .ok_or_else(|| PyKeyError::new_err(format!("kernels have no form `{stage}`")))?;
        let emitted = py.detach(|| self.kernel.emit(self.variant.specs(), stage, self.kernel.device().target()));
        Ok(PyBytes::new(py, &emitted.map_err(|error| raise(py, error, None))?))
    }
}
