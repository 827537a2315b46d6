//! The modules that kernels may use without a file: the language itself and a few of Python's.

/// A module of the language, or one of Python's that kernels may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KnownModule {
    /// `shoal`, `triton`, `triton_dist`.
    Root,
    /// `shoal.language`, `triton.language`, `triton_dist.language` and the modules it is made of.
    Language,
    /// `shoal.language.math`.
    LanguageMath,
    /// `shoal.language.extra`.
    Extra,
    /// `shoal.language.extra.cuda`, `….hip`.
    ExtraTarget,
    /// `shoal.language.extra.language_extra`.
    LanguageExtra,
    /// `shoal.language.extra.libdevice`.
    Libdevice,
    /// `shoal.language.extra.libshmem_device`.
    Libshmem,
    /// `shoal.language.target_info`.
    TargetInfo,
    /// Python's `math`.
    Math,
    /// Python's `typing` and its relatives.
    Typing,
    /// Python's `enum`.
    Enum,
    /// Python's `builtins`.
    Builtins,
}

impl KnownModule {
    /// The module with this dotted name.
    #[must_use]
    pub fn from_path(path: &str) -> Option<KnownModule> {
        let tail = match path {
            "math" => return Some(KnownModule::Math),
            "typing" | "typing_extensions" | "collections" | "dataclasses" => return Some(KnownModule::Typing),
            "enum" => return Some(KnownModule::Enum),
            "builtins" => return Some(KnownModule::Builtins),
            "shoal" | "triton" | "shoal.triton" | "triton_dist" => return Some(KnownModule::Root),
            _ => path
                .strip_prefix("shoal.triton.")
                .or_else(|| path.strip_prefix("triton."))
                .or_else(|| path.strip_prefix("triton_dist."))
                .or_else(|| path.strip_prefix("shoal."))?,
        };
        Some(match tail {
            "language"
            | "language.core"
            | "language.standard"
            | "language.random"
            | "language.semantic"
            | "language.distributed"
            | "language.distributed_ops"
            | "language.simt_ops"
            | "language.vector" => KnownModule::Language,
            "language.math" => KnownModule::LanguageMath,
            "language.extra" => KnownModule::Extra,
            "language.extra.cuda" | "language.extra.hip" | "language.extra.cpu" => KnownModule::ExtraTarget,
            "language.extra.language_extra"
            | "language.extra.cuda.language_extra"
            | "language.extra.hip.language_extra"
            | "language.extra.cpu.language_extra" => KnownModule::LanguageExtra,
            "language.extra.libdevice"
            | "language.extra.cuda.libdevice"
            | "language.extra.hip.libdevice"
            | "language.extra.cpu.libdevice" => KnownModule::Libdevice,
            "language.extra.libshmem_device"
            | "language.extra.libshmem"
            | "language.extra.cuda.libnvshmem_device"
            | "language.extra.hip.librocshmem_device"
            | "language.extra.hip.libmori_shmem_device" => KnownModule::Libshmem,
            "language.target_info" => KnownModule::TargetInfo,
            "runtime" | "runtime.jit" | "compiler" | "testing" => KnownModule::Root,
            _ => return None,
        })
    }

    /// Its dotted name.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            KnownModule::Root => "shoal",
            KnownModule::Language => "shoal.language",
            KnownModule::LanguageMath => "shoal.language.math",
            KnownModule::Extra => "shoal.language.extra",
            KnownModule::ExtraTarget => "shoal.language.extra.cuda",
            KnownModule::LanguageExtra => "shoal.language.extra.language_extra",
            KnownModule::Libdevice => "shoal.language.extra.libdevice",
            KnownModule::Libshmem => "shoal.language.extra.libshmem_device",
            KnownModule::TargetInfo => "shoal.language.target_info",
            KnownModule::Math => "math",
            KnownModule::Typing => "typing",
            KnownModule::Enum => "enum",
            KnownModule::Builtins => "builtins",
        }
    }

    /// A module inside this one.
    #[must_use]
    pub fn submodule(self, name: &str) -> Option<KnownModule> {
        match self {
            KnownModule::Root if name == "triton" => Some(KnownModule::Root),
            KnownModule::Root | KnownModule::Language | KnownModule::Extra | KnownModule::ExtraTarget => {
                KnownModule::from_path(&format!("{}.{name}", self.path()))
            }
            KnownModule::LanguageMath
            | KnownModule::LanguageExtra
            | KnownModule::Libdevice
            | KnownModule::Libshmem
            | KnownModule::TargetInfo
            | KnownModule::Math
            | KnownModule::Typing
            | KnownModule::Enum
            | KnownModule::Builtins => None,
        }
    }
}
