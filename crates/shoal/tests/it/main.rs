//! Tests of the facade, and of the compiler as a whole.

mod random_kernels;
