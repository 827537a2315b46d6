//! Worlds as programs use them.

mod collectives;
mod failing;
mod heap;
mod pads;
mod processes;
mod streams;
mod teams;
mod worlds;
