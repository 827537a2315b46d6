//! Conversion plans, run on a machine that follows every element.

use std::collections::HashMap;

use proptest::prelude::*;
use shoal_layout::banks::ideal_wavefronts;
use shoal_layout::{
    AccessKind, Barrier, ConversionOptions, ConversionPlan, Direction, InDim, LayoutError, LinearLayout, MatrixAccess,
    MatrixOrder, MemoryPlan, MfmaProduct, MfmaShape, MmaShape, Operand, Swizzle,
};

use crate::machine::check;

const PLENTY: u32 = 1 << 30;

fn options(element_bits: u32) -> ConversionOptions {
    ConversionOptions { element_bits, matrix: MatrixAccess::LoadAndStore, scratch_bytes: PLENTY }
}

fn plan(from: &LinearLayout, to: &LinearLayout, element_bits: u32) -> ConversionPlan {
    let plan = from.plan_conversion(to, options(element_bits)).unwrap();
    check(from, to, &plan).unwrap_or_else(|problem| panic!("{problem}\nfrom {from}\nto   {to}\n{plan:#?}"));
    plan
}

fn memory(from: &LinearLayout, to: &LinearLayout, element_bits: u32) -> MemoryPlan {
    match plan(from, to, element_bits) {
        ConversionPlan::Memory(plan) => plan,
        other => panic!("not through memory: {other:?}"),
    }
}

fn blocked(shape: &[u32], size: &[u32], threads: &[u32], warps: &[u32], order: &[usize]) -> LinearLayout {
    LinearLayout::blocked(shape, size, threads, warps, order).unwrap()
}

#[test]
fn the_nearest_means_is_taken() {
    let rows = blocked(&[64, 64], &[1, 4], &[2, 16], &[4, 1], &[1, 0]);
    assert_eq!(plan(&rows, &rows, 32), ConversionPlan::Nothing);
    let swapped = rows.divide_left(&LinearLayout::identity1d(2, InDim::Register, 1)).map(|_| {
        let mut bases: Vec<_> = InDim::ALL.into_iter().map(|dim| (dim, rows.bases(dim).collect::<Vec<_>>())).collect();
        bases[0].1.swap(0, 1);
        LinearLayout::from_bases(bases, &[64, 64]).unwrap()
    });
    let ConversionPlan::Registers(registers) = plan(&rows, &swapped.unwrap(), 32) else { panic!("registers") };
    assert!(registers.is_static());
    let other_lanes = blocked(&[64, 64], &[2, 2], &[1, 32], &[4, 1], &[1, 0]);
    assert!(matches!(plan(&rows, &other_lanes, 32), ConversionPlan::Shuffles(_)));
    let columns = blocked(&[64, 64], &[4, 1], &[16, 2], &[1, 4], &[0, 1]);
    assert_eq!(memory(&rows, &columns, 32).barrier, Barrier::Block);
}

#[test]
fn shuffles_pack_small_elements() {
    // A lane exchanges pairs: 4 registers each, of which two go together if they are halves.
    let from: LinearLayout = "#layout<register=[[1],[2]], lane=[[4],[8],[16],[32],[64]], out=[128]>".parse().unwrap();
    let to: LinearLayout = "#layout<register=[[1],[4]], lane=[[2],[8],[16],[32],[64]], out=[128]>".parse().unwrap();
    let shuffles = |bits| match plan(&from, &to, bits) {
        ConversionPlan::Shuffles(plan) => plan.shuffles(),
        other => panic!("not by shuffles: {other:?}"),
    };
    assert_eq!((shuffles(8), shuffles(16), shuffles(32), shuffles(64)), (2, 2, 4, 8));
}

#[test]
fn copies_in_the_lane_need_no_shuffle() {
    let everywhere = blocked(&[4], &[4], &[32], &[1], &[0]);
    let spread = blocked(&[4], &[1], &[32], &[1], &[0]);
    let ConversionPlan::Registers(registers) = plan(&everywhere, &spread, 32) else { panic!("registers") };
    assert!(!registers.is_static(), "which register it is depends on the lane");
}

#[test]
fn a_transposition_has_no_bank_conflicts() {
    for bits in [8, 16, 32, 64] {
        for (rows, columns) in [(32, 32), (64, 64), (128, 32)] {
            let along_rows = blocked(&[rows, columns], &[1, 4], &[4, 8], &[4, 1], &[1, 0]);
            let along_columns = blocked(&[rows, columns], &[4, 1], &[8, 4], &[1, 4], &[0, 1]);
            let plan = memory(&along_rows, &along_columns, bits);
            assert_eq!((plan.store.conflicts, plan.load.conflicts), (0, 0), "{rows} × {columns} of {bits} bits");
        }
    }
}

#[test]
fn accumulators_are_stored_by_matrices() {
    // The epilogue of a matmul: from the accumulator to a layout for row-major stores.
    let accumulator = LinearLayout::mma_accumulator(&[64, 64], &[4, 1], MmaShape::M16N8).unwrap();
    let rows = blocked(&[64, 64], &[1, 8], &[4, 8], &[2, 2], &[1, 0]);
    let plan = memory(&accumulator, &rows, 16);
    assert_eq!(plan.store.kind, AccessKind::Matrix { matrices: 4, order: MatrixOrder::Plain });
    assert_eq!(plan.load.kind, AccessKind::Vector { elements: 8 });
    assert_eq!((plan.store.conflicts, plan.load.conflicts), (0, 0));
    let without = ConversionOptions { matrix: MatrixAccess::Load, ..options(16) };
    let ConversionPlan::Memory(plan) = accumulator.plan_conversion(&rows, without).unwrap() else { panic!("memory") };
    assert!(matches!(plan.store.kind, AccessKind::Vector { .. }));
}

#[test]
fn operands_come_by_matrices() {
    let operand = |which, shape: &[u32]| LinearLayout::mma_operand(shape, &[2, 2], MmaShape::M16N8, which, 2).unwrap();
    let kind = |from: LinearLayout, which| {
        let plan = memory(&from, &operand(which, &from.shape()), 16);
        assert_eq!((plan.store.conflicts, plan.load.conflicts), (0, 0));
        plan.load.kind
    };
    let rows = |shape| blocked(shape, &[1, 8], &[4, 8], &[4, 1], &[1, 0]);
    let columns = |shape| blocked(shape, &[8, 1], &[8, 4], &[1, 4], &[0, 1]);
    let by = |order| AccessKind::Matrix { matrices: 4, order };
    assert_eq!(kind(rows(&[32, 64]), Operand::A), by(MatrixOrder::Plain));
    assert_eq!(kind(columns(&[64, 32]), Operand::A), by(MatrixOrder::Transposed));
    assert_eq!(kind(rows(&[32, 64]), Operand::B), by(MatrixOrder::Transposed));
    assert_eq!(kind(columns(&[64, 16]), Operand::B), by(MatrixOrder::Plain));
}

#[test]
fn operands_out_of_a_swizzled_buffer() {
    // What a pipelined matmul does: a tile of A in shared memory, swizzled for `ldmatrix`.
    let swizzle = Swizzle { vec: 8, per_phase: 1, max_phase: 8 };
    let buffer = LinearLayout::swizzled_shared(&[128, 64], &[1, 0], swizzle).unwrap();
    let flat = LinearLayout::swizzled_shared(&[128, 64], &[1, 0], Swizzle::NONE).unwrap();
    let operand = LinearLayout::mma_operand(&[128, 64], &[4, 1], MmaShape::M16N8, Operand::A, 2).unwrap();
    let access = |buffer: &LinearLayout, matrix| operand.access(buffer, 16, Direction::Load, matrix).unwrap();
    let matrices = access(&buffer, MatrixAccess::Load);
    assert_eq!(matrices.kind, AccessKind::Matrix { matrices: 4, order: MatrixOrder::Plain });
    assert_eq!((matrices.wavefronts, matrices.conflicts), (4, 0));
    assert_eq!(access(&flat, MatrixAccess::Load).conflicts, 28, "without a swizzle the eight rows share their banks");
    assert_eq!(access(&buffer, MatrixAccess::None).kind, AccessKind::Vector { elements: 2 });
}

#[test]
fn large_tiles_go_in_passes() {
    let rows = blocked(&[128, 128], &[1, 4], &[1, 32], &[4, 1], &[1, 0]);
    let columns = blocked(&[128, 128], &[1, 1], &[32, 1], &[1, 4], &[0, 1]);
    let small = ConversionOptions { scratch_bytes: 16 << 10, ..options(32) };
    let full = memory(&rows, &columns, 32);
    assert_eq!((full.passes(), full.scratch_bytes()), (1, 64 << 10));
    let plan = rows.plan_conversion(&columns, small).unwrap();
    check(&rows, &columns, &plan).unwrap();
    let ConversionPlan::Memory(passes) = plan else { panic!("through memory") };
    assert_eq!((passes.passes(), passes.scratch_bytes()), (4, 16 << 10));
    let tiny = ConversionOptions { scratch_bytes: 64, ..options(32) };
    assert!(matches!(rows.plan_conversion(&columns, tiny), Err(LayoutError::ScratchTooSmall { available: 64, .. })));
}

#[test]
fn blocks_keep_what_is_theirs() {
    let block = LinearLayout::identity1d(2, InDim::Block, 0);
    let rows = blocked(&[32, 32], &[1, 4], &[4, 8], &[4, 1], &[1, 0]) * block.clone();
    let columns = blocked(&[32, 32], &[4, 1], &[8, 4], &[1, 4], &[0, 1]) * block.clone();
    let through = memory(&rows, &columns, 32);
    assert_eq!(through.scratch_bytes(), 4 << 10, "each block has a buffer for its half");
    let elsewhere = block * blocked(&[32, 32], &[4, 1], &[8, 4], &[1, 4], &[0, 1]);
    assert_eq!(rows.plan_conversion(&elsewhere, options(32)), Err(LayoutError::BetweenBlocks));
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let one = blocked(&[64], &[1], &[32], &[2], &[0]);
    let two = blocked(&[64], &[1], &[32], &[4], &[0]);
    assert_eq!(one.plan_conversion(&two, options(32)), Err(LayoutError::PlacesDiffer { dim: InDim::Warp }));
    assert_eq!(one.plan_conversion(&one, options(4)), Err(LayoutError::ElementBits { bits: 4 }));
}

/// The layouts that a kernel with four warps gives a 64 × 64 tile.
fn layouts_of_a_kernel() -> Vec<(&'static str, LinearLayout)> {
    let shape = [64, 64];
    let operand = |which| LinearLayout::mma_operand(&shape, &[2, 2], MmaShape::M16N8, which, 2).unwrap();
    vec![
        ("rows", blocked(&shape, &[1, 8], &[4, 8], &[4, 1], &[1, 0])),
        ("columns", blocked(&shape, &[8, 1], &[8, 4], &[1, 4], &[0, 1])),
        ("mma", LinearLayout::mma_accumulator(&shape, &[2, 2], MmaShape::M16N8).unwrap()),
        ("mma a", operand(Operand::A)),
        ("mma b", operand(Operand::B)),
        ("wgmma", LinearLayout::wgmma_accumulator(&shape, &[4, 1], 64).unwrap()),
        ("wgmma a", LinearLayout::wgmma_operand(&shape, &[4, 1], 2).unwrap()),
        ("one row each", blocked(&shape, &[1, 64], &[32, 1], &[2, 2], &[1, 0])),
    ]
}

#[test]
fn layouts_of_a_kernel_convert_without_conflicts() {
    for (from_name, from) in layouts_of_a_kernel() {
        for (to_name, to) in layouts_of_a_kernel() {
            for bits in [8, 16, 32] {
                let text = plan(&from, &to, bits).to_string();
                assert!(!text.contains("conflict"), "{from_name} to {to_name}, {bits} bits: {text}");
            }
        }
    }
}

#[test]
fn plans_in_words() {
    let layouts: HashMap<&str, LinearLayout> = layouts_of_a_kernel().into_iter().collect();
    let text = |from: &str, to: &str, bits| plan(&layouts[from], &layouts[to], bits).to_string();
    let expected = [
        ("wgmma", "wgmma a", 16, "nothing"),
        ("mma a", "mma", 16, "registers by lane"),
        ("mma b", "mma", 16, "16 shuffles of 2 × 16 bits, selected by lane"),
        ("mma", "rows", 16, "memory of 8192 bytes: store 4 × stmatrix.x4, load 4 × 16 bytes"),
        ("rows", "mma b", 16, "memory of 8192 bytes: store 4 × 16 bytes, load 8 × ldmatrix.x4.trans"),
        ("rows", "columns", 32, "memory of 16384 bytes: store 8 × 16 bytes, load 32 × 4 bytes"),
        ("rows", "columns", 8, "memory of 4096 bytes: store 2 × 16 bytes, load 32 × 1 byte"),
    ];
    for (from, to, bits, plan) in expected {
        assert_eq!(text(from, to, bits), plan, "from {from} to {to}");
    }
}

#[test]
fn slices_of_two_layouts_convert() {
    let layouts = layouts_of_a_kernel();
    for out in [0, 1] {
        for (_, from) in &layouts {
            for (_, to) in &layouts {
                plan(&from.slice(out).unwrap(), &to.slice(out).unwrap(), 32);
            }
        }
    }
}

#[test]
fn wavefronts_of_64_lanes() {
    let accumulator =
        LinearLayout::mfma_accumulator(&[64, 64], &[2, 2], MfmaShape::M32N32, MfmaProduct::Plain).unwrap();
    let rows = blocked(&[64, 64], &[1, 4], &[4, 16], &[4, 1], &[1, 0]);
    let operand = LinearLayout::mfma_operand(&[64, 64], &[2, 2], MfmaShape::M32N32, Operand::A, 4).unwrap();
    for (from, to) in [(&accumulator, &rows), (&rows, &operand), (&accumulator, &operand)] {
        let plan = memory(from, to, 16);
        assert_eq!((plan.store.conflicts, plan.load.conflicts), (0, 0), "{plan}");
        assert!(matches!((plan.store.kind, plan.load.kind), (AccessKind::Vector { .. }, AccessKind::Vector { .. })));
    }
}

/// How many index bits registers, lanes and warps have.
type Sizes = [usize; 3];

/// A layout of `1 << bits` elements on so many places, dealt out of these columns.
fn deal(columns: &[u64], sizes: Sizes, bits: usize) -> LinearLayout {
    let mut columns = columns.iter().map(|&column| vec![column as u32]);
    let dims = [InDim::Register, InDim::Lane, InDim::Warp];
    let bases: Vec<_> =
        dims.into_iter().zip(sizes).map(|(dim, size)| (dim, columns.by_ref().take(size).collect())).collect();
    LinearLayout::from_bases(bases, &[1 << bits]).unwrap()
}

/// Columns that span all bits: a shuffled basis, mixed by `steps`, and further columns that make copies.
fn columns(bits: usize, count: usize, mixed: bool) -> impl Strategy<Value = Vec<u64>> {
    let extra = if mixed { (0..1u64 << bits).boxed() } else { Just(0).boxed() };
    let basis: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
    let steps = prop::collection::vec((0..bits, 0..bits), if mixed { 0..20 } else { 0..1 });
    (Just(basis), steps, prop::collection::vec(extra, count - bits))
        .prop_map(move |(mut columns, steps, extra)| {
            for (to, from) in steps.into_iter().filter(|(to, from)| mixed && to != from) {
                columns[to] ^= columns[from];
            }
            columns.extend(extra);
            columns
        })
        .prop_shuffle()
}

/// Two layouts of the same tile on the same lanes and warps.
fn pair(mixed: bool) -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    (0usize..5, 0usize..5, prop::sample::select(vec![3usize, 5, 5, 6]), 0usize..3, 0usize..4).prop_flat_map(
        move |(from_registers, to_registers, lanes, warps, copies)| {
            let smaller = from_registers.min(to_registers) + lanes + warps;
            let bits = smaller.saturating_sub(copies).max(1);
            let (from, to) = ([from_registers, lanes, warps], [to_registers, lanes, warps]);
            let count = |sizes: Sizes| sizes.iter().sum::<usize>();
            (columns(bits, count(from), mixed), columns(bits, count(to), mixed))
                .prop_map(move |(one, other)| (deal(&one, from, bits), deal(&other, to, bits)))
        },
    )
}

/// Two layouts that differ within each warp only: registers and lanes of the second are sums of those of the first.
fn pair_in_warp() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    (1usize..5, 0usize..3, 0usize..3).prop_flat_map(|(registers, warps, copies)| {
        let inside = registers + 5;
        let bits = inside + warps - copies.min(inside - 1);
        let steps = prop::collection::vec((0..inside, 0..inside), 0..24);
        let own = (Just((0..inside).collect::<Vec<usize>>()).prop_shuffle(), steps);
        let shift = prop::collection::vec(0..1u64 << inside, warps);
        (columns(bits, inside + warps, true), own, shift).prop_map(move |(from, (order, steps), shift)| {
            let mut to: Vec<u64> = order.iter().map(|&at| from[at]).collect();
            for (to_at, from_at) in steps.into_iter().filter(|(a, b)| a != b) {
                to[to_at] ^= to[from_at];
            }
            let warp = shift.iter().enumerate().map(|(bit, &sum)| {
                (0..inside).filter(|at| sum >> at & 1 == 1).fold(from[inside + bit], |total, at| total ^ from[at])
            });
            let to: Vec<u64> = to.iter().copied().chain(warp).collect();
            let sizes = [registers, 5, warps];
            (deal(&from, sizes, bits), deal(&to, sizes, bits))
        })
    })
}

fn element_bits() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![8u32, 16, 32, 64])
}

fn matrix() -> impl Strategy<Value = MatrixAccess> {
    prop::sample::select(vec![MatrixAccess::None, MatrixAccess::Load, MatrixAccess::LoadAndStore])
}

proptest! {
    #[test]
    fn every_element_arrives((from, to) in pair(true), element_bits in element_bits(), matrix in matrix()) {
        let options = ConversionOptions { element_bits, matrix, scratch_bytes: PLENTY };
        let plan = from.plan_conversion(&to, options).unwrap();
        prop_assert_eq!(check(&from, &to, &plan), Ok(()), "{:#?}", plan);
    }

    #[test]
    fn every_element_arrives_within_its_warp((from, to) in pair_in_warp(), element_bits in element_bits()) {
        let plan = from.plan_conversion(&to, options(element_bits)).unwrap();
        prop_assert_eq!(check(&from, &to, &plan), Ok(()), "{:#?}", plan);
        let through_memory = matches!(plan, ConversionPlan::Memory(_));
        prop_assert!(!through_memory || !from.is_injective(), "without copies shuffles always do");
    }

    #[test]
    fn bank_conflicts_cost_nothing((from, to) in pair(false), element_bits in element_bits(), matrix in matrix()) {
        let options = ConversionOptions { element_bits, matrix, scratch_bytes: PLENTY };
        let plan = from.plan_conversion(&to, options).unwrap();
        prop_assert_eq!(check(&from, &to, &plan), Ok(()), "{:#?}", plan);
        if let ConversionPlan::Memory(plan) = plan {
            // A wider instruction may have a conflict if it still takes no longer.
            let ideal = |layout: &LinearLayout| {
                let kept = layout.in_size(InDim::Register) >> layout.free_variable_masks().register.count_ones();
                kept * ideal_wavefronts(layout.in_size(InDim::Lane) as usize, element_bits / 8)
            };
            prop_assert!(plan.store.cost().0 + plan.load.cost().0 <= ideal(&from) + ideal(&to), "{:#?}", plan);
            if element_bits >= 32 && from.is_injective() && to.is_injective() {
                prop_assert_eq!((plan.store.conflicts, plan.load.conflicts), (0, 0), "{:#?}", plan);
            }
        }
    }

    #[test]
    fn passes_bring_every_element(
        (from, to) in pair(false), element_bits in element_bits(), scratch in 8u32..14
    ) {
        let options = ConversionOptions { element_bits, matrix: MatrixAccess::LoadAndStore, scratch_bytes: 1 << scratch };
        match from.plan_conversion(&to, options) {
            Ok(plan) => prop_assert_eq!(check(&from, &to, &plan), Ok(()), "{:#?}", plan),
            Err(problem) => prop_assert!(matches!(problem, LayoutError::ScratchTooSmall { .. }), "{}", problem),
        }
    }
}
