//! Worlds as programs use them.

mod collectives;
mod failing;
mod heap;
mod pads;
mod teams;
mod worlds;
