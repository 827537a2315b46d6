//! The laws of the algebra on random layouts, and the constructors against formulas of the manuals.

mod fragments;
mod laws;
mod random;
mod shared;
