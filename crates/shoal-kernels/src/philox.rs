//! Philox 4x32-10, the generator behind `tl.rand`, written from its definition.

const MULTIPLY: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four outputs for a counter and a key.
pub(crate) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let product = |i: usize, c: u32| u64::from(MULTIPLY[i]) * u64::from(c);
        let (first, second) = (product(0, counter[0]), product(1, counter[2]));
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// `tl.rand(seed, offset)` for a 32-bit offset.
pub(crate) fn uniform(seed: u64, offset: u32) -> f32 {
    let bits = philox([offset, 0, 0, 0], [seed as u32, (seed >> 32) as u32])[0].cast_signed();
    // Negative numbers are folded over: 31 bits are left, scaled so that 1 is not reached.
    (if bits < 0 { -(bits + 1) } else { bits }) as f32 * 4.656_612_7e-10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the generator's authors publish.
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval() {
        let all: Vec<f32> = (0..10_000).map(|at| uniform(7, at)).collect();
        assert!(all.iter().all(|x| (0.0..1.0).contains(x)));
        let mean = all.iter().sum::<f32>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
