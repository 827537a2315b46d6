//! A kernel in the forms it has on its way to code, for people to look at and for other tools to take.

use shoal_abi::{NvptxArch, Target};
use shoal_codegen::Emit;
use shoal_driver::cuda::{assemble, assemble_with_ptxas};
use shoal_lang::ArgSpec;
use shoal_source::Cancellation;

use crate::compile::{codegen_options, lower, optimise};
use crate::error::Report;
use crate::{Device, Error, Kernel};

/// A form of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Tile IR as the front end makes it.
    Tile,
    /// Tile IR after all passes.
    Optimised,
    /// LLVM IR as the backend writes it.
    LlvmRaw,
    /// LLVM IR after LLVM's passes.
    Llvm,
    /// Assembly.
    Asm,
    /// A relocatable object.
    Object,
}

impl Stage {
    /// All forms, in their order.
    pub const ALL: [Stage; 6] = [Stage::Tile, Stage::Optimised, Stage::LlvmRaw, Stage::Llvm, Stage::Asm, Stage::Object];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tile => "tile",
            Stage::Optimised => "tile-opt",
            Stage::LlvmRaw => "llvm-raw",
            Stage::Llvm => "llvm",
            Stage::Asm => "asm",
            Stage::Object => "obj",
        }
    }

    /// How files of this form end for a target.
    #[must_use]
    pub fn extension(self, target: &Target) -> &'static str {
        let (assembly, object) = match target {
            Target::Cpu(_) | Target::Amdgpu(_) => ("s", "o"),
            Target::Nvptx(_) => ("ptx", "cubin"),
        };
        match self {
            Stage::Tile => "tile",
            Stage::Optimised => "opt.tile",
            Stage::LlvmRaw => "raw.ll",
            Stage::Llvm => "ll",
            Stage::Asm => assembly,
            Stage::Object => object,
        }
    }

    /// Whether it is text.
    #[must_use]
    pub fn is_text(self) -> bool {
        self != Stage::Object
    }
}

impl Kernel {
    /// The kernel in a form, for one specialisation on one target.
    ///
    /// # Errors
    /// When it does not compile, or there is no backend for the target.
    pub fn emit(&self, specs: &[ArgSpec], stage: Stage, target: &Target) -> Result<Vec<u8>, Error> {
        let (kernel, options) = (self.shared(), self.options());
        let never = &Cancellation::default();
        let what = match stage {
            Stage::Tile => return Ok(lower(kernel, specs, options, target, never)?.0.module.to_string().into_bytes()),
            Stage::Optimised => {
                return Ok(optimise(kernel, specs, options, target, never)?.0.module.to_string().into_bytes());
            }
            Stage::LlvmRaw => Emit::LlvmRaw,
            Stage::Llvm => Emit::Llvm,
            Stage::Asm => Emit::Asm,
            Stage::Object => Emit::Object,
        };
        let (lowered, _) = optimise(kernel, specs, options, target, never)?;
        let sources = kernel.module.sources();
        let made =
            shoal_codegen::emit(&lowered.module, &lowered.kernel, target, &sources, &codegen_options(options), what)
                .map_err(|errors| Error::Compile(Report::new(errors, sources.clone())))?;
        match target.nvptx() {
            Some(arch) if stage == Stage::Object => self.cubin(arch, &made),
            Some(_) | None => Ok(made),
        }
    }

    /// PTX as machine code: by the driver's assembler if the kernel is on such a GPU, else by `ptxas`.
    fn cubin(&self, arch: NvptxArch, ptx: &[u8]) -> Result<Vec<u8>, Error> {
        match self.device() {
            Device::Cuda(queue) if queue.device().arch() == arch => Ok(assemble(queue.device(), self.name(), ptx)?),
            Device::Cuda(_) | Device::Cpu(_) | Device::Interpreter => {
                Ok(assemble_with_ptxas(self.name(), arch, ptx)?.0)
            }
        }
    }
}
