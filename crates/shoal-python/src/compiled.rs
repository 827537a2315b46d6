//! One compiled specialisation, for `runtime/kernel.py` to show.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use shoal::aot::{Build, find_runtime};
use shoal::{ArgSpec, Error, Origin, Stage, Target, Variant, host_target, target_named};

use crate::errors::raise;
use crate::options;

/// One compiled specialisation.
#[pyclass(module = "shoal._native", frozen)]
pub(crate) struct Compiled {
    kernel: shoal::Kernel,
    code: Code,
}

/// Where the code is.
enum Code {
    /// On the kernel's device.
    Loaded(Arc<Variant>),
    /// Nowhere: it is for a machine that is not this one.
    Foreign { specs: Vec<ArgSpec>, target: Target, assembly: Vec<u8> },
}

impl Compiled {
    pub(crate) fn new(kernel: shoal::Kernel, variant: Arc<Variant>) -> Compiled {
        Compiled { kernel, code: Code::Loaded(variant) }
    }

    /// Compiles for a signature on a target that need not be here.
    ///
    /// # Errors
    /// When it does not compile.
    pub(crate) fn foreign(kernel: shoal::Kernel, signature: &str, target: Target) -> Result<Compiled, Error> {
        let specs = kernel.read_signature(signature)?;
        let assembly = kernel.emit(&specs, Stage::Asm, &target)?;
        Ok(Compiled { kernel, code: Code::Foreign { specs, target, assembly } })
    }

    fn specs(&self) -> &[ArgSpec] {
        match &self.code {
            Code::Loaded(variant) => variant.specs(),
            Code::Foreign { specs, .. } => specs,
        }
    }

    fn compiled_for(&self) -> &Target {
        match &self.code {
            Code::Loaded(_) => self.kernel.device().target(),
            Code::Foreign { target, .. } => target,
        }
    }

    fn emitted<'py>(
        &self,
        py: Python<'py>,
        kernel: &shoal::Kernel,
        stage: Stage,
        target: &Target,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let emitted = py.detach(|| kernel.emit(self.specs(), stage, target));
        Ok(PyBytes::new(py, &emitted.map_err(|error| raise(py, error, None))?))
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
        params.zip(self.specs().iter().map(ToString::to_string)).collect()
    }

    /// The parameters whose values are compiled in.
    #[getter]
    fn constants(&self) -> Vec<&str> {
        let constant = |spec: &ArgSpec| matches!(spec, ArgSpec::Constant(_));
        let pairs = self.kernel.params().iter().zip(self.specs());
        pairs.filter(|(_, spec)| constant(spec)).map(|(param, _)| param.name()).collect()
    }

    /// Whether the code was in the cache on disk.
    #[getter(from_cache)]
    fn was_cached(&self) -> bool {
        matches!(&self.code, Code::Loaded(variant) if variant.report().origin == Origin::Cached)
    }

    /// Whether the code can be launched: it is for a machine that is here.
    #[getter(loaded)]
    fn is_loaded(&self) -> bool {
        matches!(self.code, Code::Loaded(_))
    }

    /// Seconds that each step took, where that was measured.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let times = PyDict::new(py);
        let Code::Loaded(variant) = &self.code else { return Ok(times) };
        let report = variant.report();
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

    /// Size of the machine code's object; of the assembly, for a machine that is not here.
    #[getter]
    fn object_bytes(&self) -> usize {
        match &self.code {
            Code::Loaded(variant) => variant.report().object_bytes,
            Code::Foreign { assembly, .. } => assembly.len(),
        }
    }

    /// What it is compiled for: `("cuda", "sm_90a")`.
    #[getter]
    fn target(&self) -> (&'static str, &str) {
        let target = self.compiled_for();
        (target.kind(), target.name())
    }

    /// What of a GPU it takes: registers of a thread, bytes of local memory of a thread, bytes of shared memory and
    /// threads of a program. `None` for a CPU, and for a GPU that is not here.
    #[getter]
    fn gpu_resources(&self) -> Option<(u32, u32, u32, u32)> {
        let Code::Loaded(variant) = &self.code else { return None };
        let resources = variant.gpu_resources()?;
        Some((resources.registers, resources.local_bytes, resources.shared_bytes, resources.threads))
    }

    /// The kernel in one of its forms: `tile`, `tile-opt`, `llvm-raw`, `llvm`, `asm`, `obj`.
    fn emit<'py>(&self, py: Python<'py>, stage: &str) -> PyResult<Bound<'py, PyBytes>> {
        match (stage_named(stage)?, &self.code) {
            (Stage::Asm, Code::Foreign { assembly, .. }) => Ok(PyBytes::new(py, assembly)),
            (stage, _) => self.emitted(py, &self.kernel, stage, self.compiled_for()),
        }
    }

    /// The same for a GPU that need not be here, with these launch options.
    fn emit_for_gpu<'py>(
        &self,
        py: Python<'py>,
        stage: &str,
        target: &str,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let target = target_named(target).map_err(|error| raise(py, error, None))?;
        let options = options::for_gpu(py, self.kernel.options().clone(), options)?;
        self.emitted(py, &self.kernel.clone().with(options), stage_named(stage)?, &target)
    }

    /// The two shared libraries for torch's AOTInductor, which knows the kernel by `symbol`: one with that name, one that runs
    /// the kernel on the CPU that it is compiled for, with arguments of any alignment. `runtime` names folders where the
    /// runtime may lie.
    fn torch_libraries<'py>(
        &self,
        py: Python<'py>,
        symbol: &str,
        runtime: Vec<PathBuf>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let made = py.detach(|| {
            let target = self.compiled_for();
            if target.kind() != "cpu" {
                let text = format!("AOTInductor asks for libraries of kernels for CPUs, not for {target}");
                return Err(Error::AheadOfTime(text));
            }
            // By its model's name, this machine would be one without what it has beyond its model.
            let target = if target == host_target() { "native" } else { target.name() };
            let runtime = find_runtime(&runtime)?;
            let specs: Vec<String> = self.specs().iter().map(ToString::to_string).collect();
            let any: Vec<String> = self.specs().iter().map(|spec| of_any_alignment(spec).to_string()).collect();
            let build = Build::new(self.kernel.clone()).name("kernel").target(target).signature(&specs.join(", "));
            let build = if any == specs { build } else { build.signature(&any.join(", ")) };
            let parameters: Vec<&str> = self.kernel.params().iter().map(shoal::Param::name).collect();
            build.compile()?.torch_libraries(symbol, &parameters, &runtime)
        });
        let made = made.map_err(|error| raise(py, error, None))?;
        Ok((PyBytes::new(py, &made.name), PyBytes::new(py, &made.launcher)))
    }
}

fn stage_named(name: &str) -> PyResult<Stage> {
    let known = Stage::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| PyKeyError::new_err(format!("kernels have no form `{name}`")))
}

/// The same without what is known of an argument's alignment.
fn of_any_alignment(spec: &ArgSpec) -> ArgSpec {
    match spec {
        ArgSpec::Value { ty, .. } => ArgSpec::Value { ty: ty.clone(), divisible: 1 },
        ArgSpec::Constant(_) | ArgSpec::Tuple(_) | ArgSpec::NamedTuple(..) => spec.clone(),
    }
}
