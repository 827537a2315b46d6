//! Kernels written in C against the documented binary interface, loaded and launched.

mod objects;

mod debugging;
mod failing;
mod features;
mod fuzzing;
mod launching;
mod loading;
mod printing;
mod rooms;
mod stopping;
mod stress;
mod waiting;
