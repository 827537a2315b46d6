//! How a kernel is compiled and launched, beyond its arguments.

use std::path::PathBuf;
use std::time::Duration;

use shoal_driver::cpu::Fibers;
use shoal_driver::{Interrupt, PrintSink};
use shoal_ir::op::DotPrecision;

use crate::variant_key::Words;

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

/// How a kernel is compiled and launched.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether `device_assert`, `assert` and every access to memory are checked at run time.
    pub debug: bool,
    /// Whether integer overflow is checked at run time (only with `debug`).
    pub sanitize_overflow: bool,
    /// The precision of a `dot` that names none.
    pub dot_precision: DotPrecision,
    /// Whether kernels may use module-level names that are not `constexpr`.
    pub allow_plain_globals: bool,
    /// Files of LLVM bitcode that `extern_elementwise` may call into.
    pub extern_libs: Vec<PathBuf>,
    /// Whether the code carries lines for debuggers.
    pub debug_info: DebugInfo,
    /// Whether compiled kernels are kept on disk.
    pub disk_cache: DiskCache,
    /// How long programs may wait for each other in vain; by default the device's limit.
    pub timeout: Option<Duration>,
    /// Asked about every 50 ms, on the thread that launches, whether the launch is to stop.
    pub interrupt: Option<Interrupt>,
    /// Where `device_print` goes.
    pub print: PrintSink,
    /// When programs run as fibers.
    pub fibers: Fibers,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            debug: std::env::var_os("SHOAL_DEBUG").is_some_and(|v| v == "1"),
            sanitize_overflow: false,
            dot_precision: DotPrecision::Ieee,
            allow_plain_globals: false,
            extern_libs: Vec::new(),
            debug_info: DebugInfo::default(),
            disk_cache: DiskCache::default(),
            timeout: None,
            interrupt: None,
            print: PrintSink::default(),
            fibers: Fibers::default(),
        }
    }
}

impl Options {
    /// Everything that changes the compiled code, as text for the disk cache's key.
    pub(crate) fn compile_key(&self) -> String {
        format!(
            "debug={} overflow={} dot={} globals={} lines={:?}",
            self.debug, self.sanitize_overflow, self.dot_precision, self.allow_plain_globals, self.debug_info
        )
    }

    /// The same as the first words of keys in memory.
    pub(crate) fn key_words(&self) -> Words {
        let flags = [self.debug, self.sanitize_overflow, self.allow_plain_globals, self.debug_info == DebugInfo::Lines];
        let packed = flags.iter().enumerate().fold(0u64, |word, (bit, &set)| word | u64::from(set) << bit);
        let mut words = Words::new();
        words.push(packed | (self.dot_precision as u64) << 8 | (self.extern_libs.len() as u64) << 16);
        for lib in &self.extern_libs {
            let hash = blake3::hash(lib.as_os_str().as_encoded_bytes());
            words.extend(hash.as_bytes()[..16].chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default())));
        }
        words
    }
}
