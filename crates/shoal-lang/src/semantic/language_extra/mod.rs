//! Code for single threads: `shoal.language.extra.language_extra`.
//!
//! These functions are what a thread of a GPU sees: its number, its own accesses with scope and order, its warp. Values
//! that differ between threads are tiles with one element for each lane (see [`lanes`](crate::lanes)), so all of this
//! runs, and is checked, on every target. An operation that changes memory is done by every lane that runs it.

pub(crate) mod access;
pub(crate) mod multimem;
pub(crate) mod order;
pub(crate) mod signal;
pub(crate) mod thread;
pub(crate) mod vector_access;
pub(crate) mod warp;

pub(crate) use thread::flat_program;
pub(crate) use warp::{Shuffle, ballot, over_warp, shuffle};
