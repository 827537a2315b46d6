//! A kernel in the forms it has on its way to code, for people to look at and for other tools to take.

use shoal_codegen::cpu::{self, Emit};
use shoal_lang::ArgSpec;

use crate::compile::{codegen_options, host_target, lower, optimise};
use crate::error::Report;
use crate::{Error, Kernel, targets};

/// A form of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Tile IR as the front end makes it.
    Tile,
    /// Tile IR after all passes.
    Optimised,
    /// LLVM IR.
    Llvm,
    /// Assembly.
    Asm,
    /// A relocatable object.
    Object,
}

impl Stage {
    /// All forms, in their order.
    pub const ALL: [Stage; 5] = [Stage::Tile, Stage::Optimised, Stage::Llvm, Stage::Asm, Stage::Object];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tile => "tile",
            Stage::Optimised => "tile-opt",
            Stage::Llvm => "llvm",
            Stage::Asm => "asm",
            Stage::Object => "obj",
        }
    }

    /// How files of this form end.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Stage::Tile => "tile",
            Stage::Optimised => "opt.tile",
            Stage::Llvm => "ll",
            Stage::Asm => "s",
            Stage::Object => "o",
        }
    }

    /// Whether it is text.
    #[must_use]
    pub fn is_text(self) -> bool {
        self != Stage::Object
    }
}

impl Kernel {
    /// The kernel in a form, for one specialisation. `cpu` is LLVM's name of the CPU to compile for (`x86-64-v3`), by
    /// default this machine's.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn emit(&self, specs: &[ArgSpec], stage: Stage, cpu: Option<&str>) -> Result<Vec<u8>, Error> {
        let what = match stage {
            Stage::Tile => return Ok(lower(self.shared(), specs, self.options())?.0.module.to_string().into_bytes()),
            Stage::Optimised => {
                return Ok(optimise(self.shared(), specs, self.options())?.0.module.to_string().into_bytes());
            }
            Stage::Llvm => Emit::Llvm,
            Stage::Asm => Emit::Asm,
            Stage::Object => Emit::Object,
        };
        let named = cpu.map(targets::named).transpose()?;
        let target = match &named {
            Some(target) => target,
            None => host_target(),
        };
        let (lowered, _) = optimise(self.shared(), specs, self.options())?;
        let sources = self.shared().module.sources();
        let options = codegen_options(self.options());
        cpu::emit(&lowered.module, &lowered.kernel, target, &sources, &options, what)
            .map_err(|errors| Error::Compile(Report::new(errors, sources.clone())))
    }
}
