//! How promises about values survive rewrites.
//!
//! [`Facts`] are promises of the user or of the launcher, so a pass must neither lose them lightly nor move them to
//! where they do not hold: a promise made inside a branch holds only where the branch is taken.

use shoal_ir::{Facts, Func, Region, Value};

/// Whether everything `facts` promises is already promised by `other`.
pub(crate) fn implied(facts: &Facts, other: &Facts) -> bool {
    fn each(mine: &[u64], theirs: &[u64]) -> bool {
        mine.iter().enumerate().all(|(i, &m)| m <= 1 || theirs.get(i).is_some_and(|&t| t >= m))
    }
    each(&facts.divisible, &other.divisible)
        && each(&facts.contiguous, &other.contiguous)
        && each(&facts.constant, &other.constant)
}

/// Whether `new` can stand for `old`, which is defined in `region`, without a promise being lost.
pub(crate) fn can_replace(func: &Func, region: Region, old: Value, new: Value) -> bool {
    let facts = &func.value(old).facts;
    facts.is_empty() || implied(facts, &func.value(new).facts) || func.defining_region(new) == region
}

/// Lets `new` stand for `old`, which is defined in `region`. Promises move along where both always exist together.
pub(crate) fn replace_value(func: &mut Func, region: Region, old: Value, new: Value) {
    if !func.value(old).facts.is_empty() && func.defining_region(new) == region {
        let facts = func.value(old).facts.clone();
        func.value_mut(new).facts.merge(&facts);
    }
    if func.value(new).name.is_none() && func.value(old).name.is_some() {
        let name = func.value_mut(old).name.take();
        func.value_mut(new).name = name;
    }
    func.replace_all_uses(old, new);
}
