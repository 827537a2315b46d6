//! How a kernel is compiled, and how it is launched, beyond its arguments.

use std::path::PathBuf;
use std::time::Duration;

use shoal_abi::Target;
use shoal_driver::cpu::Fibers;
use shoal_driver::cuda::LaunchShape;
use shoal_driver::{Interrupt, PrintSink};
use shoal_ir::GpuShape;
use shoal_ir::op::DotPrecision;

use crate::Error;
use crate::variant_key::{self, Words};

/// Whether compiled kernels are looked up and kept on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiskCache {
    /// In the user's cache; see [`cache`](crate::cache).
    #[default]
    User,
    /// Neither looked up nor kept.
    Off,
}

/// Whether machine code carries the kernel's lines for debuggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// It does.
    #[default]
    Lines,
    /// It does not.
    None,
}

/// How a kernel is compiled: other options, another variant.
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// Whether `device_assert` and `assert` are checked at run time.
    pub debug: bool,
    /// Whether every access to memory is checked at run time (only with `debug`).
    pub check_accesses: bool,
    /// Whether integer overflow is checked at run time (only with `debug`).
    pub sanitize_overflow: bool,
    /// The precision of a `dot` that names none.
    pub dot_precision: DotPrecision,
    /// Whether kernels may use module-level names that are not `constexpr`.
    pub allow_plain_globals: bool,
    /// Files of LLVM bitcode that `extern_elementwise` may call into. One that changes is linked again. Kernels that call
    /// no such function need none of them.
    pub extern_libs: Vec<PathBuf>,
    /// NVSHMEM's device functions as bitcode, for kernels that reach other ranks through them; without it, they do by loads
    /// and stores. [`Kernel::on_rank`](crate::Kernel::on_rank) sets it.
    pub nvshmem: Option<PathBuf>,
    /// Whether the code carries lines for debuggers.
    pub debug_info: DebugInfo,
    /// How a GPU runs the kernel. Other devices look at its warps alone: they are the threads that code for single threads
    /// sees. A launch may name other numbers.
    pub gpu: GpuShape,
    /// Whether compiled kernels are kept on disk; the code does not depend on it.
    pub disk_cache: DiskCache,
}

/// How a kernel is launched: the code does not depend on it.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// How long programs may wait for each other in vain; by default the device's limit.
    pub timeout: Option<Duration>,
    /// Asked about every 50 ms, on the thread that launches, whether the launch is to stop, while its kernel is compiled
    /// as well.
    pub interrupt: Option<Interrupt>,
    /// Where `device_print` goes.
    pub print: PrintSink,
    /// When programs run as fibers.
    pub fibers: Fibers,
    /// How a GPU runs the launch.
    pub gpu: LaunchShape,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            // A wrong value is an error wherever a kernel is taken from a module.
            debug: switch_from_env("SHOAL_DEBUG").unwrap_or(false),
            check_accesses: true,
            sanitize_overflow: false,
            dot_precision: DotPrecision::Ieee,
            allow_plain_globals: false,
            extern_libs: Vec::new(),
            nvshmem: None,
            debug_info: DebugInfo::default(),
            gpu: GpuShape::default(),
            disk_cache: DiskCache::default(),
        }
    }
}

fn of_gpu(target: &Target) -> bool {
    match target {
        Target::Cpu(_) => false,
        Target::Nvptx(_) | Target::Amdgpu(_) => true,
    }
}

/// Whether a variable of the environment, such as `SHOAL_DEBUG`, switches something on.
///
/// # Errors
/// When it is set to neither.
pub fn switch_from_env(variable: &'static str) -> Result<bool, Error> {
    let Some(value) = std::env::var_os(variable) else { return Ok(false) };
    match value.to_string_lossy().to_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "" | "0" | "false" | "off" | "no" | "n" => Ok(false),
        other => Err(Error::Setting { variable, value: other.to_owned(), expected: "1 or 0" }),
    }
}

impl CompileOptions {
    /// Whether compiled code shows its addresses to the runtime before it uses them.
    pub(crate) fn checks_accesses(&self) -> bool {
        self.debug && self.check_accesses
    }
}

// Both keys take the options apart without `..`, so that a new option cannot be forgotten in one.
impl CompileOptions {
    /// Everything that changes the compiled code, as text for the key on disk. What is linked counts by its name here;
    /// entries state its content.
    pub(crate) fn disk_key(&self, target: &Target) -> String {
        let CompileOptions {
            debug,
            check_accesses,
            sanitize_overflow,
            dot_precision,
            allow_plain_globals,
            extern_libs,
            nvshmem,
            debug_info,
            gpu,
            disk_cache: _,
        } = self;
        let GpuShape { num_warps, .. } = *gpu;
        let gpu = if of_gpu(target) { format!(" {gpu:?} nvshmem={nvshmem:?}") } else { String::new() };
        format!(
            "debug={debug} accesses={check_accesses} overflow={sanitize_overflow} dot={dot_precision} warps={num_warps} \
             globals={allow_plain_globals} lines={debug_info:?} libs={extern_libs:?}{gpu}"
        )
    }

    /// The same as the first words of keys in memory, without [`shape_words`].
    pub(crate) fn key_words(&self) -> Words {
        let CompileOptions {
            debug,
            check_accesses,
            sanitize_overflow,
            dot_precision,
            allow_plain_globals,
            extern_libs,
            nvshmem,
            debug_info,
            gpu: _,
            disk_cache: _,
        } = self;
        let lines = *debug_info == DebugInfo::Lines;
        let flags = [*debug, *check_accesses, *sanitize_overflow, *allow_plain_globals, lines];
        let packed = flags.iter().enumerate().fold(0u64, |word, (bit, &set)| word | u64::from(set) << bit);
        let mut words = Words::new();
        words.push(
            packed
                | (*dot_precision as u64) << 8
                | (extern_libs.len() as u64) << 16
                | u64::from(nvshmem.is_some()) << 63,
        );
        for lib in extern_libs.iter().chain(nvshmem) {
            variant_key::write_hash(&mut words, lib.as_os_str().as_encoded_bytes());
        }
        words
    }
}

/// How a GPU runs the kernel, as the next words of keys in memory: apart, because a launch may name another shape.
#[inline]
pub(crate) fn shape_words(gpu: GpuShape, target: &Target) -> [u64; 2] {
    let GpuShape { num_warps, num_stages, max_registers, fuse_products } = gpu;
    match of_gpu(target) {
        true => [
            u64::from(num_warps) | u64::from(num_stages) << 32,
            max_registers.map_or(0, |registers| u64::from(registers) + 1) | u64::from(fuse_products) << 63,
        ],
        false => [u64::from(num_warps), 0],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// One change of each option that code depends on.
    fn changed() -> Vec<CompileOptions> {
        let base = || CompileOptions { debug: false, ..CompileOptions::default() };
        let libs = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        vec![
            base(),
            CompileOptions { debug: true, ..base() },
            CompileOptions { check_accesses: false, ..base() },
            CompileOptions { sanitize_overflow: true, ..base() },
            CompileOptions { dot_precision: DotPrecision::Tf32, ..base() },
            CompileOptions { allow_plain_globals: true, ..base() },
            CompileOptions { extern_libs: libs(&["a.bc"]), ..base() },
            CompileOptions { extern_libs: libs(&["b.bc"]), ..base() },
            CompileOptions { extern_libs: libs(&["a.bc", "b.bc"]), ..base() },
            CompileOptions { debug_info: DebugInfo::None, ..base() },
            CompileOptions { nvshmem: Some("a.bc".into()), ..base() },
            CompileOptions { gpu: GpuShape { num_warps: 8, ..GpuShape::default() }, ..base() },
            CompileOptions { gpu: GpuShape { num_stages: 4, ..GpuShape::default() }, ..base() },
            CompileOptions { gpu: GpuShape { max_registers: Some(64), ..GpuShape::default() }, ..base() },
            CompileOptions { gpu: GpuShape { fuse_products: false, ..GpuShape::default() }, ..base() },
        ]
    }

    #[test]
    fn each_option_changes_both_keys() {
        let all = changed();
        let counts = |target: &Target| {
            let on_disk: HashSet<String> = all.iter().map(|options| options.disk_key(target)).collect();
            let words = |options: &CompileOptions| -> Vec<u64> {
                options.key_words().into_iter().chain(shape_words(options.gpu, target)).collect()
            };
            let in_memory: HashSet<Vec<u64>> = all.iter().map(words).collect();
            (on_disk.len(), in_memory.len())
        };
        assert_eq!(counts(&Target::Nvptx(shoal_abi::NvptxArch::Sm90a)), (all.len(), all.len()));
        // What else tells GPUs how to run a kernel changes no code for a CPU.
        assert_eq!(counts(crate::host_target()), (all.len() - 4, all.len() - 3));
    }

    #[test]
    fn where_code_is_kept_changes_no_key() {
        let (kept, not) =
            (CompileOptions::default(), CompileOptions { disk_cache: DiskCache::Off, ..Default::default() });
        let target = crate::host_target();
        assert_eq!(kept.disk_key(target), not.disk_key(target));
        assert_eq!(kept.key_words(), not.key_words());
    }
}
