//! Plans: how a tile is brought from one layout to another, as steps that code can be generated from.
//!
//! The cheapest means that reaches far enough is taken:
//!
//! ```text
//!  nothing      every place holds its element already
//!  registers    it is in the lane: registers are renamed, or selected by lane where lanes hold copies
//!  shuffles     it is in the warp
//!  memory       it is in the block: written to shared memory, a barrier, and read, without bank conflicts; with
//!               `stmatrix` and `ldmatrix` where they fit
//! ```
//!
//! Shuffles move 128 bytes each, as a wavefront of memory does; going through memory is two of those for each 128 bytes,
//! and a barrier. So shuffles are taken whenever there are some.

use crate::access::{MatrixAccess, SharedAccess};
use crate::linear_index::LinearIndex;
use crate::matrix::Matrix;
use crate::scratch::find_scratch;
use crate::shuffle::{ShufflePlan, plan_shuffles};
use crate::{InDim, LayoutError, LinearLayout, Reach};

/// What a conversion may use.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConversionOptions {
    /// The bits of an element: 8, 16, 32 or 64.
    pub element_bits: u32,
    /// The matrix instructions of the target.
    pub matrix: MatrixAccess,
    /// The bytes of shared memory that may be used. If the tile is larger it goes in several passes.
    pub scratch_bytes: u32,
}

/// How a tile is brought from one layout to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversionPlan {
    /// Every place holds its element already.
    Nothing,
    /// Register `r` of a place of the target is the register of the same lane of the source that this gives.
    Registers(LinearIndex),
    /// By shuffles within each warp.
    Shuffles(ShufflePlan),
    /// Through shared memory.
    Memory(MemoryPlan),
}

/// A conversion through shared memory. In each pass every warp stores, all wait at the barrier, and every warp loads; a
/// further pass begins with another barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Which element of the tile is at which offset (of the first pass, if there are several).
    pub memory: LinearLayout,
    /// How the source is written.
    pub store: SharedAccess,
    /// How the target is read.
    pub load: SharedAccess,
    /// Who must wait between the two.
    pub barrier: Barrier,
    /// The passes: each bit is a register bit of the source and one of the target, as masks. Pass `p` moves the registers
    /// of `store` and `load` xored with the masks of the bits that are set in `p`.
    pub pass_bits: Vec<PassBit>,
}

/// A bit of the number of a pass.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PassBit {
    /// The register bit of the source, as a mask.
    pub source: u32,
    /// The register bit of the target, as a mask.
    pub target: u32,
}

/// Who waits for whom between writing and reading.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// The lanes of a warp: it reads only what it wrote.
    Warp,
    /// The warps of a block.
    Block,
}

impl ConversionPlan {
    /// What the conversion costs one warp, in accesses of 128 bytes: shuffles, or wavefronts of shared memory. Moves between
    /// registers and barriers are not counted.
    pub fn cost(&self) -> u32 {
        match self {
            Self::Nothing | Self::Registers(_) => 0,
            Self::Shuffles(plan) => plan.shuffles(),
            Self::Memory(plan) => (plan.store.cost().0 + plan.load.cost().0) * plan.passes(),
        }
    }
}

impl MemoryPlan {
    /// The bytes of shared memory that one pass needs.
    pub fn scratch_bytes(&self) -> u64 {
        u64::from(self.memory.in_size(InDim::Offset)) * u64::from(self.store.element_bits / 8)
    }

    /// The number of passes.
    pub fn passes(&self) -> u32 {
        1 << self.pass_bits.len()
    }

    /// What the registers of source and target are xored with in this pass.
    pub fn pass(&self, pass: u32) -> PassBit {
        let set = self.pass_bits.iter().enumerate().filter(|(bit, _)| pass >> bit & 1 == 1);
        set.fold(PassBit { source: 0, target: 0 }, |sum, (_, bit)| PassBit {
            source: sum.source ^ bit.source,
            target: sum.target ^ bit.target,
        })
    }
}

impl LinearLayout {
    /// How a tile in this layout is brought into the layout `target`.
    ///
    /// Both must have the same lanes, warps and blocks, and every element must be found in the block that needs it.
    pub fn plan_conversion(&self, target: &Self, options: ConversionOptions) -> Result<ConversionPlan, LayoutError> {
        if !matches!(options.element_bits, 8 | 16 | 32 | 64) {
            return Err(LayoutError::ElementBits { bits: options.element_bits });
        }
        for dim in [InDim::Lane, InDim::Warp, InDim::Block] {
            if self.in_size(dim) != target.in_size(dim) {
                return Err(LayoutError::PlacesDiffer { dim });
            }
        }
        let route = target.invert_and_compose(self)?;
        match route.reach() {
            Reach::Nowhere => return Ok(ConversionPlan::Nothing),
            Reach::Registers => return Ok(ConversionPlan::Registers(route.index_along(InDim::Register))),
            Reach::Lanes => {
                if let Some(plan) = plan_shuffles(self, target, &route, options.element_bits) {
                    return Ok(ConversionPlan::Shuffles(plan));
                }
            }
            Reach::Warps => {}
            Reach::Blocks => return Err(LayoutError::BetweenBlocks),
        }
        // A warp that skips storing copies reads what another one wrote.
        let alone = route.reach() == Reach::Lanes && self.free_variable_masks().warp == 0;
        let barrier = if alone { Barrier::Warp } else { Barrier::Block };
        Ok(ConversionPlan::Memory(plan_memory(self, target, barrier, options)?))
    }
}

fn plan_memory(
    source: &LinearLayout,
    target: &LinearLayout,
    barrier: Barrier,
    options: ConversionOptions,
) -> Result<MemoryPlan, LayoutError> {
    let mut passes = Passes::new(source, target);
    while passes.bytes(options.element_bits) > options.scratch_bytes.into() {
        if !passes.split() {
            let needed = passes.bytes(options.element_bits);
            return Err(LayoutError::ScratchTooSmall { needed, available: options.scratch_bytes });
        }
    }
    let (one_source, one_target) =
        (without_registers(source, &passes.source), without_registers(target, &passes.target));
    let scratch = find_scratch(&one_source, &one_target, options.element_bits, options.matrix)?;
    let bits = passes.source.iter().zip(&passes.target);
    Ok(MemoryPlan {
        memory: scratch.memory,
        store: with_registers(scratch.store, &passes.source),
        load: with_registers(scratch.load, &passes.target),
        barrier,
        pass_bits: bits.map(|(&source, &target)| PassBit { source: 1 << source, target: 1 << target }).collect(),
    })
}

/// The register bits that number the passes: those that stand for the same bit of the tile on both sides, and that no
/// other place depends on.
struct Passes<'a> {
    layouts: [&'a LinearLayout; 2],
    source: Vec<usize>,
    target: Vec<usize>,
    /// The number of independent bits of the tile in one block.
    bits: usize,
}

impl<'a> Passes<'a> {
    fn new(source: &'a LinearLayout, target: &'a LinearLayout) -> Self {
        let in_block = [InDim::Register, InDim::Lane, InDim::Warp].into_iter().flat_map(|dim| source.flat_bases(dim));
        let bits = crate::subspace::independent(&in_block.copied().collect::<Vec<u64>>()).len();
        Self { layouts: [source, target], source: Vec::new(), target: Vec::new(), bits }
    }

    fn bytes(&self, element_bits: u32) -> u64 {
        u64::from(element_bits / 8) << self.bits
    }

    /// Takes one more bit, the slowest that there is; `false` if there is none.
    fn split(&mut self) -> bool {
        let [source, target] = self.layouts;
        let only_user = |layout: &LinearLayout, vector: u64| {
            layout.matrix.columns().filter(|column| column & vector != 0).count() == 1
        };
        let registers = source.flat_bases(InDim::Register).iter().enumerate().rev();
        let found = registers.filter(|(bit, _)| !self.source.contains(bit)).find_map(|(bit, &vector)| {
            let alone = vector.is_power_of_two() && only_user(source, vector) && only_user(target, vector);
            let other = target.flat_bases(InDim::Register).iter().position(|&other| other == vector);
            other.filter(|_| alone).map(|other| (bit, other))
        });
        if let Some((source, target)) = found {
            self.source.push(source);
            self.target.push(target);
            self.bits -= 1;
        }
        found.is_some()
    }
}

/// The layout with these register bits held at zero.
fn without_registers(layout: &LinearLayout, bits: &[usize]) -> LinearLayout {
    let mut part = Matrix::clone(&layout.matrix);
    let registers = layout.flat_bases(InDim::Register).iter().enumerate();
    part.bases[InDim::Register.index()] =
        registers.filter(|(bit, _)| !bits.contains(bit)).map(|(_, &basis)| basis).collect();
    part.finish()
}

/// The access of such a layout in the registers of the whole one.
fn with_registers(mut access: SharedAccess, bits: &[usize]) -> SharedAccess {
    let mut sorted = bits.to_vec();
    sorted.sort_unstable();
    let widen = |register: u32| {
        sorted.iter().fold(register, |register, &bit| {
            let low = register & ((1 << bit) - 1);
            (register ^ low) << 1 | low
        })
    };
    for register in access.registers.iter_mut().flatten() {
        *register = widen(*register);
    }
    for (register, moved) in &mut access.copies {
        (*register, *moved) = (widen(*register), widen(*moved));
    }
    for &bit in &sorted {
        access.offset.columns[InDim::Register.index()].insert(bit, 0);
    }
    access
}
