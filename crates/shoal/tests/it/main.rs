//! Tests of the facade, and of the compiler as a whole.

mod debugger;
mod errors;
mod language;
mod launches;
mod random_kernels;
mod specialisation;
mod stopping;
