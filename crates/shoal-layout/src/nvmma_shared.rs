//! Buffers in shared memory as TMA writes them and `wgmma` reads them.
//!
//! The hardware knows three swizzles, of 128, 64 and 32 bytes, and none. It cuts the buffer into chunks as wide as the
//! swizzle, stores chunk after chunk with all its rows, and exchanges pieces of 16 bytes: bits 4 to 6 of the address are
//! xored with bits 7 to 9 (128 bytes), 4 to 5 with 7 to 8 (64), 4 with 7 (32).
//!
//! ```text
//!  128 bytes: one row of a chunk is eight pieces           64 bytes: two rows share 128 bytes, and a phase
//!
//!  row 0   0 1 2 3 4 5 6 7                                 rows 0, 1   0 1 2 3   0 1 2 3
//!  row 1   1 0 3 2 5 4 7 6                                 rows 2, 3   1 0 3 2   1 0 3 2
//!  row 2   2 3 0 1 6 7 4 5                                 rows 4, 5   2 3 0 1   2 3 0 1
//!  …                                                       rows 6, 7   3 2 1 0   3 2 1 0
//! ```
//!
//! The pattern depends on the address itself, so the buffer must begin at a multiple of eight rows of a chunk: 1 024
//! bytes for the swizzle of 128.

use crate::matrix::{Matrix, shape_bits};
use crate::{InDim, LayoutError, LinearLayout};

/// A swizzle of the hardware.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum TmaSwizzle {
    /// None: chunks of 16 bytes.
    None,
    /// 32 bytes.
    B32,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
}

impl TmaSwizzle {
    /// The bytes of one row of a chunk.
    pub const fn chunk_bytes(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }

    /// The alignment that the buffer needs, in bytes.
    pub const fn alignment(self) -> u32 {
        8 * self.chunk_bytes()
    }
}

/// Which dimension of a matrix in memory is contiguous.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// The last: row-major.
    Row,
    /// The last but one: column-major.
    Column,
}

/// The bytes that move together.
const PIECE: u32 = 16;
/// Rows of a chunk after which the pattern begins again.
const PERIOD: u32 = 8;

impl LinearLayout {
    /// A buffer of elements of `element_bits` bits with a swizzle of the hardware. Dimensions before the last two count
    /// further rows.
    pub fn nvmma_shared(
        shape: &[u32],
        element_bits: u32,
        swizzle: TmaSwizzle,
        major: Major,
    ) -> Result<Self, LayoutError> {
        let (last_row, last) = crate::tiling::matrix_dims(shape.len())?;
        let (inner, outer) = match major {
            Major::Row => (last, last_row),
            Major::Column => (last_row, last),
        };
        if !matches!(element_bits, 8 | 16 | 32 | 64) {
            return Err(LayoutError::ElementBits { bits: element_bits });
        }
        let (vec, chunk) = (PIECE * 8 / element_bits, swizzle.chunk_bytes() * 8 / element_bits);
        let mut buffer = Matrix::of_tile(shape_bits(shape)?);
        let rows: u64 =
            shape.iter().enumerate().filter(|(out, _)| *out != inner).map(|(_, &size)| u64::from(size)).product();
        if shape[inner] < chunk {
            return Err(LayoutError::Instruction { reason: "a row of the buffer is shorter than the swizzle" });
        }
        if shape[inner] > chunk && rows < PERIOD.into() {
            return Err(LayoutError::Instruction { reason: "a buffer with several chunks needs eight rows" });
        }
        let rows_per_phase = PERIOD * PIECE / swizzle.chunk_bytes();
        let phases = swizzle.chunk_bytes() / PIECE;
        let unit = |out: usize, coordinate: u32| {
            let mut basis = vec![0; shape.len()];
            basis[out] = coordinate;
            basis
        };
        let powers = |from: u32, to: u32| (from.ilog2()..to.ilog2()).map(|bit| 1u32 << bit);
        let mut bases: Vec<Vec<u32>> = powers(1, chunk).map(|column| unit(inner, column)).collect();
        let mut row = 1u32;
        for out in std::iter::once(outer).chain((0..last_row).rev()) {
            for coordinate in powers(1, shape[out]) {
                let mut basis = unit(out, coordinate);
                basis[inner] = vec * ((row / rows_per_phase) % phases);
                bases.push(basis);
                row = row.saturating_mul(2);
            }
        }
        bases.extend(powers(chunk, shape[inner]).map(|column| unit(inner, column)));
        buffer.bases[InDim::Offset.index()] = bases.iter().map(|basis| buffer.pack(basis)).collect();
        buffer.check_size()?;
        Ok(buffer.finish())
    }
}
