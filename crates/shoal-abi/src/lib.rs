//! What generated code and devices agree on, written once: the compiler and the driver both import this crate, and
//! neither imports the other.
#![forbid(unsafe_code)]
