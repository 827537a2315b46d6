//! Linear layouts: maps over F2 between hardware indices and tile indices.
#![forbid(unsafe_code)]

use std::fmt;

/// A linear map over F2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinearLayout {
    bases: Vec<Vec<u32>>,
}

impl fmt::Display for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#layout<{:?}>", self.bases)
    }
}
