//! The interpreter against what the IR's definition says, operation by operation.

mod access;
mod atomics;
mod checker;
mod combine;
mod control;
mod descriptor;
mod dot;
mod elementwise;
mod errors;
mod every_operation;
mod kernels;
mod mutation;
mod observe;
mod random;
mod ranks;
mod schedule;
mod shape;
mod support;
