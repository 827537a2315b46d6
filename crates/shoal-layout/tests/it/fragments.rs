//! Fragments of matrix instructions, against the index formulas of the manuals (the PTX ISA's "Matrix Fragments for mma"
//! and "Register Fragments for wgmma", AMD's CDNA ISA), written down here one by one.

use shoal_layout::{InDim, LayoutError, LinearLayout, MfmaProduct, MfmaShape, MmaShape, Operand, Place};

/// Compares every place of one instruction with a formula of (element `i`, lane) for row and column.
fn check(layout: &LinearLayout, formula: impl Fn(u32, u32) -> [u32; 2]) {
    for lane in 0..layout.in_size(InDim::Lane) {
        for i in 0..layout.in_size(InDim::Register) {
            let place = Place { register: i, lane, ..Place::default() };
            assert_eq!(layout.apply(place), formula(i, lane), "element {i} of lane {lane} in {layout}");
        }
    }
    assert!(layout.is_bijective());
}

fn group(lane: u32) -> u32 {
    lane >> 2
}

fn in_group(lane: u32) -> u32 {
    lane % 4
}

#[test]
fn mma_m16n8_accumulator() {
    let layout = LinearLayout::mma_accumulator(&[16, 8], &[1, 1], MmaShape::M16N8).unwrap();
    assert_eq!((layout.in_size(InDim::Lane), layout.in_size(InDim::Register)), (32, 4));
    check(&layout, |i, lane| {
        let row = if i < 2 { group(lane) } else { group(lane) + 8 };
        [row, in_group(lane) * 2 + (i & 1)]
    });
}

#[test]
fn mma_m8n8k4_of_f64() {
    let accumulator = LinearLayout::mma_accumulator(&[8, 8], &[1, 1], MmaShape::M8N8).unwrap();
    check(&accumulator, |i, lane| [group(lane), in_group(lane) * 2 + (i & 1)]);
    let operand = |shape: [u32; 2], operand| LinearLayout::mma_operand(&shape, &[1, 1], MmaShape::M8N8, operand, 1);
    check(&operand([8, 4], Operand::A).unwrap(), |_, lane| [group(lane), in_group(lane)]);
    check(&operand([4, 8], Operand::B).unwrap(), |_, lane| [in_group(lane), group(lane)]);
}

fn a(k: u32, k_width: u32) -> LinearLayout {
    LinearLayout::mma_operand(&[16, k], &[1, 1], MmaShape::M16N8, Operand::A, k_width).unwrap()
}

fn b(k: u32, k_width: u32) -> LinearLayout {
    LinearLayout::mma_operand(&[k, 8], &[1, 1], MmaShape::M16N8, Operand::B, k_width).unwrap()
}

#[test]
fn mma_m16n8k8_of_tf32() {
    check(&a(8, 1), |i, lane| {
        let row = if i == 0 || i == 2 { group(lane) } else { group(lane) + 8 };
        [row, if i < 2 { in_group(lane) } else { in_group(lane) + 4 }]
    });
    check(&b(8, 1), |i, lane| [if i == 0 { in_group(lane) } else { in_group(lane) + 4 }, group(lane)]);
}

#[test]
fn mma_m16n8k16_of_16_bits() {
    check(&a(16, 2), |i, lane| {
        let row = if i < 2 || (4..6).contains(&i) { group(lane) } else { group(lane) + 8 };
        let column = in_group(lane) * 2 + (i & 1);
        [row, if i < 4 { column } else { column + 8 }]
    });
    check(&b(16, 2), |i, lane| {
        let row = in_group(lane) * 2 + (i & 1);
        [if i < 2 { row } else { row + 8 }, group(lane)]
    });
}

#[test]
fn mma_m16n8k32_of_8_bits() {
    check(&a(32, 4), |i, lane| {
        let row = if i < 4 || (8..12).contains(&i) { group(lane) } else { group(lane) + 8 };
        let column = in_group(lane) * 4 + (i & 3);
        [row, if i < 8 { column } else { column + 16 }]
    });
    check(&b(32, 4), |i, lane| {
        let row = in_group(lane) * 4 + (i & 3);
        [if i < 4 { row } else { row + 16 }, group(lane)]
    });
}

#[test]
fn mma_m16n8k16_of_f64() {
    check(&a(16, 1), |i, lane| {
        let row = if i % 2 == 0 { group(lane) } else { group(lane) + 8 };
        [row, i * 2 - (i % 2) * 2 + in_group(lane)]
    });
    check(&b(16, 1), |i, lane| [in_group(lane) + i * 4, group(lane)]);
}

#[test]
fn wgmma_accumulators() {
    for n in [8, 16, 32, 64, 128, 256] {
        let layout = LinearLayout::wgmma_accumulator(&[64, n], &[4, 1], n).unwrap();
        assert!(layout.is_bijective());
        for thread in 0..128 {
            for i in 0..n / 2 {
                let place = Place { register: i, lane: thread % 32, warp: thread / 32, ..Place::default() };
                let row = 16 * (thread / 32) + (thread % 32) / 4 + 8 * ((i / 2) % 2);
                let column = 8 * (i / 4) + 2 * (thread % 4) + (i & 1);
                assert_eq!(layout.apply(place), [row, column], "d{i} of thread {thread}, n = {n}");
            }
        }
    }
}

#[test]
fn wgmma_operand_in_registers() {
    for (k, k_width) in [(8, 1), (16, 2), (32, 4)] {
        let layout = LinearLayout::wgmma_operand(&[64, k], &[4, 1], k_width).unwrap();
        assert!(layout.is_bijective());
        for thread in 0..128 {
            for i in 0..k / 2 {
                let place = Place { register: i, lane: thread % 32, warp: thread / 32, ..Place::default() };
                let word = i / k_width;
                let row = 16 * (thread / 32) + (thread % 32) / 4 + 8 * (word % 2);
                let column = (thread % 4) * k_width + i % k_width + 4 * k_width * (word / 2);
                assert_eq!(layout.apply(place), [row, column], "a{i} of thread {thread}, k = {k}");
            }
        }
    }
}

#[test]
fn warps_and_repetitions_of_an_accumulator() {
    // 2 × 2 warps on 64 × 64: each warp holds two rows of four instructions.
    let layout = LinearLayout::mma_accumulator(&[64, 64], &[2, 2], MmaShape::M16N8).unwrap();
    assert!(layout.is_bijective());
    for warp in 0..4 {
        for register in 0..32 {
            let (lane, i, along_n, along_m) = (13, register % 4, register / 4 % 4, register / 16);
            let place = Place { register, lane, warp, ..Place::default() };
            let row = group(lane) + 8 * (i / 2) + 16 * (warp / 2) + 32 * along_m;
            let column = in_group(lane) * 2 + i % 2 + 8 * (warp % 2) + 16 * along_n;
            assert_eq!(layout.apply(place), [row, column]);
        }
    }
}

#[test]
fn operands_follow_the_warps_of_their_accumulator() {
    let warps = [2, 4];
    let accumulator = LinearLayout::mma_accumulator(&[32, 32], &warps, MmaShape::M16N8).unwrap();
    let operand = |operand, shape| LinearLayout::mma_operand(shape, &warps, MmaShape::M16N8, operand, 2).unwrap();
    let (a, b) = (operand(Operand::A, &[32, 16]), operand(Operand::B, &[16, 32]));
    for warp in 0..8 {
        let at = |layout: &LinearLayout| layout.apply(Place::along(InDim::Warp, warp));
        assert_eq!(at(&a)[0], at(&accumulator)[0], "warp {warp} multiplies its own rows");
        assert_eq!(at(&b)[1], at(&accumulator)[1], "warp {warp} multiplies its own columns");
    }
    assert_eq!(a.free_variable_masks().warp, 0b011, "warps along N hold the same rows");
    assert_eq!(b.free_variable_masks().warp, 0b100, "warps along M hold the same columns");
    let wgmma = LinearLayout::wgmma_operand(&[128, 16], &[8, 2], 2).unwrap();
    let accumulator = LinearLayout::wgmma_accumulator(&[128, 64], &[8, 2], 32).unwrap();
    for warp in 0..16 {
        let place = Place::along(InDim::Warp, warp);
        assert_eq!(wgmma.apply(place)[0], accumulator.apply(place)[0]);
    }
}

#[test]
fn batches_of_matrices() {
    let layout = LinearLayout::mma_accumulator(&[4, 16, 16], &[2, 1, 2], MmaShape::M16N8).unwrap();
    assert!(layout.is_bijective());
    let at = |warp, register| layout.apply(Place { warp, register, ..Place::default() });
    assert_eq!((at(1, 0), at(2, 0), at(0, 4)), (vec![0, 0, 8], vec![1, 0, 0], vec![2, 0, 0]));
}

#[test]
fn tiles_smaller_than_the_instruction_are_copied() {
    let layout = LinearLayout::mma_accumulator(&[8, 8], &[1, 2], MmaShape::M16N8).unwrap();
    assert!(layout.is_surjective());
    assert_eq!(layout.in_size(InDim::Register), 4, "an instruction's registers are complete");
    assert_eq!(layout.free_variable_masks(), Place { register: 0b10, warp: 1, ..Place::default() });
}

#[test]
fn mfma_accumulators() {
    let layout = |shape: [u32; 2], instruction, product| {
        LinearLayout::mfma_accumulator(&shape, &[1, 1], instruction, product).unwrap()
    };
    let large = |i: u32, lane: u32| [8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32];
    let small = |i: u32, lane: u32| [4 * (lane / 16) + i, lane % 16];
    let double = |i: u32, lane: u32| [4 * i + lane / 16, lane % 16];
    check(&layout([32, 32], MfmaShape::M32N32, MfmaProduct::Plain), large);
    check(&layout([16, 16], MfmaShape::M16N16, MfmaProduct::Plain), small);
    check(&layout([16, 16], MfmaShape::M16N16F64, MfmaProduct::Plain), double);
    let turn = |[row, column]: [u32; 2]| [column, row];
    check(&layout([32, 32], MfmaShape::M32N32, MfmaProduct::Transposed), |i, lane| turn(large(i, lane)));
    check(&layout([16, 16], MfmaShape::M16N16, MfmaProduct::Transposed), |i, lane| turn(small(i, lane)));
}

#[test]
fn mfma_operands() {
    let operand = |shape: [u32; 2], instruction, operand, k_width| {
        LinearLayout::mfma_operand(&shape, &[1, 1], instruction, operand, k_width).unwrap()
    };
    // v_mfma_f32_32x32x8_f16 and v_mfma_f32_16x16x16_f16: four halves along K in each lane.
    check(&operand([32, 8], MfmaShape::M32N32, Operand::A, 4), |i, lane| [lane % 32, 4 * (lane / 32) + i]);
    check(&operand([16, 16], MfmaShape::M16N16, Operand::A, 4), |i, lane| [lane % 16, 4 * (lane / 16) + i]);
    check(&operand([16, 16], MfmaShape::M16N16, Operand::B, 4), |i, lane| [4 * (lane / 16) + i, lane % 16]);
    // v_mfma_f64_16x16x4_f64: one double.
    check(&operand([16, 4], MfmaShape::M16N16F64, Operand::A, 1), |_, lane| [lane % 16, lane / 16]);
}

#[test]
fn what_an_instruction_cannot_do_is_refused() {
    let reason = |result: Result<LinearLayout, LayoutError>| result.unwrap_err().to_string();
    assert_eq!(
        reason(LinearLayout::wgmma_accumulator(&[64, 64], &[2, 2], 64)),
        "`wgmma` needs four warps, or a multiple of them, along M"
    );
    assert_eq!(
        reason(LinearLayout::wgmma_accumulator(&[64, 64], &[4, 1], 48)),
        "as a layout, N of `wgmma` is a power of two from 8 to 256"
    );
    assert_eq!(
        reason(LinearLayout::mma_operand(&[16, 16], &[1, 1], MmaShape::M16N8, Operand::A, 32)),
        "a lane holds at most 16 neighbours along K"
    );
    assert_eq!(
        reason(LinearLayout::mma_accumulator(&[16], &[1], MmaShape::M16N8)),
        "the tile has 2 dimensions, but 1 numbers are given"
    );
    assert_eq!(
        reason(LinearLayout::mma_accumulator(&[16, 8], &[1, 3], MmaShape::M16N8)),
        "the size 3 is not a power of two"
    );
}
