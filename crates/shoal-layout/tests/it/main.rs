//! The laws of the algebra on random layouts, the constructors against formulas of the manuals, and conversion plans on
//! a machine that follows every element.

mod fragments;
mod laws;
mod machine;
mod plans;
mod random;
mod shared;
