//! The command `shoal` as users call it.

mod ahead_of_time;
mod check;
mod commands;
mod launch;
mod openshmem;
mod ranks;
mod readme;
mod runtime;
mod setup;
mod shoal;
#[path = "../../../shoal-world/tests/it/two_hosts.rs"]
mod two_hosts;
