//! What a family of compiled variants is, and which variant a launch takes.
//!
//! The compiler writes the variants in the order in which they are to be tried: those for more capable CPUs first, then
//! those that know more about their arguments. A launch takes the first of its configuration that the CPU can run and
//! the arguments fit. A family for GPUs is the same, with newer GPUs first.

use std::fmt::Write;
use std::sync::OnceLock;

use shoal_abi::{DescriptionError, KernelDescription, Slot, TargetNeeds, WordKind};
use shoal_driver::cpu::{LoadedKernel, host_features};
use shoal_driver::cuda::{CudaDevice, CudaKernel};
use shoal_driver::fork::Section;

use crate::Error;
use crate::gpu::MOST_GPUS;

/// Variants of one kernel behind one launch function.
#[derive(Debug)]
pub struct Family {
    /// The kernel's name.
    pub name: &'static str,
    /// What a launch passes, in order.
    pub params: &'static [Param],
    /// How many configurations there are: variants that differ in what is compiled in, so that the caller must choose.
    pub configurations: u32,
    /// The variants, in the order in which they are tried.
    pub variants: &'static [Variant],
}

/// A run-time parameter of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Its name, for messages.
    pub name: &'static str,
    /// How its word is read.
    pub kind: WordKind,
}

/// One compiled variant.
#[derive(Debug)]
pub struct Variant {
    /// The signature it was compiled for, for people.
    pub signature: &'static str,
    /// The configuration it belongs to.
    pub configuration: u32,
    /// What it takes and asks of each parameter of the family.
    pub slots: &'static [Slot],
    /// What the compiler states about it: the text of a [`KernelDescription`].
    pub description: &'static str,
    /// Its relocatable object; for a GPU machine code or PTX.
    pub object: &'static [u8],
    /// What is made of these when it is first needed.
    pub loaded: Loaded,
}

/// What is made of a variant when it is first needed.
#[derive(Debug, Default)]
pub struct Loaded {
    description: OnceLock<KernelDescription>,
    pub(crate) kernel: OnceLock<LoadedKernel>,
    pub(crate) on_gpus: [OnceLock<Box<CudaKernel>>; MOST_GPUS],
}

/// Where a variant is to run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Cpu,
    Gpu(CudaDevice),
}

impl Loaded {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Loaded {
        Loaded {
            description: OnceLock::new(),
            kernel: OnceLock::new(),
            on_gpus: [const { OnceLock::new() }; MOST_GPUS],
        }
    }
}

impl Variant {
    /// What the compiler states about it.
    pub(crate) fn described(&self) -> Result<&KernelDescription, Error> {
        kept(&self.loaded.description, || {
            self.description.parse().map_err(|error: DescriptionError| Error::Description(error.to_string()))
        })
    }

    /// The features it needs that this CPU does not have.
    fn missing(&self) -> Result<Vec<&str>, Error> {
        let (host, features) = (host_features(), &self.described()?.cpu().features);
        Ok(features.iter().map(String::as_str).filter(|name| !host.has(name)).collect())
    }

    /// Whether it can run there; quick once it has.
    fn runs_at(&self, place: Place) -> Result<bool, Error> {
        match (place, &self.described()?.needs) {
            (Place::Cpu, TargetNeeds::Cpu(_)) => Ok(self.loaded.kernel.get().is_some() || self.missing()?.is_empty()),
            (Place::Gpu(device), TargetNeeds::Nvptx(needs)) => Ok(self.fits_gpu(needs, device.properties().capability)),
            (Place::Cpu, TargetNeeds::Nvptx(_)) | (Place::Gpu(_), TargetNeeds::Cpu(_)) => Ok(false),
        }
    }

    fn fits(&self, params: &[Param], words: &[u64]) -> bool {
        self.slots.iter().zip(params).zip(words).all(|((slot, param), &word)| slot.fits(param.kind, word))
    }
}

impl Family {
    /// The variant that a launch with these arguments takes, on this CPU or the GPU that the calling thread uses.
    ///
    /// # Errors
    /// When there is none, or none for this CPU or GPU.
    pub fn choose(&self, configuration: u32, words: &[u64]) -> Result<&Variant, Error> {
        self.choose_at(self.place()?, configuration, words)
    }

    /// The same on a GPU.
    ///
    /// # Errors
    /// When there is none.
    pub fn choose_on(&self, device: CudaDevice, configuration: u32, words: &[u64]) -> Result<&Variant, Error> {
        self.choose_at(Place::Gpu(device), configuration, words)
    }

    /// Whether it is for GPUs.
    pub(crate) fn is_for_gpus(&self) -> Result<bool, Error> {
        self.variants.first().map_or(Ok(false), |variant| Ok(variant.described()?.nvptx().is_some()))
    }

    /// Where it runs if nobody says more.
    fn place(&self) -> Result<Place, Error> {
        Ok(if self.is_for_gpus()? { Place::Gpu(CudaDevice::current()?) } else { Place::Cpu })
    }

    pub(crate) fn choose_at(&self, place: Place, configuration: u32, words: &[u64]) -> Result<&Variant, Error> {
        if configuration >= self.configurations {
            let (kernel, count) = (self.name.to_owned(), self.configurations);
            return Err(Error::Configuration { kernel, index: configuration, count });
        }
        if words.len() != self.params.len() {
            let (name, takes, got) = (self.name, self.params.len(), words.len());
            return Err(Error::Description(format!("kernel `{name}` takes {takes} arguments, but {got} were passed")));
        }
        for variant in self.of(configuration).filter(|v| v.fits(self.params, words)) {
            if variant.runs_at(place)? {
                return Ok(variant);
            }
        }
        Err(self.none(place, configuration, words)?)
    }

    /// The variants that can run there.
    pub(crate) fn runnable(&self, place: Place) -> Result<Vec<&Variant>, Error> {
        runnable(self.variants.iter(), place)
    }

    fn of(&self, configuration: u32) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(move |v| v.configuration == configuration)
    }

    #[cold]
    fn none(&self, place: Place, configuration: u32, words: &[u64]) -> Result<Error, Error> {
        let of_place = runnable(self.of(configuration), place)?;
        if of_place.is_empty() {
            return self.wrong_place(place);
        }
        let mut known = String::from("compiled: ");
        for (i, variant) in of_place.iter().enumerate() {
            let _ = write!(known, "{}{}", if i > 0 { "\n            " } else { "" }, variant.signature);
        }
        Ok(Error::NoVariant { kernel: self.name.to_owned(), passed: self.described(words), known })
    }

    /// That no variant runs here.
    pub(crate) fn wrong_place(&self, place: Place) -> Result<Error, Error> {
        let kernel = self.name.to_owned();
        match (place, self.is_for_gpus()?) {
            (Place::Cpu, false) => self.wrong_cpu(),
            (Place::Cpu, true) => Ok(Error::Place { kernel, is_for: "GPUs", launched: "on the CPU" }),
            (Place::Gpu(_), false) => Ok(Error::Place { kernel, is_for: "CPUs", launched: "in a stream of a GPU" }),
            (Place::Gpu(device), true) => {
                let mut archs = Vec::new();
                for variant in self.variants {
                    archs.extend(variant.described()?.nvptx().map(|needs| needs.arch.name()));
                }
                archs.dedup();
                let known = device.properties();
                let gpu = format!("{} ({}.{})", known.name, known.capability.0, known.capability.1);
                Ok(Error::Gpu { kernel, compiled_for: archs.join(", "), gpu })
            }
        }
    }

    fn wrong_cpu(&self) -> Result<Error, Error> {
        let missing = self.variants.iter().map(Variant::missing).collect::<Result<Vec<_>, _>>()?;
        let missing = missing.into_iter().min_by_key(Vec::len).unwrap_or_default();
        Ok(Error::Cpu { kernel: self.name.to_owned(), missing: missing.join(", ") })
    }

    fn described(&self, words: &[u64]) -> String {
        let one = |(param, &word): (&Param, &u64)| match param.kind {
            WordKind::OptionalPointer if word == 0 => format!("{} = None", param.name),
            WordKind::Pointer | WordKind::OptionalPointer => format!("{} at {word:#x}", param.name),
            WordKind::Signed => format!("{} = {}", param.name, word.cast_signed()),
            WordKind::Unsigned => format!("{} = {word}", param.name),
            WordKind::Float => format!("{} (a float)", param.name),
        };
        self.params.iter().zip(words).map(one).collect::<Vec<_>>().join(", ")
    }
}

fn runnable<'v>(variants: impl Iterator<Item = &'v Variant>, place: Place) -> Result<Vec<&'v Variant>, Error> {
    let mut found = Vec::new();
    for variant in variants {
        if variant.runs_at(place)? {
            found.push(variant);
        }
    }
    Ok(found)
}

/// What the cell holds, made now if it is empty. What fails is tried again the next time.
pub(crate) fn kept<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let _section = Section::enter();
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn slot(bytes: u8, divisible: u64) -> Slot {
        Slot { bytes, divisible, equals: None }
    }

    fn described(features: &[&str]) -> String {
        let features = features.join(",");
        format!("shoal-kernel 1 name=k params= waits=never fails=no cpu scratch=0 amx=no features={features}")
    }

    fn variant(signature: &'static str, slots: &'static [Slot], features: &'static [&'static str]) -> Variant {
        Variant {
            signature,
            configuration: 0,
            slots,
            description: described(features).leak(),
            object: &[],
            loaded: Loaded::new(),
        }
    }

    fn family(variants: Vec<Variant>) -> Family {
        const PARAMS: &[Param] =
            &[Param { name: "x", kind: WordKind::Pointer }, Param { name: "n", kind: WordKind::Signed }];
        Family { name: "k", params: PARAMS, configurations: 1, variants: variants.leak() }
    }

    #[test]
    fn the_first_variant_that_fits_is_taken() {
        const ONE: Slot = Slot { bytes: 0, divisible: 1, equals: Some(1) };
        let family = family(vec![
            variant("*fp32:16, i32:1", const { &[slot(8, 16), ONE] }, &[]),
            variant("*fp32:16, i32:16", const { &[slot(8, 16), slot(4, 16)] }, &[]),
            variant("*fp32:16, i32", const { &[slot(8, 16), slot(4, 1)] }, &[]),
            variant("*fp32, i64", const { &[slot(8, 1), slot(8, 1)] }, &[]),
        ]);
        let taken = |x: u64, n: i64| family.choose(0, &[x, n.cast_unsigned()]).unwrap().signature;
        assert_eq!(taken(0x40, 1), "*fp32:16, i32:1");
        assert_eq!(taken(0x40, 32), "*fp32:16, i32:16");
        assert_eq!(taken(0x40, -32), "*fp32:16, i32:16");
        assert_eq!(taken(0x40, 7), "*fp32:16, i32");
        assert_eq!(taken(0x44, 7), "*fp32, i64");
        assert_eq!(taken(0x40, 1 << 40), "*fp32, i64");
        assert_eq!(taken(0x40, -1), "*fp32:16, i32");
    }

    #[test]
    fn what_fits_nothing_is_told() {
        let family = family(vec![
            variant("*fp32:16, i32:16", const { &[slot(8, 16), slot(4, 16)] }, &[]),
            variant("*fp32:16, i32:8", const { &[slot(8, 16), slot(4, 8)] }, &[]),
        ]);
        assert_eq!(
            family.choose(0, &[0x44, 3]).unwrap_err().to_string(),
            "kernel `k`: no compiled variant takes these arguments\n  passed: x at 0x44, n = 3\n  compiled: *fp32:16, \
             i32:16\n            *fp32:16, i32:8"
        );
        assert_eq!(
            family.choose(1, &[0x40, 16]).unwrap_err().to_string(),
            "kernel `k` has no configuration 1; it has 1, counted from 0"
        );
        assert!(family.choose(0, &[0x40]).is_err());
    }

    #[test]
    fn other_descriptions_are_told() {
        let family = family(vec![Variant { description: "shoal-kernel 0", ..variant("k", &[], &[]) }]);
        let said = family.choose(0, &[0, 0]).unwrap_err().to_string();
        assert_eq!(
            said,
            "`shoal-kernel 0` does not describe a kernel that this release of Shoal can run; compile it again"
        );
    }

    #[test]
    fn code_for_gpus_runs_where_its_kind_does() {
        let of = |arch: &str, object: &'static [u8]| {
            let needs = format!("nvptx arch={arch} threads=128 shared=0 ranks=no checks=no");
            let description = format!("shoal-kernel 1 name=k params= waits=never fails=no {needs}").leak();
            Variant { description, object, ..variant("k", &[], &[]) }
        };
        let runs = |arch: &str, object: &'static [u8], capability| {
            let variant = of(arch, object);
            let needs = variant.described().unwrap().nvptx().unwrap().clone();
            variant.fits_gpu(&needs, capability)
        };
        let (cubin, ptx) = (b"\x7fELF", b".version 8.0");
        assert!(runs("sm_80", cubin, (8, 0)) && runs("sm_80", cubin, (8, 6)) && !runs("sm_80", cubin, (9, 0)));
        assert!(!runs("sm_86", cubin, (8, 0)) && runs("sm_80", ptx, (9, 0)) && !runs("sm_90", ptx, (8, 9)));
        assert!(runs("sm_90a", cubin, (9, 0)) && runs("sm_90a", ptx, (9, 0)) && !runs("sm_90a", ptx, (10, 0)));
        let said = family(vec![of("sm_80", ptx)]).choose_at(Place::Cpu, 0, &[0, 0]).unwrap_err().to_string();
        assert_eq!(
            said,
            "kernel `k` was compiled for GPUs, but was launched on the CPU; compile it for that as well, under another name"
        );
    }

    #[test]
    fn variants_for_other_cpus_are_passed_over() {
        const SLOTS: &[Slot] = &[slot(8, 1), slot(4, 1)];
        let both = family(vec![variant("fast", SLOTS, &["warp-drive"]), variant("slow", SLOTS, &[])]);
        assert_eq!(both.choose(0, &[0, 0]).unwrap().signature, "slow");
        let none = family(vec![variant("fast", SLOTS, &["impulse", "warp-drive"])]);
        assert_eq!(
            none.choose(0, &[0, 0]).unwrap_err().to_string(),
            "kernel `k` was compiled for CPUs with impulse, warp-drive, which this one does not have; compile it with \
             `--target` for this one as well"
        );
    }
}
