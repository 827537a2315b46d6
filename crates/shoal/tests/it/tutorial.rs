//! The tutorial in Rust runs.

#[expect(unreachable_pub, reason = "a program of its own, which people build as it is")]
#[path = "../../../../examples/from-rust/main.rs"]
mod from_rust;

#[test]
fn kernels_from_rust() {
    from_rust::main().expect("the tutorial runs");
}
