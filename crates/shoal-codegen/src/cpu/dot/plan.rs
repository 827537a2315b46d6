//! How a product is computed: instructions, register blocks, and what is packed. No code is made here.

use shoal_ir::Scalar;

use super::unit::{Arithmetic, Run};
use crate::cpu::isa::Isa;

/// How far apart neighbours along a dimension are, in elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// So many.
    Known(u64),
    /// Only the code knows.
    AtRunTime,
}

impl Stride {
    pub(super) const ONE: Stride = Stride::Known(1);

    /// The number.
    ///
    /// # Panics
    /// If it is not known.
    pub fn known(self) -> u64 {
        match self {
            Stride::Known(stride) => stride,
            Stride::AtRunTime => panic!("an operand with a stride of run time is packed"),
        }
    }
}

/// The elements of a matrix and how they lie in memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The type of its elements.
    pub elem: Scalar,
    /// From one row to the next.
    pub row_stride: Stride,
    /// From one column to the next.
    pub col_stride: Stride,
}

impl Operand {
    /// Rows of `cols` elements, one after the other.
    pub fn row_major(elem: Scalar, cols: u32) -> Operand {
        Operand { elem, row_stride: Stride::Known(cols.into()), col_stride: Stride::ONE }
    }

    fn is_known(self) -> bool {
        self.row_stride != Stride::AtRunTime && self.col_stride != Stride::AtRunTime
    }

    /// Columns of `rows` elements, one after the other.
    pub fn column_major(elem: Scalar, rows: u32) -> Operand {
        Operand { elem, row_stride: Stride::ONE, col_stride: Stride::Known(rows.into()) }
    }

    /// The same matrix with rows for columns.
    pub(crate) fn transposed(self) -> Operand {
        Operand { elem: self.elem, row_stride: self.col_stride, col_stride: self.row_stride }
    }
}

/// A product `c += a @ b` with sizes that are powers of two, and element types that `dot` of the tile IR allows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Rows of `a` and `c`.
    pub(crate) m: u32,
    /// Columns of `b` and `c`.
    pub(crate) n: u32,
    /// Columns of `a`, rows of `b`.
    pub(crate) k: u32,
    /// `m × k`.
    pub(crate) a: Operand,
    /// `k × n`.
    pub(crate) b: Operand,
    /// `m × n`.
    pub(crate) c: Operand,
}

impl Problem {
    /// The same product as `cᵀ += bᵀ @ aᵀ`.
    fn transposed(self) -> Problem {
        Problem {
            m: self.n,
            n: self.m,
            k: self.k,
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: self.c.transposed(),
        }
    }
}

/// Which of the caller's `a` and `b` the kernel broadcasts, and which it reads as vectors.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Roles {
    AsGiven,
    Swapped,
}

/// The part of `c` that is held in registers. Its columns divide those of `c`; rows may be left over.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) rows: u32,
    /// Vectors (or AMX tiles) in a row.
    pub(super) vectors: u32,
    /// Elements in a vector (or columns of an AMX tile).
    pub(super) lanes: u32,
}

impl Block {
    pub(super) fn cols(self) -> u32 {
        self.vectors * self.lanes
    }
}

/// Whether an operand is read where it lies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    InPlace,
    /// Into the scratch, with units that follow each other along this dimension.
    Along(Run),
    /// As rows that follow each other: where they lie, if the code finds that they do so there, else in the scratch.
    /// (Rows further apart would fight for few places in L1 while they are read again and again.)
    Together,
}

/// What the products are added to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// What `c` holds.
    Content,
    /// Nothing: `c` is only written.
    Zero,
}

/// All decisions on one product.
#[derive(Copy, Clone, Debug)]
pub(crate) struct DotPlan {
    pub(super) isa: Isa,
    /// As the kernel sees it.
    pub(super) problem: Problem,
    pub(super) roles: Roles,
    pub(super) arithmetic: Arithmetic,
    pub(super) block: Block,
    pub(super) pack_a: Packing,
    pub(super) pack_b: Packing,
    /// Units of `k` computed before the block of `c` goes back to memory.
    pub(super) k_block: u32,
    pub(super) start: Start,
}

/// A panel of `b` that is to stay in L1 beside rows of `a` and `c`.
const PANEL_BYTES: u32 = 32 << 10;

impl DotPlan {
    /// Plans `problem` for a CPU.
    pub(crate) fn new(isa: &Isa, problem: Problem) -> DotPlan {
        // Vectors run along the rows of `c`; where its elements lie next to each other along columns, the transposed
        // product is the same with rows.
        let c = problem.c;
        let swap = c.row_stride == Stride::ONE && problem.m > 1 && (problem.n == 1 || c.col_stride != Stride::ONE);
        let (problem, roles) = if swap { (problem.transposed(), Roles::Swapped) } else { (problem, Roles::AsGiven) };
        let most = isa.lanes(Arithmetic::accumulator_bits(problem.c.elem));
        let lanes = if problem.c.col_stride == Stride::ONE { most.min(problem.n) } else { 1 };
        let arithmetic = Arithmetic::choose(isa, &problem, lanes);
        let block =
            if arithmetic.is_amx() { amx_block(&problem) } else { register_block(isa, &problem, arithmetic, lanes) };
        let k_units = problem.k / arithmetic.group();
        let mut plan = DotPlan {
            isa: *isa,
            problem,
            roles,
            arithmetic,
            block,
            pack_a: pack_a(&problem, arithmetic),
            pack_b: pack_b(&problem, arithmetic, block),
            k_block: k_units,
            start: Start::Content,
        };
        // Sums of narrow elements are rounded when they go back to memory, which may only happen at the end.
        let rounded = problem.c.elem == Scalar::F16;
        while !rounded && plan.k_block > 1 && plan.k_block * block.cols() * arithmetic.unit_bytes() > PANEL_BYTES {
            plan.k_block /= 2;
        }
        plan
    }

    /// The product `c = a @ b`, which need not clear and read `c`: where each block of `c` is written once.
    pub(crate) fn starting_at_zero(self) -> Option<DotPlan> {
        (self.uses_amx() || self.k_block == self.k_units()).then_some(DotPlan { start: Start::Zero, ..self })
    }

    /// Bytes of scratch the code needs.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.packed_b_bytes() + self.packed_bytes(self.pack_a, self.problem.m)
    }

    /// Whether the code uses AMX: the process must have asked the kernel for it, and its tiles are configured and
    /// released by the code itself.
    pub(crate) fn uses_amx(&self) -> bool {
        self.arithmetic.is_amx()
    }

    /// `k` in units.
    pub(super) fn k_units(&self) -> u32 {
        self.problem.k / self.arithmetic.group()
    }

    /// Packed `b` comes first in the scratch, then packed `a`.
    pub(super) fn packed_b_bytes(&self) -> u64 {
        self.packed_bytes(self.pack_b, self.problem.n)
    }

    fn packed_bytes(&self, packing: Packing, extent: u32) -> u64 {
        match packing {
            Packing::InPlace => 0,
            Packing::Along(_) | Packing::Together => {
                let units = u64::from(extent) * u64::from(self.k_units());
                (units * u64::from(self.arithmetic.unit_bytes())).next_multiple_of(64)
            }
        }
    }
}

/// Enough accumulators to hide the latency of two multiply-adds per cycle, in a block that is nearly square, so that
/// few loads feed many of them; the other registers are for `a` and `b`.
fn register_block(isa: &Isa, problem: &Problem, arithmetic: Arithmetic, lanes: u32) -> Block {
    let fused = isa.fma && matches!(arithmetic, Arithmetic::F32 | Arithmetic::F64);
    // Eight accumulators are just enough, which on 16 registers leaves no better power of two. Where multiply-adds need
    // no further register there is room for twelve; the rows that are left at the end cost less than is gained.
    if isa.vector_bits == 256 && fused && problem.m >= 16 && problem.n >= 2 * lanes {
        return Block { rows: 6, vectors: 2, lanes };
    }
    let (accumulators, rows) = match () {
        // Reading and writing a sum is many instructions; more of them would only be more to compile.
        () if problem.c.elem == Scalar::F16 && !isa.f16c => (2, 2),
        () if isa.avx512 => (16, 8),
        () => (8, 4),
    };
    let rows = problem.m.min(rows);
    let vectors = (problem.n / lanes).min(accumulators / rows);
    Block { rows: problem.m.min(accumulators / vectors), vectors, lanes }
}

/// Two by two tiles of `c`: each loaded tile of `a` and `b` is used twice.
fn amx_block(problem: &Problem) -> Block {
    let lanes = problem.n.min(16);
    Block { rows: problem.m.min(32), vectors: (problem.n / lanes).min(2), lanes }
}

fn pack_a(problem: &Problem, arithmetic: Arithmetic) -> Packing {
    let a = problem.a;
    let as_it_lies =
        a.is_known() && !arithmetic.converts(a.elem) && (arithmetic.group() == 1 || a.col_stride == Stride::ONE);
    if as_it_lies {
        Packing::InPlace
    } else if a.row_stride == Stride::ONE && a.col_stride != Stride::ONE && !arithmetic.is_amx() {
        Packing::Along(Run::Outer)
    } else {
        Packing::Along(Run::K)
    }
}

fn pack_b(problem: &Problem, arithmetic: Arithmetic, block: Block) -> Packing {
    let b = problem.b;
    let scattered = block.lanes > 1 && b.col_stride != Stride::ONE;
    if scattered || arithmetic.converts(b.elem) || arithmetic.group() > 1 {
        Packing::Along(Run::Outer)
    } else if !b.is_known() {
        Packing::Together
    } else {
        Packing::InPlace
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, DotPlan, Operand, Packing, Problem, Roles};
    use crate::cpu::dot::unit::{Arithmetic, Run};
    use crate::cpu::isa::Isa;
    use shoal_ir::Scalar;

    const AVX512: &str = "+avx512f,+avx512bw,+avx512dq,+avx512vl";

    fn problem(m: u32, n: u32, k: u32, elem: Scalar, acc: Scalar) -> Problem {
        Problem {
            m,
            n,
            k,
            a: Operand::row_major(elem, k),
            b: Operand::row_major(elem, n),
            c: Operand::row_major(acc, n),
        }
    }

    fn plan(features: &str, problem: Problem) -> DotPlan {
        DotPlan::new(&Isa::from_features(features), problem)
    }

    #[test]
    fn plain_f32_needs_no_scratch() {
        let plan = plan(AVX512, problem(128, 128, 64, Scalar::F32, Scalar::F32));
        assert_eq!(plan.block, Block { rows: 8, vectors: 2, lanes: 16 });
        assert_eq!(plan.scratch_bytes(), 0);
        assert!(!plan.uses_amx());
    }

    #[test]
    fn a_transposed_b_is_packed() {
        let mut p = problem(64, 64, 32, Scalar::F32, Scalar::F32);
        p.b = Operand::column_major(Scalar::F32, 32);
        let plan = plan(AVX512, p);
        assert_eq!((plan.pack_a, plan.pack_b), (Packing::InPlace, Packing::Along(Run::Outer)));
        assert_eq!(plan.scratch_bytes(), 64 * 32 * 4);
    }

    #[test]
    fn a_column_of_results_is_computed_as_a_row() {
        let plan = plan(AVX512, problem(64, 1, 32, Scalar::F32, Scalar::F32));
        assert_eq!((plan.roles, plan.problem.m, plan.problem.n), (Roles::Swapped, 1, 64));
        assert_eq!(plan.block.lanes, 16);
    }

    #[test]
    fn bf16_takes_the_best_there_is() {
        let p = problem(64, 64, 64, Scalar::BF16, Scalar::F32);
        assert_eq!(plan(AVX512, p).arithmetic, Arithmetic::F32);
        assert_eq!(plan(&format!("{AVX512},+avx512bf16"), p).arithmetic, Arithmetic::Bf16Pairs);
        let amx = plan(&format!("{AVX512},+amx-tile,+amx-bf16"), p);
        assert_eq!((amx.arithmetic, amx.uses_amx()), (Arithmetic::AmxBf16, true));
    }

    #[test]
    fn blocks_never_exceed_the_matrix() {
        for m in [1, 2, 4, 8, 16, 64] {
            for n in [1, 2, 4, 8, 16, 64] {
                let plan = plan(AVX512, problem(m, n, 16, Scalar::F32, Scalar::F32));
                assert!(plan.block.rows <= plan.problem.m && plan.block.cols() <= plan.problem.n, "{m} x {n}");
            }
        }
    }
}
