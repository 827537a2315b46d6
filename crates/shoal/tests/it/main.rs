//! Tests of the facade, and of the compiler as a whole.

mod arguments;
mod bitcode;
mod chains;
mod checks;
mod corpus;
mod debugger;
mod embedded;
mod errors;
mod every_operation;
mod forking;
mod ir_mutants;
mod kraken;
mod language;
mod launches;
mod live;
mod nvptx_code;
mod random_kernels;
mod random_waits;
mod ranks;
mod shmem;
mod specialisation;
mod stages;
mod stopping;
mod targets;
mod thread_time;
mod tutorial;
