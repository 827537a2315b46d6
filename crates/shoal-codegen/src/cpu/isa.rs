//! What a CPU's vector unit can do, as far as code is written differently for it.

/// The vector instructions that code may use. Made from LLVM's names of CPU features, so that code and target machine
/// are told the same.
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
    /// Sums of two products of 16-bit integers.
    pub(crate) avx512_vnni: bool,
    /// Products of tiles of `bf16`.
    pub(crate) amx_bf16: bool,
    /// Products of tiles of 8-bit integers.
    pub(crate) amx_int8: bool,
}

impl Isa {
    /// What a CPU with these features can do: LLVM's spelling, `+avx2,+fma,-avx512f`; the last mention of a feature
    /// counts.
    pub(crate) fn from_features(features: &str) -> Isa {
        let has = |name: &str| {
            let last = features.split(',').rev().map(str::trim).find(|f| f.get(1..) == Some(name));
            last.is_some_and(|f| f.starts_with('+'))
        };
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
            avx512_vnni: avx512 && has("avx512vnni"),
            amx_bf16: avx512 && has("amx-tile") && has("amx-bf16"),
            amx_int8: avx512 && has("amx-tile") && has("amx-int8"),
        }
    }

    /// What the CPU of this name in LLVM can do, with further features as for [`Isa::from_features`]. Of a name that is
    /// not listed here only the features count.
    pub(crate) fn of_cpu(cpu: &str, features: &str) -> Isa {
        const AVX2: &str = "+avx2,+fma,+f16c";
        const AVX512: &str = "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl";
        const VNNI: &str = "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni";
        const BF16: &str = "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni,+avx512bf16";
        const AMX: &str = "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni,+avx512bf16,+avx512fp16,\
                           +amx-tile,+amx-bf16,+amx-int8";
        let implied = match cpu {
            "x86-64-v3" | "haswell" | "broadwell" | "skylake" | "alderlake" | "raptorlake" | "meteorlake"
            | "arrowlake" | "lunarlake" | "znver1" | "znver2" | "znver3" => AVX2,
            "x86-64-v4" | "skylake-avx512" => AVX512,
            "cascadelake" | "icelake-client" | "icelake-server" | "tigerlake" | "rocketlake" => VNNI,
            "cooperlake" | "znver4" | "znver5" => BF16,
            "sapphirerapids" | "emeraldrapids" | "graniterapids" => AMX,
            _ => "",
        };
        Isa::from_features(&format!("{implied},{features}"))
    }

    /// How many elements of `bits` fit a register; at least 1.
    pub(crate) fn lanes(&self, bits: u32) -> u32 {
        (self.vector_bits / bits).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Isa;

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
        let v3 = Isa::of_cpu("x86-64-v3", "");
        assert_eq!((v3.vector_bits, v3.fma, v3.f16c), (256, true, true));
        assert!(Isa::of_cpu("sapphirerapids", "").amx_int8);
        assert!(!Isa::of_cpu("sapphirerapids", "-amx-tile").amx_int8);
        assert_eq!(Isa::of_cpu("znver4", "-avx512f").vector_bits, 256);
        assert!(Isa::of_cpu("znver4", "").avx512_bf16);
        assert_eq!(Isa::of_cpu("unheard-of", "+avx2").vector_bits, 256);
    }

    #[test]
    fn tiles_need_their_registers() {
        let avx512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-bf16";
        assert!(!Isa::from_features(avx512).amx_bf16);
        assert!(Isa::from_features(&format!("{avx512},+amx-tile")).amx_bf16);
    }
}
