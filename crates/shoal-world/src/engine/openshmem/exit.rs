//! The end of the process: ranks that are done say so to the library, which waits for all; one that leaves the others
//! in the middle of a world tells them.

use std::ffi::c_int;
use std::sync::Once;

use super::session;

unsafe extern "C" {
    // The C library's own, which every Rust program on this system links.
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Has it done when the process exits. Registered after the library was loaded, it runs before the library's own.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is there as long as the process, and lets no panic out. If it cannot be registered,
        // `oshrun` complains of ranks that were not finalised.
        let _ = unsafe { atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    // Nothing is left to be told of a panic at this point.
    let _ = std::panic::catch_unwind(session::finish);
}
