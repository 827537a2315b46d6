//! What the system's signals do to the process. Open MPI's library catches some when it starts and does nothing then, so
//! that a rank could not be asked to end.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use rustix::process::Signal;

unsafe extern "C" {
    // The C library's own, which every Rust program on this system links.
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
}

/// The C library's `struct sigaction`, which nobody looks into. It has 152 bytes at most on Linux.
#[repr(C, align(16))]
struct Action([MaybeUninit<u8>; 256]);

/// The signals that ask a program to end or to do something of its own. Open MPI 4.1 takes `TERM` and `USR1`; `HUP` and
/// `USR2` are for the same purposes. `INT` is not among them: the library leaves it alone, and Ctrl-C is for `oshrun`.
/// Those of crashes stay the library's, which tells where it was.
const ASKING: [Signal; 4] = [Signal::HUP, Signal::TERM, Signal::USR1, Signal::USR2];

/// Does something that may take signals away, and gives them back.
pub(super) fn kept_during<R>(work: impl FnOnce() -> R) -> R {
    let kept = ASKING.map(|signal| {
        let mut action = Action([MaybeUninit::uninit(); 256]);
        // SAFETY: what is asked for fits; nothing is changed.
        let status = unsafe { sigaction(signal.as_raw(), null(), &raw mut action) };
        (signal, action, status)
    });
    let result = work();
    for (signal, action, status) in kept {
        if status == 0 {
            // SAFETY: the C library wrote it, so that it is what the program had chosen before. It fails for no signal
            // whose action could be read.
            let _ = unsafe { sigaction(signal.as_raw(), &raw const action, null_mut()) };
        }
    }
    result
}
