//! What a CPU's vector unit can do, as far as code is written differently for it.

use shoal_abi::CpuTarget;

/// The vector instructions that code may use. Made from the target that LLVM's machine is made from, so that both are
/// told the same.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each feature of a CPU is there or not, independently of the others")]
pub(crate) struct Isa {
    /// Width of the registers to use: 128, 256 or 512.
    pub(crate) vector_bits: u32,
    /// Fused multiply-add.
    pub(crate) fma: bool,
    /// Conversion between `f16` and `f32`.
    pub(crate) f16c: bool,
    /// The AVX-512 that every such server CPU has: F, BW, DQ and VL.
    pub(crate) avx512: bool,
    /// Sums of two products of `bf16`, at a rate that beats converting to `f32`.
    pub(crate) avx512_bf16: bool,
    /// Conversion of `f32` to `bf16`, which makes zeros of subnormal numbers.
    pub(crate) bf16_rounding: bool,
    /// Sums of two products of 16-bit integers.
    pub(crate) avx512_vnni: bool,
    /// Products of tiles of `bf16`.
    pub(crate) amx_bf16: bool,
    /// Products of tiles of 8-bit integers.
    pub(crate) amx_int8: bool,
}

impl Isa {
    /// What code for this CPU may use.
    pub(crate) fn of(target: &CpuTarget) -> Isa {
        let has = |feature: &str| target.has(feature);
        let avx512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has);
        let avx2 = avx512 || has("avx2");
        Isa {
            vector_bits: if avx512 {
                512
            } else if avx2 {
                256
            } else {
                128
            },
            fma: avx512 || has("fma"),
            f16c: avx512 || has("f16c"),
            avx512,
            // Intel's cores that also have FP16 run it at a quarter of the rate of multiply-adds (87 GFLOP/s where f32
            // has 171); AMD's run it at full rate and have no FP16.
            avx512_bf16: avx512 && has("avx512bf16") && !has("avx512fp16"),
            bf16_rounding: avx512 && has("avx512bf16"),
            avx512_vnni: avx512 && has("avx512vnni"),
            amx_bf16: avx512 && has("amx-tile") && has("amx-bf16"),
            amx_int8: avx512 && has("amx-tile") && has("amx-int8"),
        }
    }

    /// What a CPU with these features beyond the first x86-64 may use, in LLVM's spelling: `+avx2,+fma`.
    pub(crate) fn from_features(features: &str) -> Isa {
        Isa::of(&CpuTarget::new("x86-64", features))
    }

    /// How many elements of `bits` fit a register; at least 1.
    pub(crate) fn lanes(&self, bits: u32) -> u32 {
        (self.vector_bits / bits).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuTarget, Isa};

    fn of_cpu(name: &str, features: &str) -> Isa {
        Isa::of(&CpuTarget::new(name, features))
    }

    #[test]
    fn widths_follow_features() {
        assert_eq!(Isa::from_features("").vector_bits, 128);
        assert_eq!(Isa::from_features("+sse4.2,+avx2,+fma,+f16c").vector_bits, 256);
        let wide = Isa::from_features("+avx512f,+avx512bw,+avx512dq,+avx512vl");
        assert_eq!((wide.vector_bits, wide.fma, wide.amx_bf16), (512, true, false));
        assert_eq!((wide.lanes(32), wide.lanes(64), wide.lanes(8)), (16, 8, 64));
    }

    #[test]
    fn a_part_of_avx512_is_not_enough() {
        assert_eq!(Isa::from_features("+avx2,+avx512f").vector_bits, 256);
    }

    #[test]
    fn the_last_mention_counts() {
        assert!(!Isa::from_features("+fma,-fma").fma);
        assert!(Isa::from_features("-fma, +fma").fma);
    }

    #[test]
    fn a_name_stands_for_its_features() {
        let v3 = of_cpu("x86-64-v3", "");
        assert_eq!((v3.vector_bits, v3.fma, v3.f16c), (256, true, true));
        assert!(of_cpu("sapphirerapids", "").amx_int8);
        assert!(!of_cpu("sapphirerapids", "-amx-tile").amx_int8);
        assert_eq!(of_cpu("znver4", "-avx512f").vector_bits, 256);
        assert!(of_cpu("znver4", "").avx512_bf16);
        assert_eq!(of_cpu("unheard-of", "+avx2").vector_bits, 256);
    }

    #[test]
    fn tiles_need_their_registers() {
        let avx512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-bf16";
        assert!(!Isa::from_features(avx512).amx_bf16);
        assert!(Isa::from_features(&format!("{avx512},+amx-tile")).amx_bf16);
    }
}
