//! Compile options that the language's meaning depends on.

use shoal_abi::{CpuTarget, Target};
use shoal_ir::Scalar;
use shoal_ir::op::DotPrecision;

/// Compile options that the language's meaning depends on, and what the target allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What the kernel is compiled for, which it may ask about.
    pub target: Target,
    /// Whether `device_assert` and `assert` are checked at run time.
    pub debug: bool,
    /// Whether integer overflow in `+`, `-`, `*` is checked at run time (only with `debug`).
    pub sanitize_overflow: bool,
    /// The precision of a `dot` that names none.
    pub default_dot_precision: DotPrecision,
    /// The precisions the target has.
    pub dot_precisions: Vec<DotPrecision>,
    /// The 8-bit float types the target has.
    pub fp8_types: Vec<Scalar>,
    /// The least size of `K` in a `dot`, in bytes of an operand's row; 0: any.
    pub min_dot_k_bytes: u32,
    /// Warps of a program: how many threads code for single threads sees. A power of two.
    pub num_warps: u32,
    /// Whether kernels may use module-level names that are not `constexpr`.
    pub allow_plain_globals: bool,
}

impl Default for Options {
    /// Everything the language has, without run-time checks: what the interpreter and CPUs run.
    fn default() -> Options {
        Options {
            target: Target::Cpu(CpuTarget::generic()),
            debug: false,
            sanitize_overflow: false,
            default_dot_precision: DotPrecision::Ieee,
            dot_precisions: DotPrecision::ALL.to_vec(),
            fp8_types: Scalar::ALL.into_iter().filter(|s| s.is_fp8()).collect(),
            min_dot_k_bytes: 0,
            num_warps: 4,
            allow_plain_globals: false,
        }
    }
}
