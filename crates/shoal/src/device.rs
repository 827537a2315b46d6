//! Where kernels run: what they are compiled for, how they are made ready, and how they are launched there.

use std::sync::{Arc, OnceLock};

use shoal_abi::Target;
use shoal_driver::cpu::{CpuDevice, LaunchOptions};
use shoal_driver::cuda::{CudaDevice, LaunchShape, Stream, StreamRef};
use shoal_driver::fork::Section;
use shoal_lang::ArgSpec;
use shoal_source::Cancellation;
use shoal_world::GpuRank;

use crate::arg::Location;
use crate::compile::{Compiled, compile_cuda, compile_native, lower};
use crate::cuda_launch::CudaLaunch;
use crate::kernel::{KernelShared, Prepared};
use crate::targets::host_target;
use crate::variant::{Runnable, Variant};
use crate::{CompileOptions, Error, cpu_launch, cuda_launch, interpret};

/// The ways to run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Native code on the host's CPU.
    Cpu,
    /// The reference interpreter: slow, checks every access.
    Interpreter,
    /// An NVIDIA GPU.
    Cuda,
}

impl Backend {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Interpreter => "interp",
            Backend::Cuda => "cuda",
        }
    }
}

/// Where kernels run. Cloning gives another handle to the same device.
#[derive(Debug, Clone)]
pub enum Device {
    /// Native code on the host's CPU.
    Cpu(CpuThreads),
    /// The reference interpreter.
    Interpreter,
    /// An NVIDIA GPU.
    Cuda(CudaQueue),
}

/// An NVIDIA GPU, and the stream that launches on it go to.
///
/// A launch whose memory is the GPU's is put into the stream, and returns at once; whoever reads the result waits, as
/// [`CudaBuffer::copy_to`](shoal_driver::cuda::CudaBuffer::copy_to) does. Memory of the host is copied to the GPU for the
/// launch and back when it is done.
#[derive(Debug, Clone)]
pub struct CudaQueue {
    stream: StreamRef,
    target: Target,
    /// Keeps a stream of our own.
    _owned: Option<Arc<Stream>>,
}

impl CudaQueue {
    pub(crate) fn new(stream: StreamRef, owned: Option<Arc<Stream>>) -> CudaQueue {
        CudaQueue { stream, target: Target::Nvptx(stream.device().arch()), _owned: owned }
    }

    /// The GPU.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.stream.device()
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> StreamRef {
        self.stream
    }
}

/// Threads that run kernels on the CPU. They are started by the first launch.
#[derive(Debug, Clone)]
pub struct CpuThreads {
    started: Arc<OnceLock<CpuDevice>>,
}

impl CpuThreads {
    /// Those of all cores, or as many as `SHOAL_CPU_THREADS` says: one set for all of the process.
    fn of_host() -> CpuThreads {
        static HOST: OnceLock<CpuThreads> = OnceLock::new();
        HOST.get_or_init(|| CpuThreads { started: Arc::default() }).clone()
    }

    /// The threads, started now if they are not yet.
    #[inline]
    fn started(&self) -> Result<&CpuDevice, Error> {
        match self.started.get() {
            Some(device) => Ok(device),
            None => self.start(),
        }
    }

    #[cold]
    fn start(&self) -> Result<&CpuDevice, Error> {
        let _section = Section::enter();
        let device = CpuDevice::host()?;
        Ok(self.started.get_or_init(|| device))
    }
}

impl Device {
    /// All cores, or as many threads as `SHOAL_CPU_THREADS` says. All callers share one device, whose threads are
    /// started by the first launch.
    #[must_use]
    pub fn cpu() -> Device {
        Device::Cpu(CpuThreads::of_host())
    }

    /// A device with so many threads of its own.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn cpu_with_threads(threads: usize) -> Result<Device, Error> {
        let started = Arc::new(OnceLock::from(CpuDevice::new(threads)?));
        Ok(Device::Cpu(CpuThreads { started }))
    }

    /// GPU number `ordinal`; launches go to its default stream.
    ///
    /// # Errors
    /// When there is no CUDA driver or no such GPU.
    pub fn cuda(ordinal: u32) -> Result<Device, Error> {
        Ok(Device::Cuda(CudaQueue::new(StreamRef::default_of(CudaDevice::new(ordinal)?), None)))
    }

    /// The GPU of a stream; launches go to it.
    #[must_use]
    pub fn cuda_stream(stream: Arc<Stream>) -> Device {
        Device::Cuda(CudaQueue::new(**stream, Some(stream)))
    }

    /// The GPU of a rank, with the rank's stream. The rank is kept by whoever launches.
    pub(crate) fn of_rank(gpu: &GpuRank) -> Device {
        Device::Cuda(CudaQueue::new(gpu.stream(), None))
    }

    /// The device of a backend, the first where there are several.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(backend: Backend) -> Result<Device, Error> {
        Ok(match backend {
            Backend::Cpu => Device::cpu(),
            Backend::Interpreter => Device::Interpreter,
            Backend::Cuda => Device::cuda(0)?,
        })
    }

    /// Which backend it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self {
            Device::Cpu(_) => Backend::Cpu,
            Device::Interpreter => Backend::Interpreter,
            Device::Cuda(_) => Backend::Cuda,
        }
    }

    /// Whose memory its kernels work on.
    #[must_use]
    pub fn location(&self) -> Location {
        match self {
            Device::Cpu(_) | Device::Interpreter => Location::Host,
            Device::Cuda(queue) => Location::Cuda(queue.device().ordinal()),
        }
    }

    /// What kernels on it are compiled for. The interpreter runs what this machine would.
    #[must_use]
    pub fn target(&self) -> &Target {
        match self {
            Device::Cpu(_) | Device::Interpreter => host_target(),
            Device::Cuda(queue) => &queue.target,
        }
    }

    /// Programs of a kernel that may count on running at the same time, if ranks that share the device have launched
    /// nothing else: threads of the host, or multiprocessors of a GPU.
    ///
    /// # Errors
    /// When the host's threads cannot be started.
    pub fn programs_at_once(&self) -> Result<usize, Error> {
        match self {
            Device::Cpu(_) | Device::Interpreter => self.threads(),
            Device::Cuda(queue) => Ok(queue.device().properties().multiprocessors as usize),
        }
    }

    /// Threads of the host that work on a launch.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn threads(&self) -> Result<usize, Error> {
        match self {
            Device::Cpu(threads) => Ok(threads.started()?.threads()),
            Device::Interpreter | Device::Cuda(_) => Ok(1),
        }
    }

    /// Makes one specialisation of a kernel ready to run on it.
    pub(crate) fn load(
        &self,
        kernel: &KernelShared,
        specs: Vec<ArgSpec>,
        options: &CompileOptions,
        cancellation: &Cancellation,
    ) -> Result<Variant, Error> {
        Ok(match self {
            Device::Cpu(_) => {
                let Compiled { kernel, linked, report } =
                    compile_native(kernel, &specs, options, self.target(), cancellation)?;
                Variant::new(specs, report, linked, Runnable::Native(kernel))
            }
            Device::Cuda(queue) => {
                let Compiled { kernel, linked, report } =
                    compile_cuda(kernel, &specs, options, queue.device(), cancellation)?;
                Variant::new(specs, report, linked, Runnable::Cuda(kernel))
            }
            Device::Interpreter => {
                let (module, report) = lower(kernel, &specs, options, self.target(), cancellation)?;
                Variant::new(specs, report, Vec::new(), Runnable::Lowered(module))
            }
        })
    }

    /// Runs a specialisation that was loaded for it.
    #[inline]
    pub(crate) fn launch(
        &self,
        kernel: &KernelShared,
        variant: &Variant,
        prepared: &Prepared<'_>,
        grid: [u32; 3],
        options: &LaunchOptions,
    ) -> Result<(), Error> {
        match (variant.code(), self) {
            (Runnable::Native(code), Device::Cpu(threads)) => {
                cpu_launch::launch(threads.started()?, code, grid, prepared.block(), options)
            }
            (Runnable::Cuda(code), Device::Cuda(queue)) => {
                let launch = CudaLaunch {
                    code,
                    grid,
                    stream: queue.stream(),
                    shape: LaunchShape::default(),
                    table: None,
                    bounds: options.bounds.clone(),
                };
                cuda_launch::launch(kernel, prepared, &launch, options)
            }
            (Runnable::Lowered(module), _) => interpret::launch(kernel, options, module, grid, prepared),
            // The backend is part of the key.
            (Runnable::Native(_), Device::Interpreter | Device::Cuda(_))
            | (Runnable::Cuda(_), Device::Interpreter | Device::Cpu(_)) => {
                Err(Error::Interpreter("the kernel was compiled for another device than it is launched on".into()))
            }
        }
    }
}
