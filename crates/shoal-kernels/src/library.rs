//! The kernels' sources, and where they are launched.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use shoal::fork::Section;
use shoal::{CompileOptions, Device, Error, Kernel, Module};

/// A file of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// `all_gather.py`
    AllGather,
    /// `all_reduce.py`
    AllReduce,
    /// `all_reduce_rms_norm.py`
    AllReduceRmsNorm,
    /// `all_to_all.py`
    AllToAll,
    /// `attention.py`
    Attention,
    /// `broadcast.py`
    Broadcast,
    /// `dropout.py`
    Dropout,
    /// `gemm_ranks.py`
    GemmRanks,
    /// `grouped_gemm.py`
    GroupedGemm,
    /// `layer_norm.py`
    LayerNorm,
    /// `matmul.py`
    Matmul,
    /// `puts.py`
    Puts,
    /// `reduce_scatter.py`
    ReduceScatter,
    /// `rms_norm.py`
    RmsNorm,
    /// `softmax.py`
    Softmax,
    /// `vector_add.py`
    VectorAdd,
}

impl Source {
    /// What files import; it has no kernels of its own.
    pub(crate) const SHARED: [(&'static str, &'static str); 3] = [
        ("profiler.py", include_str!("../kernels/profiler.py")),
        ("sharing.py", include_str!("../kernels/sharing.py")),
        ("sync.py", include_str!("../kernels/sync.py")),
    ];

    /// Every file.
    pub const ALL: [Source; 16] = [
        Source::AllGather,
        Source::AllReduce,
        Source::AllReduceRmsNorm,
        Source::AllToAll,
        Source::Attention,
        Source::Broadcast,
        Source::Dropout,
        Source::GemmRanks,
        Source::GroupedGemm,
        Source::LayerNorm,
        Source::Matmul,
        Source::Puts,
        Source::ReduceScatter,
        Source::RmsNorm,
        Source::Softmax,
        Source::VectorAdd,
    ];

    /// The file's name.
    #[must_use]
    pub fn file(self) -> &'static str {
        self.named().0
    }

    /// The file's text.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.named().1
    }

    /// The file as a module, parsed on the first call.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn module(self) -> Result<Module, Error> {
        static PARSED: OnceLock<Mutex<HashMap<Source, Module>>> = OnceLock::new();
        let _section = Section::enter();
        let mut parsed = PARSED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = parsed.get(&self) {
            return Ok(module.clone());
        }
        let module = Module::from_sources(self.file(), self.text(), &Source::SHARED)?;
        parsed.insert(self, module.clone());
        Ok(module)
    }

    /// Whether a kernel of the file needs no loads and stores of other ranks' memory, so that it runs on ranks of several
    /// hosts.
    pub(crate) fn runs_between_hosts(self, kernel: &str) -> bool {
        match self {
            Source::AllGather
            | Source::AllReduce
            | Source::AllReduceRmsNorm
            | Source::AllToAll
            | Source::Broadcast
            | Source::ReduceScatter => false,
            // Those whose rows a stream carries.
            Source::GemmRanks => ["all_gather_matmul", "gemm_announced", "add_parts"].contains(&kernel),
            Source::Attention
            | Source::Dropout
            | Source::GroupedGemm
            | Source::LayerNorm
            | Source::Matmul
            | Source::Puts
            | Source::RmsNorm
            | Source::Softmax
            | Source::VectorAdd => true,
        }
    }

    fn named(self) -> (&'static str, &'static str) {
        macro_rules! file {
            ($name:literal) => {
                ($name, include_str!(concat!("../kernels/", $name)))
            };
        }
        match self {
            Source::AllGather => file!("all_gather.py"),
            Source::AllReduce => file!("all_reduce.py"),
            Source::AllReduceRmsNorm => file!("all_reduce_rms_norm.py"),
            Source::AllToAll => file!("all_to_all.py"),
            Source::Attention => file!("attention.py"),
            Source::Broadcast => file!("broadcast.py"),
            Source::Dropout => file!("dropout.py"),
            Source::GemmRanks => file!("gemm_ranks.py"),
            Source::GroupedGemm => file!("grouped_gemm.py"),
            Source::LayerNorm => file!("layer_norm.py"),
            Source::Matmul => file!("matmul.py"),
            Source::Puts => file!("puts.py"),
            Source::ReduceScatter => file!("reduce_scatter.py"),
            Source::RmsNorm => file!("rms_norm.py"),
            Source::Softmax => file!("softmax.py"),
            Source::VectorAdd => file!("vector_add.py"),
        }
    }
}

/// The library on a device, with options.
#[derive(Debug)]
pub struct Library {
    device: Device,
    options: CompileOptions,
    kernels: Mutex<HashMap<(Source, &'static str), Kernel>>,
}

impl Library {
    /// The library on a device.
    #[must_use]
    pub fn on(device: Device) -> Library {
        Library::with(device, CompileOptions::default())
    }

    /// The library on a device, compiled and launched with these options.
    #[must_use]
    pub fn with(device: Device, options: CompileOptions) -> Library {
        Library { device, options, kernels: Mutex::default() }
    }

    /// Where its kernels run.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How long compiling all that was launched took, without parsing.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        let _section = Section::enter();
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = kernels.values().flat_map(Kernel::reports);
        reports.map(|report| report.total().saturating_sub(report.parse)).sum()
    }

    /// A kernel of a file.
    ///
    /// # Errors
    /// When the file does not parse or has no such kernel.
    pub fn kernel(&self, source: Source, name: &'static str) -> Result<Kernel, Error> {
        let _section = Section::enter();
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&(source, name)) {
            return Ok(kernel.clone());
        }
        let kernel = source.module()?.kernel(name)?.on(self.device.clone()).with(self.options.clone());
        kernels.insert((source, name), kernel.clone());
        Ok(kernel)
    }
}

/// `a / b`, rounded up.
pub(crate) fn cdiv(a: usize, b: usize) -> usize {
    a.div_ceil(b)
}
