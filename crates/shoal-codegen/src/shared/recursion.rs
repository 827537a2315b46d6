//! Recursion as deep as a kernel's longest chain of operations, which may be a hundred thousand.

/// Runs `step`, one level of a recursion, on a stack that has room for it.
pub(crate) fn deep<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(256 << 10, 4 << 20, step)
}
