//! Worlds as programs use them.

mod breaking;
mod calls;
mod clock;
mod collectives;
mod failing;
mod heap;
mod openshmem;
mod pads;
mod processes;
mod signals;
mod streams;
mod teams;
mod two_hosts;
mod worlds;
