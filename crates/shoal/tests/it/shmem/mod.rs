//! `libshmem_device`: every name, on the CPU and on the interpreter.

mod harness;
mod lanes;
mod meetings;
mod multicast;
mod names;
mod nvshmem;
mod openshmem;
mod page;
mod processes;
mod refused;
