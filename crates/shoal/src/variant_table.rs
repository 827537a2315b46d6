//! The compiled variants of a kernel, by what is compiled into them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::CompileReport;
use crate::variant::Variant;
use crate::variant_key::BuildWordHasher;

/// The compiled variants of a kernel.
#[derive(Default)]
pub(crate) struct VariantTable {
    known: RwLock<HashMap<Box<[u64]>, Arc<Variant>, BuildWordHasher>>,
}

impl VariantTable {
    /// The variant of this key, unless what was linked into it has changed since.
    #[inline]
    pub(crate) fn find(&self, key: &[u64]) -> Option<Arc<Variant>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|variant| variant.is_current()).cloned()
    }

    /// Keeps a variant. Another thread may have been faster: its variant stays and is given back, so that all launches
    /// share one.
    pub(crate) fn keep(&self, key: &[u64], variant: Arc<Variant>) -> Arc<Variant> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = known.get(key).filter(|variant| variant.is_current()) {
            return variant.clone();
        }
        known.insert(key.into(), variant.clone());
        variant
    }

    /// How each variant came to be, in no order.
    pub(crate) fn reports(&self) -> Vec<CompileReport> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|variant| variant.report().clone()).collect()
    }
}
