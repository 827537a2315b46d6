//! What is in memory before a kernel runs.

use shoal_ir::Scalar;

use super::choices::Choices;

/// Bits of a number: often a small or a special one, else any.
pub(crate) fn number(choices: &mut Choices, ty: Scalar) -> u64 {
    let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
    let small = choices.below(17) as i64 - 8;
    let const_of = |value| shoal_ir::Const::from_i64(ty, value).bits();
    match choices.below(8) {
        0..=3 => const_of(small),
        4 if ty.is_float() => {
            let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5, 1e-40, -2.5, 1e30];
            shoal_ir::Const::from_f64(ty, choices.of(&special)).bits()
        }
        4 => choices.of(&[0, 1, mask, mask >> 1, (mask >> 1) + 1, 2]) & mask,
        _ => choices.bits() & mask,
    }
}

/// The bytes of `count` numbers.
pub(crate) fn fill(choices: &mut Choices, ty: Scalar, count: usize) -> Vec<u8> {
    let size = ty.bytes() as usize;
    (0..count).flat_map(|_| number(choices, ty).to_le_bytes()[..size].to_vec()).collect()
}
