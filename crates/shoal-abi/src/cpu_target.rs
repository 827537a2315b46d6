//! CPUs that code is made for: the one table of their names and features.
//!
//! Features have the names that Rust's detection gives them, which are LLVM's but for `bmi1` (LLVM: `bmi`).

/// A CPU by LLVM's name, with further features in LLVM's spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CpuTarget {
    name: String,
    features: String,
}

const V2: &[&str] = &["popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"];
const V3: &[&str] = &["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"];
const V4: &[&str] = &["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"];
const ICE: &[&str] =
    &["avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512vpopcntdq", "gfni"];
const SAPPHIRE: &[&str] = &["avx512bf16", "avx512fp16", "avxvnni"];
const AMX: &[&str] = &["amx-bf16", "amx-int8", "amx-tile"];
/// What code may need besides that no group above has.
const OTHER: &[&str] = &["avxifma", "avxneconvert", "avxvnniint16", "avxvnniint8", "sse4a"];

/// Each CPU with what it has beyond the first x86-64. LLVM ends the process on names it does not know, so only these
/// are read from users.
const CPUS: &[(&str, &[&[&str]])] = &[
    ("x86-64", &[]),
    ("x86-64-v2", &[V2]),
    ("x86-64-v3", &[V2, V3]),
    ("x86-64-v4", &[V2, V3, V4]),
    ("haswell", &[V2, V3]),
    ("broadwell", &[V2, V3]),
    ("skylake", &[V2, V3]),
    ("skylake-avx512", &[V2, V3, V4]),
    ("cascadelake", &[V2, V3, V4, &["avx512vnni"]]),
    ("cooperlake", &[V2, V3, V4, &["avx512bf16", "avx512vnni"]]),
    ("icelake-client", &[V2, V3, V4, ICE]),
    ("icelake-server", &[V2, V3, V4, ICE]),
    ("tigerlake", &[V2, V3, V4, ICE]),
    ("rocketlake", &[V2, V3, V4, ICE]),
    ("alderlake", &[V2, V3, &["avxvnni", "gfni"]]),
    ("raptorlake", &[V2, V3, &["avxvnni", "gfni"]]),
    ("meteorlake", &[V2, V3, &["avxvnni", "gfni"]]),
    ("arrowlake", &[V2, V3, &["avxifma", "avxneconvert", "avxvnni", "avxvnniint8", "gfni"]]),
    ("lunarlake", &[V2, V3, &["avxifma", "avxneconvert", "avxvnni", "avxvnniint16", "avxvnniint8", "gfni"]]),
    ("sapphirerapids", &[V2, V3, V4, ICE, SAPPHIRE, AMX]),
    ("emeraldrapids", &[V2, V3, V4, ICE, SAPPHIRE, AMX]),
    ("graniterapids", &[V2, V3, V4, ICE, SAPPHIRE, AMX]),
    ("znver1", &[V2, V3, &["sse4a"]]),
    ("znver2", &[V2, V3, &["sse4a"]]),
    ("znver3", &[V2, V3, &["sse4a"]]),
    ("znver4", &[V2, V3, V4, ICE, &["avx512bf16", "sse4a"]]),
    ("znver5", &[V2, V3, V4, ICE, &["avx512bf16", "avxvnni", "sse4a"]]),
];

impl CpuTarget {
    /// A CPU by LLVM's name (`x86-64-v3`, `sapphirerapids`) with further features (`+avx2,-avx512f`) if any. Of a name
    /// that is not in the table, as newer hosts may have, only the features count.
    #[must_use]
    pub fn new(name: &str, features: &str) -> CpuTarget {
        CpuTarget { name: name.to_owned(), features: features.to_owned() }
    }

    /// A CPU that users name; `None` if it is not in the table.
    #[must_use]
    pub fn named(name: &str) -> Option<CpuTarget> {
        CpuTarget::names().find(|known| *known == name).map(|name| CpuTarget::new(name, ""))
    }

    /// Any x86-64.
    #[must_use]
    pub fn generic() -> CpuTarget {
        CpuTarget::new("x86-64", "")
    }

    /// The names in the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CPUS.iter().map(|(name, _)| *name)
    }

    /// LLVM's name of the CPU.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// LLVM's list of further features.
    #[must_use]
    pub fn features(&self) -> &str {
        &self.features
    }

    /// Whether code for it may use a feature: the last mention in the list counts, then what the table says.
    #[must_use]
    pub fn has(&self, feature: &str) -> bool {
        let llvm = if feature == "bmi1" { "bmi" } else { feature };
        let mentioned = self.features.split(',').rev().map(str::trim).find(|f| f.get(1..) == Some(llvm));
        match mentioned {
            Some(mentioned) => mentioned.starts_with('+'),
            None => CPUS
                .iter()
                .find(|(name, _)| *name == self.name)
                .is_some_and(|(_, groups)| groups.iter().any(|group| group.contains(&feature))),
        }
    }

    /// The features that a CPU must have to run code for this one, sorted. AMX is not among them: only few kernels use
    /// it, and the description of a kernel says whether it does.
    #[must_use]
    pub fn required(&self) -> Vec<&'static str> {
        let groups = [V2, V3, V4, ICE, SAPPHIRE, OTHER];
        let mut all: Vec<&'static str> = groups.concat().into_iter().filter(|feature| self.has(feature)).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(cpu: &str) -> CpuTarget {
        CpuTarget::named(cpu).unwrap()
    }

    #[test]
    fn a_level_has_what_the_ones_below_have() {
        let of = |cpu: &str| named(cpu).required();
        assert!(of("x86-64").is_empty());
        assert_eq!(of("x86-64-v2"), V2);
        for (lower, higher) in [("x86-64-v2", "x86-64-v3"), ("x86-64-v3", "x86-64-v4"), ("x86-64-v4", "znver4")] {
            assert!(of(lower).iter().all(|name| of(higher).contains(name)), "{lower} {higher}");
            assert!(of(lower).len() < of(higher).len());
        }
        assert!(of("sapphirerapids").contains(&"avx512fp16") && !of("sapphirerapids").contains(&"amx-tile"));
        assert!(named("sapphirerapids").has("amx-tile"));
    }

    #[test]
    fn features_that_are_added_or_taken_away_count() {
        assert_eq!(CpuTarget::new("x86-64", "+avx2,+bmi").required(), ["avx2", "bmi1"]);
        assert!(!CpuTarget::new("x86-64-v3", "-fma").required().contains(&"fma"));
        assert!(!CpuTarget::new("x86-64", "+fma,-fma").has("fma") && CpuTarget::new("x86-64", "-fma, +fma").has("fma"));
        assert_eq!(CpuTarget::new("unheard-of", "+avx2").required(), ["avx2"]);
    }

    #[test]
    fn every_feature_of_the_table_is_known_to_be_required_or_asked_for() {
        let known = [V2, V3, V4, ICE, SAPPHIRE, OTHER, AMX].concat();
        for (cpu, groups) in CPUS {
            assert!(groups.concat().iter().all(|feature| known.contains(feature)), "{cpu}");
        }
    }
}
