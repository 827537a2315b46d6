//! Kernels in the tile IR's text format, compiled, loaded and run.

mod kernels;
mod run;
