//! What the host's CPU can do at run time, including what the operating system must be asked for.

use crate::fork::Section;
use std::sync::OnceLock;

/// Features of the host's CPU that matter to generated code, by LLVM's names for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFeatures {
    names: Vec<&'static str>,
}

impl HostFeatures {
    /// The names of all features that can be used, sorted: `avx2`, `avx512f`, `amx-bf16`, …
    #[must_use]
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether the feature of this name can be used.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.binary_search(&name).is_ok()
    }

    /// Whether AMX tiles can be used: the CPU has them and the system has granted them to this process.
    #[must_use]
    pub fn amx_usable(&self) -> bool {
        self.has("amx-tile")
    }
}

/// The host's features, found out on the first call, which also asks the system for the use of AMX.
pub fn host_features() -> &'static HostFeatures {
    static FEATURES: OnceLock<HostFeatures> = OnceLock::new();
    if let Some(features) = FEATURES.get() {
        return features;
    }
    let _section = Section::enter();
    FEATURES.get_or_init(|| {
        let mut names = detect();
        names.sort_unstable();
        HostFeatures { names }
    })
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Vec<&'static str> {
    let mut names = Vec::new();
    macro_rules! detect {
        ($($name:tt)*) => { $( if std::arch::is_x86_feature_detected!($name) { names.push($name); } )* };
    }
    detect!("sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "bmi1" "bmi2" "lzcnt" "movbe" "f16c" "fma" "avx" "avx2" "avxvnni"
        "avx512f" "avx512cd" "avx512bw" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni"
        "avx512bitalg" "avx512vpopcntdq" "avx512bf16" "avx512fp16" "gfni" "sse4a" "avxifma" "avxneconvert" "avxvnniint8"
        "avxvnniint16");
    names.extend(amx::detect());
    names
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
mod amx {
    pub(super) fn detect() -> Vec<&'static str> {
        Vec::new()
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use core::arch::{asm, x86_64::__cpuid_count, x86_64::__get_cpuid_max};

    const SYS_ARCH_PRCTL: usize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XFEATURE_XTILEDATA: usize = 18;

    /// The AMX features, if this process may use tiles.
    pub(super) fn detect() -> Vec<&'static str> {
        if __get_cpuid_max(0).0 < 7 {
            return Vec::new();
        }
        let leaf = __cpuid_count(7, 0);
        let leaf1 = if leaf.eax >= 1 { __cpuid_count(7, 1).eax } else { 0 };
        if leaf.edx >> 24 & 1 == 0 || !tiles_granted() {
            return Vec::new();
        }
        let bits = [
            (true, "amx-tile"),
            (leaf.edx >> 22 & 1 == 1, "amx-bf16"),
            (leaf.edx >> 25 & 1 == 1, "amx-int8"),
            (leaf1 >> 21 & 1 == 1, "amx-fp16"),
        ];
        bits.into_iter().filter_map(|(present, name)| present.then_some(name)).collect()
    }

    /// Asks the kernel to let this process use tile data; it covers all threads, and asking again does no harm.
    fn tiles_granted() -> bool {
        let result: isize;
        // SAFETY: this system call takes two numbers and touches no memory of ours; the clobbers are those of every
        // system call.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") SYS_ARCH_PRCTL => result,
                in("rdi") ARCH_REQ_XCOMP_PERM,
                in("rsi") XFEATURE_XTILEDATA,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        let features = host_features();
        assert!(features.names().is_sorted());
        for name in features.names() {
            assert!(features.has(name));
        }
        assert!(!features.has("warp-drive"));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(features.has("avx2"), std::arch::is_x86_feature_detected!("avx2"));
    }
}
