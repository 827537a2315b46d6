//! The end of the process: ranks that are done say so to the library, which waits for all; one that leaves the others
//! in the middle of a world tells them. A forked child leaves without the library.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Once;

use super::session::{self, Finished};

unsafe extern "C" {
    // The C library's own, which every Rust program on this system links.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// Has it done when the process exits. Registered after the library was loaded, it runs before the library's own.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is there as long as the process, and lets no panic out. If it cannot be registered,
        // `oshrun` complains of ranks that were not finalised.
        let _ = unsafe { on_exit(at_exit, null_mut()) };
    });
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    // Nothing is left to be told of a panic at this point.
    match std::panic::catch_unwind(session::finish) {
        Ok(Finished::Together) | Err(_) => {}
        // The library would wait for the others again, without an end. What `oshrun` sees is a failure, and it ends them.
        Ok(Finished::Overdue) => end(if status == 0 { 1 } else { status }),
        // The library would wait for threads that only the parent has.
        Ok(Finished::ByParent) => end(status),
    }
}

/// Ends the process without what the library has registered for its end.
fn end(status: c_int) -> ! {
    // SAFETY: all streams of the C library may be written out at any time; nothing runs after `_exit`.
    unsafe {
        fflush(null_mut());
        _exit(status);
    }
}
