//! Shoal's own kernels, with host entry points and references.
//!
//! The kernels are written in the kernel language, in `kernels/*.py`, and are part of this crate's binary. Each has a
//! module here with three things: the function that launches it (it chooses grid and blocks), a reference in `f64` that
//! shares nothing with the kernel but the formula, and a [`Workload`] that ties both to data, for tests, the demo and
//! the benchmarks. [`catalog`] lists them all.
//! Those of several ranks are in [`distributed`].
//!
//! ```
//! use shoal::{Device, Tensor};
//! use shoal_kernels::{Library, vector_add::vector_add};
//!
//! let library = Library::on(Device::cpu());
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0])?;
//! let y = Tensor::from_slice(&[10.0f32, 20.0, 30.0])?;
//! let out = Tensor::poisoned(x.dtype(), x.shape())?;
//! vector_add(&library, &x, &y, &out)?;
//! assert_eq!(out.as_slice::<f32>()?, [11.0, 22.0, 33.0]);
//! # Ok::<(), shoal::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod attention;
mod catalog;
mod check;
pub mod distributed;
pub mod dropout;
pub mod grouped_gemm;
pub mod harness;
pub mod layer_norm;
mod library;
pub mod matmul;
mod philox;
pub mod random;
pub mod rms_norm;
pub mod softmax;
pub mod vector_add;
mod workload;

pub use catalog::{Item, catalog, find};
pub use check::{Checked, Tolerance};
pub use library::{Library, Source};
pub use workload::{Output, Work, Workload};
