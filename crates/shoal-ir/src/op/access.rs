//! How memory is accessed: caches, order, scope, and what an atomic does.

spelled! {
    /// Which caches a load uses.
    LoadCache {
        /// The device's default.
        Default = "default",
        /// All levels.
        All = "ca",
        /// The device-wide level only.
        Global = "cg",
        /// Likely used once.
        Streaming = "cs",
        /// Never a stale copy.
        Volatile = "cv",
    }
}

spelled! {
    /// Whether a load stays where it stands, and whether it is atomic.
    LoadMode {
        /// A plain load: it may be moved, merged with others and removed.
        Free = "free",
        /// A plain load that is done exactly once, where it stands.
        Pinned = "pinned",
        /// The same, and atomic: relaxed, at `sys` scope.
        Volatile = "volatile",
    }
}

impl LoadMode {
    /// Whether it is done exactly once, where it stands.
    pub fn is_pinned(self) -> bool {
        self != LoadMode::Free
    }
}

spelled! {
    /// Which caches a store uses.
    StoreCache {
        /// The device's default.
        Default = "default",
        /// Write back.
        WriteBack = "wb",
        /// The device-wide level only.
        Global = "cg",
        /// Likely used once.
        Streaming = "cs",
        /// Write through.
        WriteThrough = "wt",
    }
}

spelled! {
    /// How soon data may leave the cache.
    Evict {
        /// The device's default.
        Normal = "normal",
        /// Early.
        First = "first",
        /// Late.
        Last = "last",
    }
}

spelled! {
    /// Memory order of an atomic operation.
    Sem {
        /// Atomic, but orders nothing.
        Relaxed = "relaxed",
        /// Later accesses stay later.
        Acquire = "acquire",
        /// Earlier accesses stay earlier.
        Release = "release",
        /// Both.
        AcqRel = "acq_rel",
    }
}

spelled! {
    /// Who takes part in an ordering.
    Scope {
        /// This program.
        Cta = "cta",
        /// All programs of this rank.
        Gpu = "gpu",
        /// All programs of all ranks, and the host.
        Sys = "sys",
    }
}

spelled! {
    /// How an atomic read-modify-write combines.
    RmwOp {
        /// Sum of integers or floats.
        Add = "add",
        /// Lesser, by the type's own order.
        Min = "min",
        /// Greater, by the type's own order.
        Max = "max",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// The operand.
        Xchg = "xchg",
    }
}

/// Attributes of a load.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadAttrs {
    /// Which caches keep it.
    pub cache: LoadCache,
    /// How soon it may leave the cache.
    pub evict: Evict,
    /// Whether it stays where it stands.
    pub mode: LoadMode,
}

impl Default for LoadAttrs {
    fn default() -> Self {
        LoadAttrs { cache: LoadCache::Default, evict: Evict::Normal, mode: LoadMode::Free }
    }
}
