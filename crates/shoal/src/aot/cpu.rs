//! The features that a CPU must have to run code for a target: what is checked when the code is loaded.
//!
//! AMX is not among them: only few kernels use it, and the driver asks for it when one is launched.

use shoal_codegen::cpu::Target;

const V2: &[&str] = &["popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"];
const V3: &[&str] = &["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"];
const V4: &[&str] = &["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"];
const ICE: &[&str] =
    &["avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512vpopcntdq", "gfni"];
const OTHER: &[&str] =
    &["avx512bf16", "avx512fp16", "avxifma", "avxneconvert", "avxvnni", "avxvnniint16", "avxvnniint8", "sse4a"];

/// The features by the driver's names, sorted.
pub(crate) fn required(target: &Target) -> Vec<&'static str> {
    let groups: &[&[&'static str]] = match target.cpu() {
        "x86-64" => &[],
        "x86-64-v2" => &[V2],
        "x86-64-v3" | "haswell" | "broadwell" | "skylake" => &[V2, V3],
        "alderlake" | "raptorlake" => &[V2, V3, &["avxvnni", "gfni"]],
        "x86-64-v4" | "skylake-avx512" => &[V2, V3, V4],
        "cascadelake" => &[V2, V3, V4, &["avx512vnni"]],
        "cooperlake" => &[V2, V3, V4, &["avx512bf16", "avx512vnni"]],
        "icelake-client" | "icelake-server" | "tigerlake" => &[V2, V3, V4, ICE],
        "sapphirerapids" | "emeraldrapids" | "graniterapids" => {
            &[V2, V3, V4, ICE, &["avx512bf16", "avx512fp16", "avxvnni"]]
        }
        "znver1" | "znver2" | "znver3" => &[V2, V3, &["sse4a"]],
        "znver4" => &[V2, V3, V4, ICE, &["avx512bf16", "sse4a"]],
        "znver5" => &[V2, V3, V4, ICE, &["avx512bf16", "avxvnni", "sse4a"]],
        _ => &[],
    };
    let known = [V2, V3, V4, ICE, OTHER].concat();
    // This machine's target lists its features; the last mention of one counts.
    let mentioned = |name: &str| {
        let llvm = if name == "bmi1" { "bmi" } else { name };
        target.features().split(',').rev().find(|f| f.get(1..) == Some(llvm)).map(|f| f.starts_with('+'))
    };
    let named = groups.concat();
    let mut all: Vec<&'static str> =
        known.into_iter().filter(|name| mentioned(name).unwrap_or(named.contains(name))).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_driver::cpu::host_features;

    #[test]
    fn this_machine_has_what_code_for_it_needs() {
        let required = required(&Target::host());
        let missing: Vec<_> = required.iter().filter(|name| !host_features().has(name)).collect();
        assert!(missing.is_empty(), "{missing:?} are not detected");
        assert!(!required.is_empty());
    }

    #[test]
    fn a_level_has_what_the_ones_below_have() {
        let of = |cpu: &str| required(&Target::named(cpu, ""));
        assert!(of("x86-64").is_empty());
        assert_eq!(of("x86-64-v2"), V2);
        for (lower, higher) in [("x86-64-v2", "x86-64-v3"), ("x86-64-v3", "x86-64-v4"), ("x86-64-v4", "znver4")] {
            assert!(of(lower).iter().all(|name| of(higher).contains(name)), "{lower} {higher}");
            assert!(of(lower).len() < of(higher).len());
        }
        assert!(of("sapphirerapids").contains(&"avx512fp16") && !of("sapphirerapids").contains(&"amx-tile"));
    }

    #[test]
    fn features_that_are_added_or_taken_away_count() {
        assert_eq!(required(&Target::named("x86-64", "+avx2,+bmi")), ["avx2", "bmi1"]);
        assert!(!required(&Target::named("x86-64-v3", "-fma")).contains(&"fma"));
    }
}
