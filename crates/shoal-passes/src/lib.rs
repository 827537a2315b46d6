//! Passes over tile IR, and the one list that orders them.
//!
//! A pass is a plain function over a module. Its file, its function, its name on the command line and the folder of its
//! tests share one verb. [`pipeline`] lists all of them and says in which order they run.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod accumulate_products;
pub mod annotate_contiguity;
pub mod assign_layouts;
pub mod canonicalize;
pub mod clone_region;
pub mod constants;
pub mod contiguity;
pub mod cse;
pub mod dce;
pub mod expand_math;
mod facts;
pub mod inline;
pub mod inline_all;
pub mod licm;
pub mod lower_descriptors;
pub mod pipeline;
pub mod reduce_early;
pub mod split_induction;
pub mod unroll;
