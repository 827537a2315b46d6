//! Tile IR to native code, through LLVM.
//!
//! Each backend is a folder; what they share stands beside them. Verified IR never makes a backend panic: what a
//! target cannot do is a diagnostic with the user's line.

pub mod cpu;
mod llvm;
