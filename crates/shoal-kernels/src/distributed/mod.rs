//! Kernels of several ranks: collectives, and products with the communication inside.
//!
//! All ranks of a world call the same functions in the same order, with a [`Communicator`] each. Whatever is written by
//! other ranks lies in symmetric memory ([`Symm`](shoal::world::Symm)); everything else is any memory. Programs of one
//! number meet through the signal pads, so no launch needs more programs at once than the communicator has, and sizes,
//! pads and grids that do not fit are refused before anything is launched. Sums are made in fp32 in the order of the
//! ranks. World sizes and lengths are arbitrary.
//!
//! ```
//! use shoal::{Device, Error};
//! use shoal::world::World;
//! use shoal_kernels::Library;
//! use shoal_kernels::distributed::{Communicator, all_reduce::one_shot_all_reduce};
//!
//! let library = Library::on(Device::cpu());
//! let sums = World::threads(3)?.run(|rank| {
//!     let comm = Communicator::new(&library, rank)?;
//!     let x = rank.symm_zeros::<f32>(2)?;
//!     x.write(&[1.0, rank.rank() as f32])?;
//!     let mut out = [f32::NAN; 2];
//!     one_shot_all_reduce(&comm, &x, &mut out)?;
//!     Ok::<_, Error>(out)
//! })?;
//! assert_eq!(sums, [[3.0, 3.0]; 3]);
//! # Ok::<(), Error>(())
//! ```

pub mod all_gather;
pub mod all_gather_matmul;
pub mod all_reduce;
pub mod all_reduce_rms_norm;
pub mod all_to_all;
pub mod broadcast;
mod catalog;
mod communicator;
pub mod copied_reduce_scatter;
mod data;
pub mod gather_with_progress;
pub mod gemm_all_reduce;
pub mod gemm_reduce_scatter;
mod parts;
mod profiling;
pub mod puts;
pub mod reduce_scatter;
mod workload;

pub use catalog::{RankItem, catalog, find};
pub use communicator::Communicator;
pub use data::Number;
pub use parts::Parts;
pub use workload::{RankOutput, RankWorkload};
