//! The laws of the algebra, on random layouts.

mod laws;
mod random;
