//! The table of all functions of the language.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::signature::{self, BuiltinParam};
use super::{Builtin, math, python};
use crate::semantic;

struct Entry {
    builtin: &'static Builtin,
    params: Vec<BuiltinParam>,
}

static TABLE: LazyLock<BTreeMap<&'static str, Entry>> = LazyLock::new(|| {
    (semantic::TABLES.iter().copied())
        .chain([python::BUILTINS, math::BUILTINS])
        .flatten()
        .map(|builtin| (builtin.name, Entry { builtin, params: signature::read(builtin.signature) }))
        .collect()
});

/// The functions that are also methods of tensors: `x.sum()` is `tl.sum(x)`.
pub(crate) const METHODS: &[&str] = &[
    "abs",
    "advance",
    "argmax",
    "argmin",
    "associative_scan",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_poll",
    "atomic_store",
    "atomic_xchg",
    "atomic_xor",
    "broadcast_to",
    "cast",
    "cdiv",
    "ceil",
    "cos",
    "cumprod",
    "cumsum",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "flip",
    "floor",
    "gather",
    "histogram",
    "item",
    "join",
    "log",
    "log2",
    "max",
    "min",
    "permute",
    "ravel",
    "reduce",
    "reduce_or",
    "reshape",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "sqrt_rn",
    "squeeze",
    "store",
    "sum",
    "topk",
    "trans",
    "unsqueeze",
    "view",
    "xor_sum",
];

/// The function with this (qualified) name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    TABLE.get(name).map(|entry| entry.builtin)
}

/// All (qualified) names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// The parameters of a function.
pub(crate) fn params(builtin: &Builtin) -> &'static [BuiltinParam] {
    TABLE.get(builtin.name).map_or(&[], |entry| &entry.params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_defined_once() {
        let mut names: Vec<&str> = (semantic::TABLES.iter().copied())
            .chain([python::BUILTINS, math::BUILTINS])
            .flatten()
            .map(|b| b.name)
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_signature_has_distinct_names_and_readable_defaults() {
        for (name, entry) in TABLE.iter() {
            let mut params: Vec<&str> = entry.params.iter().map(|p| p.name).collect();
            let count = params.len();
            params.sort_unstable();
            params.dedup();
            assert_eq!(params.len(), count, "{name}");
            for param in &entry.params {
                assert!(param.name.chars().all(|c| c.is_alphanumeric() || c == '_'), "{name}: {}", param.name);
                if let Some(crate::value::Value::Const(crate::value::Const::Float(f))) = &param.default {
                    assert!(!f.is_nan(), "{name}: the default of {}", param.name);
                }
            }
        }
    }
}
