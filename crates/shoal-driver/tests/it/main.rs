//! Kernels written in C against the documented binary interface, loaded and launched.

mod objects;

mod cuda;
mod debugging;
mod failing;
mod features;
mod forking;
mod fuzzing;
mod groups;
mod launching;
mod loading;
mod printing;
mod rooms;
mod stopping;
mod stress;
mod waiting;
