//! Swizzled buffers in shared memory: rows whose parts are exchanged so that a column does not fall into one bank.
//!
//! Shared memory has 32 banks of four bytes, and each serves one word at a time. A column of a row-major buffer often
//! lies in one bank. So each row is cut into parts of `vec` elements, and row `r` stores its part `p` where part
//! `p ^ phase(r)` would be:
//!
//! ```text
//!  4 rows of 4 parts, per_phase = 1, max_phase = 4          phase(r) = (r / per_phase) % max_phase
//!
//!  row 0   0 1 2 3         what stands where: part 0 of the rows
//!  row 1   1 0 3 2         is in four different columns of the
//!  row 2   2 3 0 1         buffer, hence in different banks
//!  row 3   3 2 1 0
//! ```

use crate::blocked::check_order;
use crate::matrix::{Matrix, log2, shape_bits};
use crate::{InDim, LayoutError, LinearLayout};

/// How the parts of a row are exchanged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// The elements of one part.
    pub vec: u32,
    /// The rows in a row with the same phase.
    pub per_phase: u32,
    /// The number of phases.
    pub max_phase: u32,
}

impl Swizzle {
    /// The swizzle that changes nothing.
    pub const NONE: Self = Self { vec: 1, per_phase: 1, max_phase: 1 };
}

impl LinearLayout {
    /// A buffer with its parts exchanged as `swizzle` says. `order` lists the tile's dimensions, the fastest first; the
    /// first is along a row, the second counts the rows, and each value of the others has a buffer of its own.
    pub fn swizzled_shared(shape: &[u32], order: &[usize], swizzle: Swizzle) -> Result<Self, LayoutError> {
        check_order(order, shape.len())?;
        for size in [swizzle.vec, swizzle.per_phase, swizzle.max_phase] {
            log2(size)?;
        }
        let mut buffer = Matrix::of_tile(shape_bits(shape)?);
        let mut offsets = Vec::new();
        for (at, &out) in order.iter().enumerate() {
            for bit in 0..buffer.out_bits[out] {
                let mut basis = vec![0; shape.len()];
                basis[out] = 1 << bit;
                if at == 1 {
                    let phase = ((1u32 << bit) / swizzle.per_phase) % swizzle.max_phase;
                    basis[order[0]] = (u64::from(phase) * u64::from(swizzle.vec) % u64::from(shape[order[0]])) as u32;
                }
                offsets.push(buffer.pack(&basis));
            }
        }
        buffer.bases[InDim::Offset.index()] = offsets;
        buffer.check_size()?;
        Ok(buffer.finish())
    }
}
