//! What code is made for: one enum from the language's options to the device.
//!
//! A new kind of target is one variant here and a folder of its own in code generation; every place that must decide
//! matches on this enum without a wildcard. What only NVIDIA's GPUs have is asked for by [`Target::nvptx`].

use std::fmt;
use std::str::FromStr;

use crate::CpuTarget;

/// What code is made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An x86-64 CPU.
    Cpu(CpuTarget),
    /// An NVIDIA GPU.
    Nvptx(NvptxArch),
    /// An AMD GPU.
    Amdgpu(AmdgpuArch),
}

/// Architectures of NVIDIA GPUs. Those with an `a` have instructions that no later architecture promises to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say all")]
pub enum NvptxArch {
    Sm80,
    Sm86,
    Sm87,
    Sm89,
    Sm90,
    Sm90a,
    Sm100,
    Sm100a,
    Sm103,
    Sm103a,
    Sm120,
    Sm120a,
}

impl NvptxArch {
    /// All of them, oldest first.
    pub const ALL: [NvptxArch; 12] = [
        NvptxArch::Sm80,
        NvptxArch::Sm86,
        NvptxArch::Sm87,
        NvptxArch::Sm89,
        NvptxArch::Sm90,
        NvptxArch::Sm90a,
        NvptxArch::Sm100,
        NvptxArch::Sm100a,
        NvptxArch::Sm103,
        NvptxArch::Sm103a,
        NvptxArch::Sm120,
        NvptxArch::Sm120a,
    ];

    /// NVIDIA's and LLVM's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NvptxArch::Sm80 => "sm_80",
            NvptxArch::Sm86 => "sm_86",
            NvptxArch::Sm87 => "sm_87",
            NvptxArch::Sm89 => "sm_89",
            NvptxArch::Sm90 => "sm_90",
            NvptxArch::Sm90a => "sm_90a",
            NvptxArch::Sm100 => "sm_100",
            NvptxArch::Sm100a => "sm_100a",
            NvptxArch::Sm103 => "sm_103",
            NvptxArch::Sm103a => "sm_103a",
            NvptxArch::Sm120 => "sm_120",
            NvptxArch::Sm120a => "sm_120a",
        }
    }

    /// The compute capability: major and minor.
    #[must_use]
    pub fn capability(self) -> (u32, u32) {
        match self {
            NvptxArch::Sm80 => (8, 0),
            NvptxArch::Sm86 => (8, 6),
            NvptxArch::Sm87 => (8, 7),
            NvptxArch::Sm89 => (8, 9),
            NvptxArch::Sm90 | NvptxArch::Sm90a => (9, 0),
            NvptxArch::Sm100 | NvptxArch::Sm100a => (10, 0),
            NvptxArch::Sm103 | NvptxArch::Sm103a => (10, 3),
            NvptxArch::Sm120 | NvptxArch::Sm120a => (12, 0),
        }
    }
}

/// Architectures of AMD GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AmdgpuArch {
    /// CDNA 2: MI200.
    Gfx90a,
    /// CDNA 3: MI300.
    Gfx942,
    /// CDNA 4: MI350.
    Gfx950,
}

impl AmdgpuArch {
    /// All of them, oldest first.
    pub const ALL: [AmdgpuArch; 3] = [AmdgpuArch::Gfx90a, AmdgpuArch::Gfx942, AmdgpuArch::Gfx950];

    /// AMD's and LLVM's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AmdgpuArch::Gfx90a => "gfx90a",
            AmdgpuArch::Gfx942 => "gfx942",
            AmdgpuArch::Gfx950 => "gfx950",
        }
    }
}

impl Target {
    /// The name of the model: `x86-64-v3`, `sm_90a`, `gfx942`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Target::Cpu(cpu) => cpu.name(),
            Target::Nvptx(arch) => arch.name(),
            Target::Amdgpu(arch) => arch.name(),
        }
    }

    /// The name of its kind, as host programs of GPUs know it: `cpu`, `cuda`, `hip`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Cpu(_) => "cpu",
            Target::Nvptx(_) => "cuda",
            Target::Amdgpu(_) => "hip",
        }
    }

    /// The architecture of an NVIDIA GPU: what only those have is asked for through it, and other targets have not.
    #[must_use]
    pub fn nvptx(&self) -> Option<NvptxArch> {
        match self {
            Target::Nvptx(arch) => Some(*arch),
            Target::Cpu(_) | Target::Amdgpu(_) => None,
        }
    }

    /// All that code depends on, as text for keys: equal keys, equal code.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Target::Cpu(cpu) => format!("cpu {} {}", cpu.name(), cpu.features()),
            Target::Nvptx(arch) => format!("nvptx {}", arch.name()),
            Target::Amdgpu(arch) => format!("amdgpu {}", arch.name()),
        }
    }

    /// The names that can be read, in groups for people.
    fn names() -> String {
        let cpus: Vec<&str> = CpuTarget::names().collect();
        let nvptx = NvptxArch::ALL.map(NvptxArch::name).join(", ");
        let amdgpu = AmdgpuArch::ALL.map(AmdgpuArch::name).join(", ");
        format!("CPUs: native, generic, {}; NVIDIA GPUs: {nvptx}; AMD GPUs: {amdgpu}", cpus.join(", "))
    }
}

/// The name of the model.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no target of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTarget {
    name: String,
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no target `{}`; there are {}", self.name, Target::names())
    }
}

impl std::error::Error for UnknownTarget {}

/// A target by its model's name; `generic` is any x86-64. (`native` is this machine, which only the compiler can ask.)
impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Target, UnknownTarget> {
        let nvptx = || NvptxArch::ALL.into_iter().find(|arch| arch.name() == name).map(Target::Nvptx);
        let amdgpu = || AmdgpuArch::ALL.into_iter().find(|arch| arch.name() == name).map(Target::Amdgpu);
        let cpu = CpuTarget::named(if name == "generic" { "x86-64" } else { name }).map(Target::Cpu);
        cpu.or_else(nvptx).or_else(amdgpu).ok_or_else(|| UnknownTarget { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_read_and_has_a_key_of_its_own() {
        let names = CpuTarget::names()
            .chain(NvptxArch::ALL.into_iter().map(NvptxArch::name))
            .chain(AmdgpuArch::ALL.into_iter().map(AmdgpuArch::name));
        let mut keys = HashSet::new();
        for name in names {
            let target: Target = name.parse().unwrap();
            assert_eq!(target.to_string(), name);
            assert_eq!(target.nvptx().is_some(), target.kind() == "cuda", "{name}");
            assert!(keys.insert(target.key()), "{name}");
        }
        assert_ne!(Target::Nvptx(NvptxArch::Sm80).key(), Target::Nvptx(NvptxArch::Sm90a).key());
        assert_ne!(Target::Nvptx(NvptxArch::Sm90).key(), Target::Nvptx(NvptxArch::Sm90a).key());
    }

    #[test]
    fn other_names_are_refused_with_those_that_there_are() {
        let said = "z80".parse::<Target>().unwrap_err().to_string();
        assert!(said.starts_with("there is no target `z80`; there are CPUs: native, generic, x86-64, "), "{said}");
        assert!(said.contains("sm_90a") && said.contains("gfx942"), "{said}");
        assert_eq!("generic".parse::<Target>().unwrap().name(), "x86-64");
    }
}
