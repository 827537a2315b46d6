//! The contract between generated code and this crate. The compiler cannot import this crate, so the text here is
//! the specification; `tests/it` holds it with kernels written in C.
//!
//! # Entry points
//!
//! A kernel is a global function of type [`Entry`]. One call runs the programs `first..last`, one after another, on
//! the calling thread. Programs are numbered linearly: x runs fastest, then y, then z, so program `p` of grid
//! `(gx, gy, gz)` is `(p % gx, p / gx % gy, p / (gx * gy))`. Before it runs program `p` the code stores `p` in
//! [`Context::program`], so that hooks can name it; a kernel that calls no hook may leave that out.
//!
//! # Ending early
//!
//! A launch can be told to stop. So that a program comes to know, code counts [`Context::fuel`] down by one at the end
//! of each round of a loop that may run long, and after each program; where that makes it negative it calls
//! `shoal_poll`, which fills it up. If that returns something else than 0, the code returns from the entry point, with
//! whatever it has written so far. Code that does not do so is only stopped between two calls of its entry point and at
//! scheduling points.
//!
//! # Arguments
//!
//! `args` points at the packed argument block, aligned to 8 bytes: the kernel's run-time parameters in order, each
//! at the next multiple of its natural alignment.
//!
//! | parameter | size | alignment |
//! |---|---|---|
//! | `i1`, 8-bit integers and floats | 1 | 1 |
//! | 16, 32, 64-bit integers and floats | 2, 4, 8 | 2, 4, 8 |
//! | pointer | 8 | 8 |
//! | tensor descriptor of rank r: base pointer, `i64 shape[r]`, `i64 strides[r]` | 8 + 16 r | 8 |
//!
//! The block is read-only and shared by all programs of a launch.
//!
//! # Scratch
//!
//! [`Context::scratch`] is 64-byte aligned and at least as large as the kernel's `scratch_bytes`. Its content is
//! undefined when a program starts. It belongs to the programs of one call; on a fiber it belongs to that fiber.
//!
//! # Hooks
//!
//! Generated code calls these by name. They may be called from any depth, with the usual C calling convention and
//! no live vector state beyond what that convention preserves. AMX tiles must be released before a hook is called.
//!
//! | symbol | C type | meaning |
//! |---|---|---|
//! | `shoal_yield` | `void (Context *, const Site *)` | scheduling point inside a spin loop: lets other programs run, then returns |
//! | `shoal_poll_wait` | `void (Context *, const Site *)` | the same, between two polls of an `atomic_poll` |
//! | `shoal_poll` | `int32_t (Context *)` | the fuel is used up: gives more, and says whether the program is to end (not 0) |
//! | `shoal_clock_ns` | `uint64_t (void)` | monotonic time in nanoseconds, for timeouts |
//! | `shoal_fail` | `noreturn void (Context *, const Site *, const char *message, uint64_t len)` | a failed `device_assert` or a run-time trap; ends the launch |
//! | `shoal_print_value` | see [`PrintKind`](super::PrintKind) | prints one operand of a `device_print` |
//! | `shoal_print_text` | `void (Context *, const Site *, const char *text, uint64_t len)` | a `device_print` without operands |
//!
//! | `shoal_check_range` | `void (Context *, const Access *, uint64_t first, int64_t step, uint64_t mask)` | fails unless the launch may access all addresses `first + i * step` whose bit `i` is set in `mask` |
//! | `shoal_check_each` | `void (Context *, const Access *, const uint64_t *addresses, uint64_t mask)` | the same for the addresses of up to 64 lanes |
//!
//! A kernel that can reach `shoal_yield` or `shoal_poll_wait` must be described with [`Waits::MayWait`](shoal_abi::Waits),
//! one that can reach `shoal_fail` or the two checks with `can_fail`. A failure abandons the program's stack without
//! unwinding it, which only works on a fiber: called outside one it aborts the process. `site` may be null everywhere.
//! A program that keeps calling the two waiting hooks without doing anything else is taken to wait in vain after the
//! launch's wait timeout, also if a poll of its own would time out later. `shoal_poll` may be called by any program, on
//! a fiber or not.
//!
//! Math functions that are not inlined are called as `shoal_<name>_f32` and `shoal_<name>_f64`; see
//! [`symbols`](super::symbols) for the whole list.
//!
//! # Objects
//!
//! Code arrives as a relocatable ELF object for x86-64, position independent, small code model, no thread-local
//! storage. See [`loader`](super::loader).

use super::{
    interrupt::Fuel,
    run::{Role, Run},
};
use core::ffi::c_void;

/// One call runs programs `first..last` (linear ids: x fastest, then y, then z) one after another.
pub type Entry = unsafe extern "C" fn(args: *const u8, ctx: *mut Context, first: u64, last: u64);

/// What a running program can see of its launch. Generated code may use the public fields at their offsets (0, 8,
/// 24 and 32); what follows them belongs to the runtime.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// Working memory: 64-byte aligned, at least the kernel's `scratch_bytes`.
    pub scratch: *mut u8,
    /// The launch grid.
    pub grid: [u32; 3],
    /// Linear id of the program being run; stored by generated code.
    pub program: u64,
    /// Rounds of loops until the program is to look up; counted down by generated code.
    pub fuel: i64,
    /// The launch this program belongs to; valid as long as the program is.
    pub(crate) run: *const Run<'static>,
    /// Where the fiber suspends to; null when the program does not run on a fiber.
    pub(crate) yielder: *const c_void,
    /// Where the program waited last; null before its first wait.
    pub(crate) site: *const Site,
    /// Whether the program's fiber has ever been suspended.
    pub(crate) waited: bool,
    /// The thread that runs the program now.
    pub(crate) role: Role,
    /// How the fuel was filled up last.
    pub(crate) refills: Fuel,
}

/// A place in the kernel's source, as constant data in the object.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// UTF-8 file name, not terminated.
    pub file: *const u8,
    /// Length of `file` in bytes.
    pub file_len: u64,
    /// Line, counted from 1; 0 when unknown.
    pub line: u32,
    /// Column, counted from 1; 0 when unknown.
    pub col: u32,
    /// What the program does there in the user's words ("atomic_cas in a loop"), not terminated.
    pub what: *const u8,
    /// Length of `what` in bytes.
    pub what_len: u64,
}

/// An access to memory that is checked, as constant data in the object.
#[repr(C)]
#[derive(Debug)]
pub struct Access {
    /// Where it is.
    pub site: Site,
    /// Bytes at each address.
    pub bytes: u32,
    /// What is done: 0 reads, 1 writes, 2 accesses atomically.
    pub kind: u32,
    /// The run-time parameter that the addresses are computed from, or one of the `FROM` numbers.
    pub from: i32,
}

impl Access {
    /// The addresses are computed from one argument or another.
    pub const FROM_SOME_ARGUMENT: i32 = -1;
    /// The addresses come from memory or from integers, so that nobody knows what they point at.
    pub const FROM_ELSEWHERE: i32 = -2;

    /// What is done, in words.
    pub(crate) fn verb(&self) -> &'static str {
        match self.kind {
            0 => "reads",
            1 => "writes",
            _ => "atomically accesses",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn layout_is_the_documented_one() {
        assert_eq!(offset_of!(Context, scratch), 0);
        assert_eq!(offset_of!(Context, grid), 8);
        assert_eq!(offset_of!(Context, program), 24);
        assert_eq!(offset_of!(Context, fuel), 32);
        assert_eq!(offset_of!(Site, line), 16);
        assert_eq!(offset_of!(Site, what), 24);
        assert_eq!(size_of::<Site>(), 40);
        assert_eq!(offset_of!(Access, bytes), 40);
        assert_eq!(offset_of!(Access, from), 48);
    }
}
