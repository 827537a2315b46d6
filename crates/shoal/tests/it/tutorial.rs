//! The tutorial in Rust runs.

#[path = "../../../../examples/from-rust/main.rs"]
mod from_rust;

#[test]
fn kernels_from_rust() {
    from_rust::main().expect("the tutorial runs");
}
