//! What a family of compiled variants is, and which variant a launch takes.
//!
//! The compiler writes the variants in the order in which they are to be tried: those for more capable CPUs first, then
//! those that know more about their arguments. A launch takes the first of its configuration that the CPU can run and
//! the arguments fit.

use std::fmt::Write;
use std::sync::OnceLock;

use shoal_driver::cpu::{Kernel, host_features};

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
    pub kind: Kind,
}

/// How the word of an argument is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An address.
    Pointer,
    /// An address or null, for which there are variants of their own: no other variant takes null.
    OptionalPointer,
    /// A signed integer, extended to 64 bits.
    Signed,
    /// An unsigned integer or a truth value.
    Unsigned,
    /// The bits of a float.
    Float,
}

/// One compiled variant.
#[derive(Debug)]
pub struct Variant {
    /// The signature it was compiled for, for people.
    pub signature: &'static str,
    /// The configuration it belongs to.
    pub configuration: u32,
    /// The CPU features it needs.
    pub features: &'static [&'static str],
    /// What it takes and asks of each parameter of the family.
    pub slots: &'static [Slot],
    /// The symbol of its entry point.
    pub entry: &'static str,
    /// Its relocatable object.
    pub object: &'static [u8],
    /// Working memory of a program.
    pub scratch_bytes: usize,
    /// Whether programs may wait for each other.
    pub may_wait: bool,
    /// Whether a program may fail.
    pub can_fail: bool,
    /// Whether it uses AMX tiles.
    pub uses_amx: bool,
    /// Its code, once it is loaded.
    pub kernel: OnceLock<Kernel>,
}

/// What a variant takes and asks of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Bytes in the argument block; 0 when the value is compiled in.
    pub bytes: u8,
    /// The argument must be a multiple of this.
    pub divisible: u64,
    /// The argument must be this.
    pub equals: Option<i64>,
}

impl Slot {
    /// Whether an argument is as the variant wants it.
    fn fits(&self, kind: Kind, word: u64) -> bool {
        if let Some(value) = self.equals {
            return word.cast_signed() == value;
        }
        let unused = 64 - 8 * u32::from(self.bytes.clamp(1, 8));
        let divisor = self.divisible.max(1);
        match kind {
            Kind::Float => true,
            Kind::Pointer => word.is_multiple_of(divisor),
            Kind::OptionalPointer => word != 0 && word.is_multiple_of(divisor),
            Kind::Unsigned => word << unused >> unused == word && word.is_multiple_of(divisor),
            Kind::Signed => {
                let value = word.cast_signed();
                value << unused >> unused == value && value.unsigned_abs().is_multiple_of(divisor)
            }
        }
    }
}

impl Variant {
    /// The features it needs that this CPU does not have.
    fn missing(&self) -> Vec<&'static str> {
        let host = host_features();
        self.features.iter().copied().filter(|name| !host.has(name)).collect()
    }

    /// Whether this CPU can run it; quick once it has.
    fn runs_here(&self) -> bool {
        let host = host_features();
        self.kernel.get().is_some() || self.features.iter().all(|name| host.has(name))
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
        let found = self.of(configuration).find(|v| v.fits(self.params, words) && v.runs_here());
        found.ok_or_else(|| self.none(configuration, words))
    }

    /// The variants that this CPU can run.
    pub(crate) fn runnable(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|v| v.runs_here())
    }

    fn of(&self, configuration: u32) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(move |v| v.configuration == configuration)
    }

    #[cold]
    fn none(&self, configuration: u32, words: &[u64]) -> Error {
        let of_cpu: Vec<&Variant> = self.of(configuration).filter(|v| v.runs_here()).collect();
        if of_cpu.is_empty() {
            return self.wrong_cpu();
        }
        let mut known = String::from("compiled: ");
        for (i, variant) in of_cpu.iter().enumerate() {
            let _ = write!(known, "{}{}", if i > 0 { "\n            " } else { "" }, variant.signature);
        }
        Error::NoVariant { kernel: self.name.to_owned(), passed: self.described(words), known }
    }

    /// That no variant runs here.
    pub(crate) fn wrong_cpu(&self) -> Error {
        let missing = self.variants.iter().map(Variant::missing).min_by_key(Vec::len).unwrap_or_default();
        Error::Cpu { kernel: self.name.to_owned(), missing: missing.join(", ") }
    }

    fn described(&self, words: &[u64]) -> String {
        let one = |(param, &word): (&Param, &u64)| match param.kind {
            Kind::OptionalPointer if word == 0 => format!("{} = None", param.name),
            Kind::Pointer | Kind::OptionalPointer => format!("{} at {word:#x}", param.name),
            Kind::Signed => format!("{} = {}", param.name, word.cast_signed()),
            Kind::Unsigned => format!("{} = {word}", param.name),
            Kind::Float => format!("{} (a float)", param.name),
        };
        self.params.iter().zip(words).map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn slot(bytes: u8, divisible: u64) -> Slot {
        Slot { bytes, divisible, equals: None }
    }

    fn variant(signature: &'static str, slots: &'static [Slot], features: &'static [&'static str]) -> Variant {
        Variant {
            signature,
            configuration: 0,
            features,
            slots,
            entry: "k",
            object: &[],
            scratch_bytes: 0,
            may_wait: false,
            can_fail: false,
            uses_amx: false,
            kernel: OnceLock::new(),
        }
    }

    fn family(variants: Vec<Variant>) -> Family {
        const PARAMS: &[Param] = &[Param { name: "x", kind: Kind::Pointer }, Param { name: "n", kind: Kind::Signed }];
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
    fn null_is_for_variants_that_were_compiled_for_it() {
        let slot = slot(8, 16);
        assert!(slot.fits(Kind::Pointer, 0) && slot.fits(Kind::OptionalPointer, 32));
        assert!(!slot.fits(Kind::OptionalPointer, 0));
        let none = Slot { bytes: 0, divisible: 1, equals: Some(0) };
        assert!(none.fits(Kind::OptionalPointer, 0) && !none.fits(Kind::OptionalPointer, 32));
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
