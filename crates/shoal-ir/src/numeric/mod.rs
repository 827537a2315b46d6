//! The meaning of operations on single elements.
//!
//! The interpreter runs these functions, constant folding calls them, and compiled code is tested against them.

mod constant;
mod float;

pub use constant::Const;
pub use float::{FloatFormat, NonFinite, decode_float, encode_float};
