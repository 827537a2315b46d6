//! A plan in one line, for people and for file tests.
//!
//! ```text
//! nothing
//! registers
//! registers by lane
//! 8 shuffles of 2 × 16 bits, selected by lane
//! memory of 8192 bytes: store 4 × stmatrix.x4, load 8 × 16 bytes
//! memory of 4096 bytes in 4 passes: store 8 × 16 bytes, load 32 × 4 bytes (1 conflict), warp barrier
//! ```

use std::fmt;

use crate::access::{AccessKind, MatrixOrder, SharedAccess};
use crate::linear_index::LinearIndex;
use crate::plan::{Barrier, ConversionPlan, MemoryPlan};
use crate::shuffle::ShufflePlan;

impl fmt::Display for ConversionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Registers(from) if from.is_static() => f.write_str("registers"),
            Self::Registers(_) => f.write_str("registers by lane"),
            Self::Shuffles(plan) => plan.fmt(f),
            Self::Memory(plan) => plan.fmt(f),
        }
    }
}

impl fmt::Display for ShufflePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} × {} bits", counted(self.shuffles(), "shuffle"), self.packed, self.element_bits)?;
        let by_lane = |index: &LinearIndex| !index.is_static();
        if by_lane(&self.select) || by_lane(&self.place) { f.write_str(", selected by lane") } else { Ok(()) }
    }
}

impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory of {} bytes", self.scratch_bytes())?;
        if self.passes() > 1 {
            write!(f, " in {} passes", self.passes())?;
        }
        f.write_str(": store ")?;
        write_access(f, &self.store, "stmatrix")?;
        f.write_str(", load ")?;
        write_access(f, &self.load, "ldmatrix")?;
        match self.barrier {
            Barrier::Warp => f.write_str(", warp barrier"),
            Barrier::Block => Ok(()),
        }
    }
}

fn write_access(f: &mut fmt::Formatter<'_>, access: &SharedAccess, matrix: &str) -> fmt::Result {
    write!(f, "{} × ", access.registers.len())?;
    match access.kind {
        AccessKind::Vector { elements } => write!(f, "{}", counted(elements * access.element_bits / 8, "byte"))?,
        AccessKind::Matrix { matrices, order: MatrixOrder::Plain } => write!(f, "{matrix}.x{matrices}")?,
        AccessKind::Matrix { matrices, order: MatrixOrder::Transposed } => write!(f, "{matrix}.x{matrices}.trans")?,
    }
    if access.conflicts > 0 {
        write!(f, " ({})", counted(access.conflicts, "conflict"))?;
    }
    Ok(())
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
