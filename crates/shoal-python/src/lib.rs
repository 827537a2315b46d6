//! The extension module `shoal._native`: what of the Python package is Rust.
//!
//! `python/shoal/runtime/` is the other half. Launching is here from end to end; what is asked once for a kernel (where
//! its source is, what a live object means to the compiler) is Python.

mod ahead;
mod arguments;
mod binding;
mod bridge;
mod command;
mod compiled;
mod descriptor;
mod devices;
mod dlpack;
mod dtypes;
mod errors;
mod exchange;
mod grid;
mod hooks;
mod host_value;
mod kernel;
mod known;
mod language;
mod launch;
mod lock;
mod memory;
mod mock;
mod nesting;
mod numpy;
mod options;
mod output;
mod signals;
mod variants;
mod world;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::ahead::compile_ahead;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::compiled::Compiled;
    #[pymodule_export]
    use crate::devices::{
        cuda_device_count, cuda_driver_version, cuda_properties, cuda_synchronize, default_device_name, play_cuda,
        set_default_device,
    };
    #[pymodule_export]
    use crate::kernel::{KernelObject, Launcher};
    #[pymodule_export]
    use crate::language::{language_functions, language_names};
    #[pymodule_export]
    use crate::world::{
        CommunicatorObject, EventObject, MeshObject, RankObject, StreamObject, SymmBlock, TeamObject, WorldObject,
        parse_bytes, store_word,
    };

    /// The names of all launch options.
    #[pyfunction]
    fn launch_options() -> Vec<&'static str> {
        crate::options::names().collect()
    }

    /// LLVM's name of this machine's CPU.
    #[pyfunction]
    fn cpu_name() -> &'static str {
        shoal::host_target().name()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
