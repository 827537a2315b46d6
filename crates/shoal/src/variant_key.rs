//! Keys of compiled variants in memory.
//!
//! A key is a list of words that says all that is compiled in: what a warm launch compares. Arguments are in it
//! exactly, not by a hash, and it fits on the stack for kernels with some dozens of parameters.

use std::hash::{BuildHasherDefault, Hasher};

use shoal_abi::Target;
use shoal_lang::{HostObject, HostValue};
use smallvec::SmallVec;

use crate::DType;
use crate::arg::Arg;
use crate::specialise::ArgClass;

/// The words of a key.
pub(crate) type Words = SmallVec<[u64; 64]>;

/// What a word stands for; its lowest byte.
#[derive(Clone, Copy)]
enum Tag {
    None,
    False,
    True,
    Int,
    Float,
    Text,
    ElementType,
    Function,
    ConstantTuple,
    Number,
    Pointer,
    Descriptor,
    Tuple,
    Ellipsis,
    Object,
    HostDtype,
    Language,
    Dict,
    NamedTuple,
    Member,
}

#[inline]
fn word(tag: Tag, dtype: DType, flags: u64) -> u64 {
    tag as u64 | (dtype as u64) << 8 | flags << 16
}

/// Adds the target. Its list of features is long, so that a hash stands for it.
pub(crate) fn write_target(words: &mut Words, target: &Target) {
    write_hash(words, target.key().as_bytes());
}

/// Adds 16 bytes of a cryptographic hash: for long texts that are known before a launch.
pub(crate) fn write_hash(words: &mut Words, text: &[u8]) {
    let hash = blake3::hash(text);
    words.extend(hash.as_bytes()[..16].chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default())));
}

/// Adds what is compiled in of one value.
#[inline]
pub(crate) fn write(words: &mut Words, leaf: &ArgClass<'_>) {
    match *leaf {
        ArgClass::Number { dtype, divisible, .. } => words.push(word(Tag::Number, dtype, u64::from(divisible))),
        ArgClass::Pointer { memory, divisible, read_only } => {
            words.push(word(Tag::Pointer, memory.dtype, u64::from(divisible) | u64::from(read_only) << 1));
        }
        ArgClass::Constant(arg) => constant(words, arg),
        ArgClass::Descriptor(d) => {
            let flags = d.padding as u64 | u64::from(leaf.is_read_only_memory()) << 1 | (d.block.len() as u64) << 8;
            words.push(word(Tag::Descriptor, d.dtype(), flags));
            words.extend(d.block.iter().map(|&side| u64::from(side)));
        }
        ArgClass::Tuple(class, len) => {
            words.extend(class.iter().flat_map(|class| [Tag::Object as u64, class.object.0]));
            words.push(Tag::Tuple as u64 | (len as u64) << 8);
        }
    }
}

fn constant(words: &mut Words, arg: &Arg<'_>) {
    match arg {
        Arg::Bool(false) => words.push(Tag::False as u64),
        Arg::Bool(true) => words.push(Tag::True as u64),
        Arg::Int(value) => words.extend([Tag::Int as u64, *value as u64, (*value >> 64) as u64]),
        Arg::Float(value) => words.extend([Tag::Float as u64, value.to_bits()]),
        Arg::DType(dtype) => words.push(word(Tag::ElementType, *dtype, 0)),
        Arg::Text(text) => spelled(words, Tag::Text, text),
        Arg::Function(name) => spelled(words, Tag::Function, name),
        Arg::Host(value) => host(words, value),
        Arg::Tuple(items) => {
            words.push(Tag::ConstantTuple as u64 | (items.len() as u64) << 8);
            items.iter().for_each(|item| constant(words, item));
        }
        Arg::NamedTuple(class, items) => {
            words.extend([Tag::Object as u64, class.object.0, Tag::NamedTuple as u64 | (items.len() as u64) << 8]);
            items.iter().for_each(|item| constant(words, item));
        }
        // Memory is never a constant: `classify` refuses it.
        Arg::None | Arg::Memory(_) | Arg::Descriptor(_) => words.push(Tag::None as u64),
    }
}

/// A value of the host. Objects count by identity: the host keeps them alive, so their numbers are not used again.
fn host(words: &mut Words, value: &HostValue) {
    let object = |words: &mut Words, object: HostObject| words.extend([Tag::Object as u64, object.0]);
    let list = |words: &mut Words, tag: Tag, items: &[HostValue]| {
        words.push(tag as u64 | (items.len() as u64) << 8);
        items.iter().for_each(|item| host(words, item));
    };
    match value {
        HostValue::None => words.push(Tag::None as u64),
        HostValue::Bool(value) => constant(words, &Arg::Bool(*value)),
        HostValue::Int(value) => constant(words, &Arg::Int(*value)),
        HostValue::Float(value) => constant(words, &Arg::Float(*value)),
        HostValue::Str(text) => spelled(words, Tag::Text, text),
        HostValue::Ellipsis => words.push(Tag::Ellipsis as u64),
        HostValue::Dtype(name) => spelled(words, Tag::HostDtype, name),
        HostValue::Language(path) => spelled(words, Tag::Language, path),
        HostValue::Constexpr(inner) => host(words, inner),
        HostValue::Tuple(items) => list(words, Tag::ConstantTuple, items),
        HostValue::NamedTuple(class, items) => {
            object(words, class.object);
            list(words, Tag::NamedTuple, items);
        }
        HostValue::Dict(pairs) => {
            words.push(Tag::Dict as u64 | (pairs.len() as u64) << 8);
            pairs.iter().flat_map(|(key, value)| [key, value]).for_each(|part| host(words, part));
        }
        HostValue::Member(class, name) => {
            object(words, class.object);
            spelled(words, Tag::Member, name);
        }
        HostValue::Function(source) => object(words, source.object),
        HostValue::AggregateClass(class) => object(words, class.object),
        HostValue::NamedTupleClass(class) => object(words, class.object),
        HostValue::EnumClass(class) => object(words, class.object),
        HostValue::Object { object: number, .. } => object(words, *number),
    }
}

fn spelled(words: &mut Words, tag: Tag, text: &str) {
    words.push(tag as u64 | (text.len() as u64) << 8);
    words.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    }));
}

/// A quick hash of words: the keys are the program's own, so nobody chooses them to collide.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        // A key comes here as a whole. Each multiplication waits for the one before: with two words in each there are half
        // as many.
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let pair = u128::from_le_bytes(*pair);
            let product = u128::from(self.0 ^ pair as u64) * u128::from((pair >> 64) as u64 ^ 0x9e37_79b9_7f4a_7c15);
            self.0 = product as u64 ^ (product >> 64) as u64;
        }
        for chunk in rest.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // Multiply and fold: each input bit reaches the upper half, which the rotation brings down.
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        let mixed = self.0.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }
}

/// Makes [`WordHasher`]s.
pub(crate) type BuildWordHasher = BuildHasherDefault<WordHasher>;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;
    use crate::bind::{Bound, NamedShape};
    use crate::leaves::walk;
    use crate::param::{Param, ParamKind, Specialise};

    fn param(kind: ParamKind) -> Param {
        let span = shoal_source::Span::NONE;
        let (value, alignment) = (Specialise::Yes, Specialise::Yes);
        Param { name: "x".into(), span, kind, default: None, variadic: false, value, alignment }
    }

    fn object(number: u64) -> HostValue {
        HostValue::Object { object: HostObject(number), shown: "object".into() }
    }

    fn words(kind: ParamKind, arg: &Arg<'_>) -> Vec<u64> {
        let params = [param(kind)];
        let bound = Bound { params: &params, args: SmallVec::from_slice(&[arg]), shape: NamedShape::default() };
        let mut words = Words::new();
        walk(&bound, |leaf| write(&mut words, leaf)).expect("an argument that fits");
        words.to_vec()
    }

    #[test]
    fn what_is_compiled_in_differently_has_different_keys() {
        let constants = [
            Arg::None,
            Arg::Bool(false),
            Arg::Bool(true),
            Arg::Int(0),
            Arg::Int(1),
            Arg::Int(-1),
            Arg::Int(1 << 64),
            Arg::Float(0.0),
            Arg::Float(-0.0),
            Arg::Float(1.0),
            Arg::from("a"),
            Arg::from("a\0"),
            Arg::Function("a".into()),
            Arg::DType(DType::F32),
            Arg::DType(DType::F16),
            Arg::Tuple(vec![]),
            Arg::Tuple(vec![Arg::Int(1)]),
            Arg::Host(object(1)),
            Arg::Host(object(2)),
            Arg::Host(HostValue::Ellipsis),
            Arg::Host(HostValue::Dtype("*fp32".into())),
            Arg::Host(HostValue::Language("*fp32".into())),
            Arg::Host(HostValue::Tuple(vec![object(1)])),
            Arg::Host(HostValue::Dict(vec![(HostValue::Int(1), HostValue::Int(2))])),
            Arg::Host(HostValue::Dict(vec![(HostValue::Int(2), HostValue::Int(1))])),
        ];
        let mut seen: HashSet<Vec<u64>> = constants.iter().map(|arg| words(ParamKind::Constexpr, arg)).collect();
        assert_eq!(seen.len(), constants.len());
        let data = [0u8; 64];
        let aligned = (16 - data.as_ptr().addr() % 16) % 16;
        let values = [
            Arg::Bool(true),
            Arg::Int(2),
            Arg::Int(16),
            Arg::Int(1 << 40),
            Arg::Int(1 << 63),
            Arg::Float(1.0),
            Arg::from(&data[aligned..]),
            Arg::from(&data[aligned + 1..]),
            Arg::Tuple(vec![Arg::Int(2)]),
        ];
        seen.extend(values.iter().map(|arg| words(ParamKind::Open, arg)));
        assert_eq!(seen.len(), constants.len() + values.len());
    }

    #[test]
    fn targets_do_not_share_variants() {
        let names = ["x86-64", "x86-64-v3", "sm_80", "sm_90", "sm_90a", "gfx90a", "gfx942"];
        let key = |name: &str| {
            let mut words = Words::new();
            write_target(&mut words, &name.parse().expect("a target"));
            words.to_vec()
        };
        let keys: HashSet<Vec<u64>> = names.into_iter().map(key).collect();
        assert_eq!(keys.len(), names.len());
    }

    #[test]
    fn what_is_not_compiled_in_does_not_matter() {
        assert_eq!(words(ParamKind::Open, &Arg::Int(2)), words(ParamKind::Open, &Arg::Int(77)));
        assert_eq!(words(ParamKind::Open, &Arg::Float(2.0)), words(ParamKind::Open, &Arg::Float(0.5)));
        assert_eq!(words(ParamKind::Open, &Arg::Bool(true)), words(ParamKind::Open, &Arg::Bool(false)));
    }

    #[test]
    fn neighbouring_keys_have_spread_hashes() {
        let hash = |word: u64| BuildWordHasher::default().hash_one([word, 7, 9]);
        let low: HashSet<u64> = (0..1024).map(|word| hash(word) & 0x3ff).collect();
        assert!(low.len() > 500, "{} of 1024", low.len());
    }
}
