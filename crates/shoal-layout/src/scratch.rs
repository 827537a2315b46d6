//! A buffer in shared memory through which a tile goes from one layout to another without bank conflicts.
//!
//! An offset in the buffer has three parts, and each is a choice of a subspace of the tile:
//!
//! ```text
//!  offset   =   [ row of 128 bytes | bank | piece ]
//!
//!  piece    what one instruction moves for a lane, up to 16 bytes: it must be registers of one lane on both sides to be
//!           wide on both (or a row of a matrix for `ldmatrix` and `stmatrix`)
//!  row      lanes that are served together must not differ in the row alone, for then they want different words of one
//!           bank. So the rows are a subspace that has nothing in common with the lanes of the source, nor with those
//!           of the target
//!  bank     the rest
//! ```
//!
//! With a 32 × 32 transposition, lanes of the source along one dimension and lanes of the target along the other, the rows
//! come out as sums of both: the well-known xor swizzle. It is not put in, it is found.
//!
//! There is a choice of pieces; each is tried, and the model of the banks decides.

use crate::access::{Direction, MatrixAccess, SharedAccess};
use crate::banks::lanes_together;
use crate::elimination::Echelon;
use crate::matrix::{Matrix, combine};
use crate::subspace::{avoiding, extension, independent, intersection};
use crate::{InDim, LayoutError, LinearLayout};

/// A buffer, and how it is written and read.
pub(crate) struct Scratch {
    pub(crate) memory: LinearLayout,
    pub(crate) store: SharedAccess,
    pub(crate) load: SharedAccess,
}

/// The best buffer for going from `source` to `target`, which must hold in each block what the source holds there.
pub(crate) fn find_scratch(
    source: &LinearLayout,
    target: &LinearLayout,
    element_bits: u32,
    matrix: MatrixAccess,
) -> Result<Scratch, LayoutError> {
    let space = Space::new(source, target, element_bits)?;
    let mut best: Option<Scratch> = None;
    for piece in space.pieces(matrix) {
        for first in [Word::OfSource, Word::OfTarget] {
            let memory = space.buffer(source, &piece, first);
            let store = source.access(&memory, element_bits, Direction::Store, matrix)?;
            let load = target.access(&memory, element_bits, Direction::Load, matrix)?;
            let found = Scratch { memory, store, load };
            if best.as_ref().is_none_or(|best| found.cost() < best.cost()) {
                best = Some(found);
            }
        }
    }
    Ok(best.expect("single elements are always tried"))
}

impl Scratch {
    fn cost(&self) -> (u32, u32) {
        let (store, load) = (self.store.cost(), self.load.cost());
        (store.0 + load.0, store.1 + load.1)
    }
}

/// Whose lanes share a word of memory where elements are smaller than that.
#[derive(Copy, Clone)]
enum Word {
    OfSource,
    OfTarget,
}

/// What one side holds, as vectors of the tile.
struct Side {
    /// The register bits that are no copies.
    registers: Vec<u64>,
    lanes: Vec<u64>,
    farther: Vec<u64>,
}

/// How one side moves a piece.
#[derive(Clone)]
struct Use {
    /// The bits of the piece that one of its instructions moves for a lane.
    bits: usize,
    /// What differs between the lanes, or the rows of a matrix, that memory serves together.
    together: Vec<u64>,
}

/// A choice of what lies side by side in memory.
struct Piece {
    /// Vectors of the tile for the lowest bits of the offset.
    low: Vec<u64>,
    source: Use,
    target: Use,
}

/// The part of the tile that one block holds. A vector of it is a sum of independent columns of the source, as a mask.
struct Space {
    /// The independent columns of the source.
    columns: Vec<u64>,
    source: Side,
    target: Side,
    element_bits: u32,
}

impl Space {
    fn new(source: &LinearLayout, target: &LinearLayout, element_bits: u32) -> Result<Self, LayoutError> {
        let in_block = [InDim::Register, InDim::Lane, InDim::Warp];
        let all: Vec<u64> = in_block.into_iter().flat_map(|dim| source.flat_bases(dim)).copied().collect();
        let columns = independent(&all);
        let echelon = Echelon::of(columns.iter().copied());
        let coordinates = |vector: u64| {
            echelon.solve(vector).ok_or_else(|| LayoutError::NotCovered { element: source.matrix.unpack(vector) })
        };
        let side = |layout: &LinearLayout| {
            let of = |dim: InDim| {
                layout.flat_bases(dim).iter().map(|&basis| coordinates(basis)).collect::<Result<Vec<_>, _>>()
            };
            // A block that is the same on both sides moves the whole buffer, not what is in it.
            let blocks = layout.flat_bases(InDim::Block).iter().zip(source.flat_bases(InDim::Block));
            let blocks = blocks.map(|(own, other)| coordinates(own ^ other)).collect::<Result<Vec<_>, _>>()?;
            let farther = of(InDim::Warp)?.into_iter().chain(blocks).collect();
            Ok(Side { registers: independent(&of(InDim::Register)?), lanes: of(InDim::Lane)?, farther })
        };
        Ok(Self { source: side(source)?, target: side(target)?, columns, element_bits })
    }

    /// The number of offset bits that make so many bytes.
    fn bits_of(&self, bytes: u32) -> usize {
        (bytes * 8 / self.element_bits).max(1).ilog2() as usize
    }

    /// The pieces to try.
    fn pieces(&self, matrix: MatrixAccess) -> Vec<Piece> {
        let most = self.bits_of(16);
        let mut common: Vec<u64> =
            self.source.registers.iter().copied().filter(|vector| self.target.registers.contains(vector)).collect();
        common.truncate(most);
        let widened = |side: &Side| {
            let more = side.registers.iter().copied().filter(|vector| !common.contains(vector));
            common.iter().copied().chain(more).take(most).collect::<Vec<u64>>()
        };
        let mut lows = vec![common.clone(), widened(&self.source), widened(&self.target)];
        if matrix != MatrixAccess::None {
            lows.extend([&self.source, &self.target].into_iter().flat_map(|side| self.matrix_rows(side)));
        }
        lows.extend((0..common.len()).map(|bits| common[..bits].to_vec()));
        let piece = |low: Vec<u64>| Piece {
            source: self.use_of(&self.source, &low),
            target: self.use_of(&self.target, &low),
            low,
        };
        lows.into_iter().map(piece).collect()
    }

    /// The rows of 16 bytes of a matrix instruction on this side, plain and transposed.
    fn matrix_rows(&self, side: &Side) -> Vec<Vec<u64>> {
        let word = self.bits_of(4);
        if side.lanes.len() != 5 || self.element_bits > 32 {
            return Vec::new();
        }
        let mut rows = Vec::new();
        if side.registers.len() >= word {
            rows.push(side.registers[..word].iter().chain(&side.lanes[..2]).copied().collect());
        }
        if self.element_bits == 16 {
            rows.push(side.lanes[2..].to_vec());
        }
        rows.retain(|row: &Vec<u64>| independent(row).len() == row.len());
        rows
    }

    /// How a side would move pieces of this form.
    fn use_of(&self, side: &Side, low: &[u64]) -> Use {
        let most = self.bits_of(16);
        let word = self.bits_of(4);
        if low.len() == most && side.lanes.len() == 5 && self.element_bits <= 32 {
            if side.registers.len() >= word && low[..word] == side.registers[..word] && low[word..] == side.lanes[..2] {
                return Use { bits: most, together: side.lanes[2..].to_vec() };
            }
            if self.element_bits == 16 && *low == side.lanes[2..] {
                let rows = side.registers.iter().take(1).chain(&side.lanes[..2]);
                return Use { bits: most, together: rows.copied().collect() };
            }
        }
        let bits = low.iter().take_while(|vector| side.registers.contains(vector)).count();
        let lanes = lanes_together((self.element_bits / 8) << bits).ilog2() as usize;
        Use { bits, together: side.lanes.iter().take(lanes).copied().collect() }
    }

    /// The buffer with these pieces.
    fn buffer(&self, source: &LinearLayout, piece: &Piece, first: Word) -> LinearLayout {
        let total = self.columns.len();
        let low = &piece.low;
        // The rest of the tile, out of what the sides hold besides the piece: then an offset within the piece does not
        // depend on lanes and warps, and the piece stays whole.
        let beside = |side: &Side| -> Vec<u64> {
            let all = side.registers.iter().chain(&side.lanes).chain(&side.farther);
            all.copied().filter(|vector| !low.contains(vector)).collect()
        };
        let (wide, narrow) = if piece.source.bits >= piece.target.bits {
            (&self.source, &self.target)
        } else {
            (&self.target, &self.source)
        };
        let units = (0..total).map(|bit| 1 << bit);
        let candidates: Vec<u64> = beside(wide).into_iter().chain(beside(narrow)).chain(units).collect();
        let rest = extension(low, &candidates);

        let word = self.word(piece, &rest, first);
        let busy = |side: &Use| {
            let together = side.together.iter().chain(&low[..side.bits.max(self.bits_of(4)).min(low.len())]);
            intersection(&together.chain(&word).copied().collect::<Vec<u64>>(), &rest)
        };
        let rows_wanted = total.saturating_sub(self.bits_of(128).max(low.len() + word.len()));
        let mut rows = avoiding(&rest, &busy(&piece.source), &busy(&piece.target));
        let taken: Vec<u64> = low.iter().chain(&word).copied().collect();
        rows = extension(&taken, &rows);
        rows.truncate(rows_wanted);
        let taken: Vec<u64> = taken.iter().chain(&rows).copied().collect();
        let banks = extension(&taken, &rest);

        let offsets = low.iter().chain(&word).chain(&banks).chain(&rows);
        let mut memory = Matrix::of_tile(source.matrix.out_bits.clone());
        memory.bases[InDim::Offset.index()] = offsets.map(|&vector| combine(&self.columns, vector)).collect();
        // Each block has a buffer of its own, for the part of the tile that is its own.
        let mut held = Echelon::of(self.columns.iter().copied());
        let blocks = source.flat_bases(InDim::Block).iter();
        memory.bases[InDim::Block.index()] =
            blocks.map(|&basis| if held.extend_by(basis) { basis } else { 0 }).collect();
        memory.finish()
    }

    /// What fills a word of memory where pieces are smaller than that: lanes that ask for the same word do not collide.
    fn word(&self, piece: &Piece, rest: &[u64], first: Word) -> Vec<u64> {
        let missing = self.bits_of(4).saturating_sub(piece.low.len());
        let (one, other) = match first {
            Word::OfSource => (&piece.source.together, &piece.target.together),
            Word::OfTarget => (&piece.target.together, &piece.source.together),
        };
        let both = intersection(one, other);
        let candidates: Vec<u64> = both.iter().chain(one).chain(other).chain(rest).copied().collect();
        let inside = intersection(&candidates, rest);
        let preferred: Vec<u64> = candidates
            .into_iter()
            .filter(|vector| Echelon::of(rest.iter().copied()).spans(*vector))
            .chain(inside)
            .collect();
        let mut word = extension(&piece.low, &preferred);
        word.truncate(missing);
        word
    }
}
