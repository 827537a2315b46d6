//! The command `shoal` as users call it.

mod commands;
mod readme;
mod setup;
mod shoal;
