//! Between registers and shared memory: which instruction moves what.
//!
//! Given a layout of registers and one of memory, `memory⁻¹ ∘ layout` says at which offset each register lies. From its
//! bits follows what one instruction may do:
//!
//! ```text
//!  vector       registers of a lane that follow each other in memory: one access of up to 16 bytes
//!
//!  matrix       `ldmatrix`, `stmatrix`: 8 rows of 16 bytes. Lane 4r+c has the c-th word of row r, and any lane may
//!               give a row's address, so the rows may lie anywhere:
//!                                 row 0   [lane 0][lane 1][lane 2][lane 3]
//!                                 row 1   [lane 4][lane 5][lane 6][lane 7] …
//!
//!  transposed   the same memory, but lane 4c+r has column c of rows 2r and 2r+1; elements of 16 bits only
//! ```

use crate::banks::{ideal_wavefronts, wavefronts};
use crate::elimination::Echelon;
use crate::linear_index::LinearIndex;
use crate::matrix::{combine, low_mask};
use crate::{InDim, LayoutError, LinearLayout, Place};

/// The matrix instructions between registers and shared memory that a target has.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatrixAccess {
    /// None.
    None,
    /// `ldmatrix` (sm_75 and up).
    Load,
    /// `ldmatrix` and `stmatrix` (sm_90 and up).
    LoadAndStore,
}

impl MatrixAccess {
    fn allows(self, direction: Direction) -> bool {
        match direction {
            Direction::Load => self != Self::None,
            Direction::Store => self == Self::LoadAndStore,
        }
    }
}

/// Which way data moves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From memory to registers.
    Load,
    /// From registers to memory.
    Store,
}

/// What one instruction of an access moves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Neighbouring elements of memory, this many for each lane.
    Vector {
        /// The number of elements.
        elements: u32,
    },
    /// This many matrices of 8 rows of 16 bytes.
    Matrix {
        /// 1, 2 or 4.
        matrices: u32,
        /// How lanes hold them.
        order: MatrixOrder,
    },
}

/// How lanes hold an 8 × 16-byte matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOrder {
    /// Four lanes hold a row.
    Plain,
    /// Four lanes hold a column (`.trans`).
    Transposed,
}

/// How a tile goes between registers and shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedAccess {
    /// What one instruction moves.
    pub kind: AccessKind,
    /// For each instruction its registers, in the order of its operands: vectors in the order of memory; matrices one
    /// after the other, each with the elements of one 32-bit word.
    pub registers: Vec<Vec<u32>>,
    /// Registers that hold copies, each with the one that is moved: after a load they are set from it.
    pub copies: Vec<(u32, u32)>,
    /// Warps with one of these bits set hold what others hold, and have nothing to store.
    pub idle_warps: u32,
    /// The offset in memory, in elements, of what a place holds.
    pub offset: LinearIndex,
    /// The bits of an element.
    pub element_bits: u32,
    /// The wavefronts that one instruction of one warp takes.
    pub wavefronts: u32,
    /// How many of those are due to bank conflicts.
    pub conflicts: u32,
}

impl LinearLayout {
    /// How a tile in this layout goes from or to `memory`, with the instructions that take the least time.
    ///
    /// If the blocks of a cluster hold different parts of the tile, `memory` says so along [`InDim::Block`].
    pub fn access(
        &self,
        memory: &Self,
        element_bits: u32,
        direction: Direction,
        matrix: MatrixAccess,
    ) -> Result<SharedAccess, LayoutError> {
        if !matches!(element_bits, 8 | 16 | 32 | 64) {
            return Err(LayoutError::ElementBits { bits: element_bits });
        }
        let offsets = Offsets::new(self, memory, element_bits)?;
        let mut best = offsets.vector();
        if matrix.allows(direction) {
            for other in [offsets.plain_matrix(), offsets.transposed_matrix()].into_iter().flatten() {
                if other.cost() < best.cost() {
                    best = other;
                }
            }
        }
        Ok(best)
    }
}

impl SharedAccess {
    /// The time of the whole access for one warp: wavefronts, then instructions.
    pub fn cost(&self) -> (u32, u32) {
        let instructions = self.registers.len() as u32;
        (self.wavefronts * instructions, instructions)
    }

    /// The address, in elements, that lane `lane` gives to an instruction. With matrices, lane `8m + r` gives that of row
    /// `r` of matrix `m`, and lanes beyond the last matrix repeat the first ones.
    pub fn address(&self, instruction: usize, lane: u32, warp: u32) -> u32 {
        let registers = &self.registers[instruction];
        let (register, lane) = match self.kind {
            AccessKind::Vector { .. } => (registers[0], lane),
            AccessKind::Matrix { matrices, order } => {
                let word = registers.len() / matrices as usize;
                let first = ((lane / 8) % matrices) as usize * word;
                match order {
                    MatrixOrder::Plain => (registers[first], lane % 8 * 4),
                    MatrixOrder::Transposed => (registers[first + lane as usize % 2], lane % 8 / 2),
                }
            }
        };
        self.offset.apply(Place { register, lane, warp, ..Place::default() })
    }

    /// The bytes that one lane moves, or that one row of a matrix has.
    fn bytes(&self) -> u32 {
        match self.kind {
            AccessKind::Vector { elements } => elements * self.element_bits / 8,
            AccessKind::Matrix { .. } => 16,
        }
    }

    fn count_wavefronts(mut self, lanes: u32) -> Self {
        let asking = match self.kind {
            AccessKind::Vector { .. } => lanes,
            AccessKind::Matrix { matrices, .. } => 8 * matrices,
        };
        let bytes = self.bytes();
        let addresses: Vec<u32> = (0..asking).map(|lane| self.address(0, lane, 0) * self.element_bits / 8).collect();
        self.wavefronts = wavefronts(&addresses, bytes);
        self.conflicts = self.wavefronts - ideal_wavefronts(asking as usize, bytes).min(self.wavefronts);
        self
    }
}

/// The offsets of all places, and which registers matter.
struct Offsets {
    offset: LinearIndex,
    lanes: u32,
    /// The number of registers, copies included.
    registers: u32,
    /// The register bits that are no copies.
    kept: Vec<usize>,
    /// For each register bit, the sum of kept bits that holds the same.
    same: Vec<u64>,
    idle_warps: u32,
    element_bits: u32,
}

impl Offsets {
    fn new(layout: &LinearLayout, memory: &LinearLayout, element_bits: u32) -> Result<Self, LayoutError> {
        let offset = layout.invert_and_compose(memory)?.index_along(InDim::Offset);
        let bases = layout.flat_bases(InDim::Register);
        let echelon = Echelon::of(bases.iter().copied());
        let copies = echelon.dependent_columns();
        let kept = (0..bases.len()).filter(|bit| copies >> bit & 1 == 0).collect();
        let same = bases.iter().map(|&basis| echelon.solve(basis).unwrap_or_default()).collect();
        let idle_warps = layout.free_variable_masks().warp;
        let (lanes, registers) = (layout.in_size(InDim::Lane), layout.in_size(InDim::Register));
        Ok(Self { offset, lanes, registers, kept, same, idle_warps, element_bits })
    }

    /// The bits of all offsets that change with anything but the registers.
    fn beyond_registers(&self) -> u64 {
        self.others(0)
    }

    /// The bits of the offsets that change with lanes from bit `first_lane` on, with warps and with blocks.
    fn others(&self, first_lane: usize) -> u64 {
        let lanes = self.offset.columns(InDim::Lane).iter().skip(first_lane);
        let farther = [InDim::Warp, InDim::Block, InDim::Offset].into_iter().flat_map(|dim| self.offset.columns(dim));
        lanes.chain(farther).fold(0, |all, column| all | column)
    }

    /// Combinations of registers whose offsets are 1, 2, 4, … up to `bits` of them, and combinations for the rest whose
    /// offsets have those bits zero.
    fn split_registers(&self, bits: usize) -> Option<(Vec<u64>, Vec<u64>)> {
        let columns = self.offset.columns(InDim::Register);
        let echelon = Echelon::of(self.kept.iter().map(|&bit| columns[bit]));
        let as_registers = |mask: u64| {
            self.kept.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).fold(0, |sum, (_, bit)| sum | 1 << bit)
        };
        let low: Vec<u64> = (0..bits).map(|bit| Some(as_registers(echelon.solve(1 << bit)?))).collect::<Option<_>>()?;
        let cleared: Vec<u64> =
            self.kept.iter().map(|&bit| 1 << bit ^ combine(&low, columns[bit] & low_mask(bits))).collect();
        let rest = crate::subspace::extension(&low, &cleared);
        Some((low, rest))
    }

    fn vector(&self) -> SharedAccess {
        let most = (128 / self.element_bits).ilog2() as usize;
        let (low, rest) = (0..=most)
            .rev()
            .filter(|&bits| self.beyond_registers() & low_mask(bits) == 0)
            .find_map(|bits| self.split_registers(bits))
            .expect("single elements can always be moved");
        self.finish(AccessKind::Vector { elements: 1 << low.len() }, &low, &rest)
    }

    fn plain_matrix(&self) -> Option<SharedAccess> {
        let word = (32u32.checked_div(self.element_bits).filter(|&word| word > 0)?).ilog2() as usize;
        let lanes = self.offset.columns(InDim::Lane);
        let in_row = self.lanes == 32 && lanes[0] == 1 << word && lanes[1] == 2 << word;
        if !in_row || self.others(2) & low_mask(word + 2) != 0 {
            return None;
        }
        let (low, rest) = self.split_registers(word)?;
        let columns = self.offset.columns(InDim::Register);
        let aligned = rest.iter().all(|&registers| combine(columns, registers) & low_mask(word + 2) == 0);
        aligned.then(|| self.matrices(MatrixOrder::Plain, &low, &rest))
    }

    fn transposed_matrix(&self) -> Option<SharedAccess> {
        let lanes = self.offset.columns(InDim::Lane);
        if self.element_bits != 16 || self.lanes != 32 || lanes[2..] != [1, 2, 4] {
            return None;
        }
        let low_lanes = lanes[0] | lanes[1];
        let (_, rest) = self.split_registers(0)?;
        let columns = self.offset.columns(InDim::Register);
        let registers = rest.iter().fold(0, |all, &registers| all | combine(columns, registers));
        let (first, rest) = rest.split_first()?;
        let aligned = (low_lanes | registers | self.others(5)) & low_mask(3) == 0;
        aligned.then(|| self.matrices(MatrixOrder::Transposed, &[*first], rest))
    }

    /// Matrices with the registers `word` in each word, and as many at once as there are.
    fn matrices(&self, order: MatrixOrder, word: &[u64], rest: &[u64]) -> SharedAccess {
        let together = rest.len().min(2);
        let operands: Vec<u64> = word.iter().chain(&rest[..together]).copied().collect();
        self.finish(AccessKind::Matrix { matrices: 1 << together, order }, &operands, &rest[together..])
    }

    /// The access whose instructions take the registers `operands` together and go over `rest`.
    fn finish(&self, kind: AccessKind, operands: &[u64], rest: &[u64]) -> SharedAccess {
        let instruction = |first: u64| {
            (0..1 << operands.len()).map(|operand| (first ^ combine(operands, operand)) as u32).collect::<Vec<u32>>()
        };
        let registers = (0..1 << rest.len()).map(|at| instruction(combine(rest, at))).collect();
        let moved = |register: u32| combine(&self.same, register.into()) as u32;
        let copies = (0..self.registers).map(|register| (register, moved(register)));
        let access = SharedAccess {
            kind,
            registers,
            copies: copies.filter(|(register, moved)| register != moved).collect(),
            idle_warps: self.idle_warps,
            offset: self.offset.clone(),
            element_bits: self.element_bits,
            wavefronts: 0,
            conflicts: 0,
        };
        access.count_wavefronts(self.lanes)
    }
}
