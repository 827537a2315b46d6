//! The words that tune memory operations: cache modifiers, eviction, memory order, scope, padding.

use shoal_ir::op::{Evict, LoadCache, Scope, Sem, StoreCache};
use shoal_ir::types::Padding;

use super::words::any_of;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};

fn unknown(e: &Emit<'_>, what: &str, word: &str, known: &str) -> LowerError {
    e.error(format!("unknown {what} \"{word}\"")).help(format!("use {known}")).into()
}

/// A word of a cache modifier, which may begin with a dot.
fn cache_word(word: Option<&str>) -> &str {
    let word = word.unwrap_or("none");
    word.strip_prefix('.').unwrap_or(word)
}

/// `cache_modifier` of a load.
pub(crate) fn load_cache(e: &Emit<'_>, word: Option<&str>) -> LowerResult<LoadCache> {
    match cache_word(word) {
        "none" => Ok(LoadCache::Default),
        "ca" => Ok(LoadCache::All),
        "cg" => Ok(LoadCache::Global),
        "cs" => Ok(LoadCache::Streaming),
        "cv" => Ok(LoadCache::Volatile),
        other => Err(unknown(e, "cache modifier for a load", other, "\".ca\", \".cg\", \".cs\" or \".cv\"")),
    }
}

/// `cache_modifier` of a store.
pub(crate) fn store_cache(e: &Emit<'_>, word: Option<&str>) -> LowerResult<StoreCache> {
    match cache_word(word) {
        "none" => Ok(StoreCache::Default),
        "wb" => Ok(StoreCache::WriteBack),
        "cg" => Ok(StoreCache::Global),
        "cs" => Ok(StoreCache::Streaming),
        "wt" => Ok(StoreCache::WriteThrough),
        other => Err(unknown(e, "cache modifier for a store", other, "\".wb\", \".cg\", \".cs\" or \".wt\"")),
    }
}

/// `eviction_policy`.
pub(crate) fn eviction(e: &Emit<'_>, word: Option<&str>) -> LowerResult<Evict> {
    match word.unwrap_or("evict_normal") {
        "evict_normal" => Ok(Evict::Normal),
        "evict_first" => Ok(Evict::First),
        "evict_last" => Ok(Evict::Last),
        other => Err(unknown(e, "eviction policy", other, "\"evict_first\" or \"evict_last\"")),
    }
}

/// `sem` of an atomic operation that may have any of `allowed`; the first is the default.
pub(crate) fn memory_order(e: &Emit<'_>, word: Option<&str>, allowed: &[Sem]) -> LowerResult<Sem> {
    let Some(word) = word else { return Ok(allowed[0]) };
    Sem::from_name(word).filter(|sem| allowed.contains(sem)).ok_or_else(|| {
        let names: Vec<String> = allowed.iter().map(|s| format!("\"{s}\"")).collect();
        unknown(e, "memory order", word, &any_of(&names))
    })
}

/// `scope` of an atomic operation.
pub(crate) fn scope(e: &Emit<'_>, word: Option<&str>) -> LowerResult<Scope> {
    let Some(word) = word else { return Ok(Scope::Gpu) };
    Scope::from_name(word).ok_or_else(|| unknown(e, "scope", word, "\"gpu\", \"cta\" or \"sys\""))
}

/// `padding_option`.
pub(crate) fn padding(e: &Emit<'_>, word: Option<&str>) -> LowerResult<Option<Padding>> {
    match word {
        None => Ok(None),
        Some("zero") => Ok(Some(Padding::Zero)),
        Some("nan") => Ok(Some(Padding::Nan)),
        Some(other) => Err(unknown(e, "padding", other, "\"zero\" or \"nan\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message};

    #[test]
    fn words_are_known_or_named() {
        let s = Sandbox::new();
        let e = &s.emit;
        assert_eq!(load_cache(e, Some(".cg")).unwrap(), LoadCache::Global);
        assert_eq!(store_cache(e, None).unwrap(), StoreCache::Default);
        assert_eq!(message(load_cache(e, Some(".wb"))), "unknown cache modifier for a load \"wb\"");
        assert_eq!(message(store_cache(e, Some(".ca"))), "unknown cache modifier for a store \"ca\"");
        assert_eq!(eviction(e, Some("evict_last")).unwrap(), Evict::Last);
        assert_eq!(message(eviction(e, Some("never"))), "unknown eviction policy \"never\"");
        assert_eq!(memory_order(e, None, &[Sem::AcqRel]).unwrap(), Sem::AcqRel);
        assert_eq!(
            message(memory_order(e, Some("release"), &[Sem::Acquire, Sem::Relaxed])),
            "unknown memory order \"release\""
        );
        assert_eq!(message(scope(e, Some("world"))), "unknown scope \"world\"");
        assert_eq!(message(padding(e, Some("one"))), "unknown padding \"one\"");
    }
}
