//! Passes of LLVM's code generators that no kernel gains from, left out.
//!
//! Early tail duplication copies a short head of a loop to where the loop is entered, which gives the loop two entries.
//! `ptxas` does not expect that: threads that part in the loops around it do not meet again before the next barrier, which
//! some of them then pass alone.
//!
//! Straight-line strength reduction and n-ary reassociation run for GPUs only. They follow how integers are computed from
//! each other, in time that is quadratic in the length of such chains (200 sums of products took 3 s), and the assembler
//! makes the same instructions of what they are not given. LLVM has no other way to leave a pass out of its code generator
//! than an option of its command line, which holds for all of a process.

use std::ffi::CStr;
use std::ptr;
use std::sync::Once;

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

const PROGRAM: &CStr = c"shoal";
const OPTIONS: [&CStr; 2] = [c"-opt-disable=slsr,nary-reassociate", c"-disable-early-taildup"];

/// Sets the options, before any thread of this process compiles: code for CPUs is made by passes that look at it, too.
pub(crate) fn leave_out_passes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let arguments = [PROGRAM, OPTIONS[0], OPTIONS[1]].map(CStr::as_ptr);
        // SAFETY: so many texts, which live as long as the program; whoever compiles comes through here, and waits.
        unsafe { LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), ptr::null()) };
    });
}
