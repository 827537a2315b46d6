//! What a compiler states about a kernel it has compiled, and a device must know to run it.
//!
//! The description travels with the code: in memory as it is here, on disk and inside other programs as one line of
//! text, which [`KernelDescription::to_string`] writes and `parse` reads. There is no other form.
//!
//! ```text
//! shoal-kernel 1 name=add params=8/8,8/8,4/4 waits=never fails=no cpu scratch=64 amx=no features=avx2,fma
//! ```

use std::fmt;
use std::str::FromStr;

use crate::{NvptxArch, TensorMapNeeds};

/// What a compiler states about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescription {
    /// The entry point's symbol, and the name used in messages.
    pub name: String,
    /// The run-time parameters in order.
    pub params: Vec<ParamLayout>,
    /// Whether programs may wait for each other.
    pub waits: Waits,
    /// Whether a program may fail.
    pub can_fail: bool,
    /// What its kind of target must provide.
    pub needs: TargetNeeds,
}

/// Size and alignment of one run-time parameter in the argument block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamLayout {
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes, a power of two up to 8.
    pub align: usize,
}

/// Whether programs of a kernel may wait for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// No program reaches a scheduling point.
    Never,
    /// Programs may spin on memory that others write.
    MayWait,
}

/// What each kind of target must provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetNeeds {
    /// A CPU.
    Cpu(CpuNeeds),
    /// An NVIDIA GPU.
    Nvptx(NvptxNeeds),
}

/// What a kernel wants its table of ranks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableUse {
    /// It has none.
    None,
    /// To know how long it may wait, and to say that it waited too long.
    Waits,
    /// To reach other ranks: it can be launched by a rank alone.
    Ranks,
}

impl TableUse {
    /// Its name in descriptions.
    fn name(self) -> &'static str {
        match self {
            TableUse::None => "no",
            TableUse::Waits => "waits",
            TableUse::Ranks => "yes",
        }
    }

    fn from_name(name: &str) -> Option<TableUse> {
        [TableUse::None, TableUse::Waits, TableUse::Ranks].into_iter().find(|table| table.name() == name)
    }
}

/// What an NVIDIA GPU must provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvptxNeeds {
    /// The architecture.
    pub arch: NvptxArch,
    /// The threads of one program.
    pub threads: u32,
    /// The bytes of shared memory of one program.
    pub shared_bytes: u32,
    /// Whether an address of a [table of ranks](crate::rank_table), which no argument stands for, follows the parameters.
    pub table: TableUse,
    /// The tensors that it reaches through the copy engine: their maps come last.
    pub tensor_maps: Vec<TensorMapNeeds>,
}

/// What a CPU must provide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuNeeds {
    /// Working memory of each program.
    pub scratch_bytes: usize,
    /// AMX tiles, which the operating system must be asked for.
    pub uses_amx: bool,
    /// The features that the code may use, AMX aside; see [`CpuTarget::required`](crate::CpuTarget::required).
    pub features: Vec<String>,
}

impl KernelDescription {
    /// Bytes of an argument block for these parameters.
    #[must_use]
    pub fn args_bytes(&self) -> usize {
        self.params.iter().fold(0, |end, p| end.next_multiple_of(p.align.max(1)) + p.size)
    }

    /// What a CPU must provide; nothing for another target's kernel, which no CPU loads.
    #[must_use]
    pub fn cpu(&self) -> &CpuNeeds {
        static NOTHING: CpuNeeds = CpuNeeds { scratch_bytes: 0, uses_amx: false, features: Vec::new() };
        match &self.needs {
            TargetNeeds::Cpu(needs) => needs,
            TargetNeeds::Nvptx(_) => &NOTHING,
        }
    }

    /// What an NVIDIA GPU must provide; `None` for another target's kernel.
    #[must_use]
    pub fn nvptx(&self) -> Option<&NvptxNeeds> {
        match &self.needs {
            TargetNeeds::Nvptx(needs) => Some(needs),
            TargetNeeds::Cpu(_) => None,
        }
    }
}

impl fmt::Display for KernelDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelDescription { name, params, waits, can_fail, needs } = self;
        write!(f, "{FORMAT} name={name} params=")?;
        for (i, ParamLayout { size, align }) in params.iter().enumerate() {
            write!(f, "{}{size}/{align}", if i > 0 { "," } else { "" })?;
        }
        let waits = match waits {
            Waits::Never => "never",
            Waits::MayWait => "may",
        };
        write!(f, " waits={waits} fails={}", yes_or_no(*can_fail))?;
        match needs {
            TargetNeeds::Cpu(CpuNeeds { scratch_bytes, uses_amx, features }) => {
                let (amx, features) = (yes_or_no(*uses_amx), features.join(","));
                write!(f, " cpu scratch={scratch_bytes} amx={amx} features={features}")
            }
            TargetNeeds::Nvptx(NvptxNeeds { arch, threads, shared_bytes, table, tensor_maps }) => {
                let (arch, ranks) = (arch.name(), table.name());
                write!(f, " nvptx arch={arch} threads={threads} shared={shared_bytes} ranks={ranks}")?;
                for (i, map) in tensor_maps.iter().enumerate() {
                    write!(f, "{}{map}", if i > 0 { "," } else { " maps=" })?;
                }
                Ok(())
            }
        }
    }
}

/// How every description starts; the number changes with the form.
const FORMAT: &str = "shoal-kernel 1";

/// A text is no description of a kernel, or one of another release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionError {
    text: String,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not describe a kernel that this release of Shoal can run; compile it again", self.text)
    }
}

impl std::error::Error for DescriptionError {}

impl FromStr for KernelDescription {
    type Err = DescriptionError;

    fn from_str(text: &str) -> Result<KernelDescription, DescriptionError> {
        read(text).ok_or_else(|| DescriptionError { text: text.to_owned() })
    }
}

fn read(text: &str) -> Option<KernelDescription> {
    let mut words = text.strip_prefix(FORMAT)?.split_ascii_whitespace();
    let mut value = |key: &str| match key {
        "" => words.next(),
        key => words.next()?.strip_prefix(key)?.strip_prefix('='),
    };
    let name = value("name")?.to_owned();
    let params = list(value("params")?).map(param).collect::<Option<_>>()?;
    let waits = match value("waits")? {
        "never" => Waits::Never,
        "may" => Waits::MayWait,
        _ => return None,
    };
    let can_fail = truth(value("fails")?)?;
    let needs = match value("")? {
        "cpu" => TargetNeeds::Cpu(CpuNeeds {
            scratch_bytes: value("scratch")?.parse().ok()?,
            uses_amx: truth(value("amx")?)?,
            features: list(value("features")?).map(str::to_owned).collect(),
        }),
        "nvptx" => {
            let name = value("arch")?;
            TargetNeeds::Nvptx(NvptxNeeds {
                arch: NvptxArch::ALL.into_iter().find(|arch| arch.name() == name)?,
                threads: value("threads")?.parse().ok()?,
                shared_bytes: value("shared")?.parse().ok()?,
                table: TableUse::from_name(value("ranks")?)?,
                tensor_maps: match words.next() {
                    None => Vec::new(),
                    Some(word) => {
                        list(word.strip_prefix("maps=")?).map(|map| map.parse().ok()).collect::<Option<_>>()?
                    }
                },
            })
        }
        _ => return None,
    };
    words.next().is_none().then_some(KernelDescription { name, params, waits, can_fail, needs })
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| !item.is_empty())
}

fn param(text: &str) -> Option<ParamLayout> {
    let (size, align) = text.split_once('/')?;
    let align: usize = align.parse().ok()?;
    align.is_power_of_two().then_some(ParamLayout { size: size.parse().ok()?, align })
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn yes_or_no(truth: bool) -> &'static str {
    if truth { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add() -> KernelDescription {
        let param = |size| ParamLayout { size, align: size };
        let cpu = CpuNeeds { scratch_bytes: 64, uses_amx: false, features: vec!["avx2".into(), "fma".into()] };
        KernelDescription {
            name: "add".into(),
            params: vec![param(8), param(8), param(4)],
            waits: Waits::Never,
            can_fail: false,
            needs: TargetNeeds::Cpu(cpu),
        }
    }

    #[test]
    fn the_text_is_the_documented_one() {
        let text =
            "shoal-kernel 1 name=add params=8/8,8/8,4/4 waits=never fails=no cpu scratch=64 amx=no features=avx2,fma";
        assert_eq!(add().to_string(), text);
        assert_eq!(text.parse(), Ok(add()));
    }

    #[test]
    fn every_field_survives_its_text() {
        let bare = KernelDescription {
            name: "größe".into(),
            params: Vec::new(),
            needs: TargetNeeds::Cpu(CpuNeeds::default()),
            ..add()
        };
        let amx = TargetNeeds::Cpu(CpuNeeds { uses_amx: true, ..add().cpu().clone() });
        let gpu = NvptxNeeds {
            arch: NvptxArch::Sm90a,
            threads: 128,
            shared_bytes: 1 << 17,
            table: TableUse::Ranks,
            tensor_maps: Vec::new(),
        };
        let maps = ["f16:a0:a3/a4:a6:64/128:128:zero", "b8:a1:a2::16:0:zero"];
        let tensor_maps = maps.map(|map| map.parse().unwrap()).to_vec();
        let tensors = TargetNeeds::Nvptx(NvptxNeeds { tensor_maps, ..gpu.clone() });
        let gpu = TargetNeeds::Nvptx(gpu);
        for description in [
            bare,
            KernelDescription { waits: Waits::MayWait, ..add() },
            KernelDescription { can_fail: true, ..add() },
            KernelDescription { needs: amx, ..add() },
            KernelDescription { needs: gpu, ..add() },
            KernelDescription { needs: tensors, ..add() },
        ] {
            assert_eq!(description.to_string().parse(), Ok(description));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let text = add().to_string();
        for wrong in [
            "",
            "shoal-kernel 2",
            &text[..text.len() - 30],
            &format!("{text} more=1"),
            &text.replace("never", "often"),
            &text.replace("8/8", "8/3"),
            &text.replace("cpu", "abacus"),
        ] {
            assert!(wrong.parse::<KernelDescription>().is_err(), "{wrong}");
        }
        assert!("x".parse::<KernelDescription>().unwrap_err().to_string().contains("compile it again"));
    }
}
