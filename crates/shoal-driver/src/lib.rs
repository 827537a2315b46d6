//! Devices: memory, loaded code, worker threads, fibers and launches.
//!
//! This crate runs machine code that somebody else produced; it never sees the compiler. What ties the two
//! together is a small binary interface, specified in [`cpu::abi`].
//!
//! Each device kind is a module. [`cpu`] runs kernels on the host: a pool of worker threads, fibers for kernels
//! whose programs wait for each other, a loader for the relocatable objects the compiler emits.

pub mod cpu;
pub mod memory;

pub use memory::{Buffer, Pod};
