//! The compiled variants of a kernel, by what is compiled into them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use shoal_driver::fork::{PerProcess, Section};

use crate::CompileReport;
use crate::variant::Variant;
use crate::variant_key::BuildWordHasher;

type Variants = RwLock<HashMap<Box<[u64]>, Arc<Variant>, BuildWordHasher>>;

/// The compiled variants of a kernel. They are written in [sections](Section) only, so that a forked child finds them
/// whole; but launches of threads that it does not have may be reading them for ever, so that it has a lock of its own.
pub(crate) struct VariantTable {
    known: PerProcess<Variants>,
}

impl Default for VariantTable {
    fn default() -> VariantTable {
        VariantTable { known: PerProcess::new(RwLock::default()) }
    }
}

impl VariantTable {
    #[inline]
    fn known(&self) -> &Variants {
        let copied = |parents: &Variants| {
            let known = match parents.try_read() {
                Ok(known) => known.clone(),
                Err(TryLockError::Poisoned(known)) => known.into_inner().clone(),
                Err(TryLockError::WouldBlock) => unreachable!("forks wait for those who write"),
            };
            Ok::<_, Infallible>(RwLock::new(known))
        };
        let Ok(known) = self.known.get(copied);
        known
    }

    /// The variant of this key, unless what was linked into it has changed since.
    #[inline]
    pub(crate) fn find(&self, key: &[u64]) -> Option<Arc<Variant>> {
        let known = self.known().read().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|variant| variant.is_current()).cloned()
    }

    /// Keeps a variant. Another thread may have been faster: its variant stays and is given back, so that all launches
    /// share one.
    pub(crate) fn keep(&self, key: &[u64], variant: Arc<Variant>) -> Arc<Variant> {
        let _section = Section::enter();
        let mut known = self.known().write().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = known.get(key).filter(|variant| variant.is_current()) {
            return variant.clone();
        }
        known.insert(key.into(), variant.clone());
        variant
    }

    /// How each variant came to be, in no order.
    pub(crate) fn reports(&self) -> Vec<CompileReport> {
        let known = self.known().read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|variant| variant.report().clone()).collect()
    }
}
