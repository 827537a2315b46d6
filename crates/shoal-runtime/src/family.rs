//! What a family of compiled variants is, and which variant a launch takes.
//!
//! The compiler writes the variants in the order in which they are to be tried: those for more capable CPUs first, then
//! those that know more about their arguments. A launch takes the first of its configuration that the CPU can run and
//! the arguments fit.

use std::fmt::Write;
use std::sync::OnceLock;

use shoal_abi::{DescriptionError, KernelDescription, Slot, WordKind};
use shoal_driver::cpu::{LoadedKernel, host_features};
use shoal_driver::fork::Section;

use crate::Error;

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
    /// Its relocatable object.
    pub object: &'static [u8],
    /// What is made of these when it is first needed.
    pub loaded: Loaded,
}

/// What is made of a variant when it is first needed.
#[derive(Debug, Default)]
pub struct Loaded {
    description: OnceLock<KernelDescription>,
    pub(crate) kernel: OnceLock<LoadedKernel>,
}

impl Loaded {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Loaded {
        Loaded { description: OnceLock::new(), kernel: OnceLock::new() }
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

    /// Whether this CPU can run it; quick once it has.
    fn runs_here(&self) -> Result<bool, Error> {
        Ok(self.loaded.kernel.get().is_some() || self.missing()?.is_empty())
    }

    fn fits(&self, params: &[Param], words: &[u64]) -> bool {
        self.slots.iter().zip(params).zip(words).all(|((slot, param), &word)| slot.fits(param.kind, word))
    }
}

impl Family {
    /// The variant that a launch with these arguments takes.
    ///
    /// # Errors
    /// When there is none, or none for this CPU.
    pub fn choose(&self, configuration: u32, words: &[u64]) -> Result<&Variant, Error> {
        if configuration >= self.configurations {
            let (kernel, count) = (self.name.to_owned(), self.configurations);
            return Err(Error::Configuration { kernel, index: configuration, count });
        }
        if words.len() != self.params.len() {
            let (name, takes, got) = (self.name, self.params.len(), words.len());
            return Err(Error::Description(format!("kernel `{name}` takes {takes} arguments, but {got} were passed")));
        }
        for variant in self.of(configuration).filter(|v| v.fits(self.params, words)) {
            if variant.runs_here()? {
                return Ok(variant);
            }
        }
        Err(self.none(configuration, words)?)
    }

    /// The variants that this CPU can run.
    pub(crate) fn runnable(&self) -> Result<Vec<&Variant>, Error> {
        runnable(self.variants.iter())
    }

    fn of(&self, configuration: u32) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(move |v| v.configuration == configuration)
    }

    #[cold]
    fn none(&self, configuration: u32, words: &[u64]) -> Result<Error, Error> {
        let of_cpu = runnable(self.of(configuration))?;
        if of_cpu.is_empty() {
            return self.wrong_cpu();
        }
        let mut known = String::from("compiled: ");
        for (i, variant) in of_cpu.iter().enumerate() {
            let _ = write!(known, "{}{}", if i > 0 { "\n            " } else { "" }, variant.signature);
        }
        Ok(Error::NoVariant { kernel: self.name.to_owned(), passed: self.described(words), known })
    }

    /// That no variant runs here.
    pub(crate) fn wrong_cpu(&self) -> Result<Error, Error> {
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

fn runnable<'v>(variants: impl Iterator<Item = &'v Variant>) -> Result<Vec<&'v Variant>, Error> {
    let mut found = Vec::new();
    for variant in variants {
        if variant.runs_here()? {
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
