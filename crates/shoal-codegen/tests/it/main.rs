//! Kernels in the tile IR's text format, compiled, loaded and run.

mod code_size;
mod every_operation;
mod exponential;
mod extern_fn;
mod filetests;
mod kernels;
mod may_wait;
mod run;
mod waits;
