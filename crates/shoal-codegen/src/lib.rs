//! Tile IR to native code, through LLVM.
//!
//! Each backend is a folder; what they share stands beside them. Verified IR never makes a backend panic: what a
//! target cannot do is a diagnostic with the user's line.
#![warn(clippy::wildcard_enum_match_arm)]

mod abi;
pub mod cpu;
mod llvm;
mod recursion;

/// The version of LLVM that this program is linked with.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
