//! Integration tests of the front end.

mod deep;
mod filetests;
mod live;
mod mutate;
mod programs;
