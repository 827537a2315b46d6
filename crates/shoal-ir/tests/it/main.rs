//! Tests of the tile IR through its public face.

mod any_text;
mod filetests;
mod parse_errors;
mod random_modules;
mod round_trip;
mod text;
mod verify_errors;
