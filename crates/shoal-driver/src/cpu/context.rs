//! A running program's context: what generated code knows of its launch, and what its hooks know besides.

use super::{
    fuel::Fuel,
    launch_state::{LaunchState, Role},
    wait::Wait,
};
use core::{ffi::c_void, ptr};
use shoal_abi::Context;

/// What a program has done between two waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// It has looked in vain.
    InVain,
    /// It has looked in vain, in a loop that may end by itself.
    Stepped,
    /// It has passed a wait.
    Moved,
}

/// The context of one thread's or fiber's programs. Generated code gets a pointer to it and knows its first field.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ProgramContext {
    /// What generated code may use.
    pub(crate) shared: Context,
    /// The launch this program belongs to; valid as long as the program is.
    launch: *const LaunchState<'static>,
    /// Where the fiber suspends to; null when the program does not run on a fiber.
    pub(crate) yielder: *const c_void,
    /// Where the program waited last, and for what.
    pub(crate) wait: Wait,
    /// Whether the program's fiber has ever been suspended.
    pub(crate) waited: bool,
    /// What it has done since it was last suspended.
    pub(crate) course: Course,
    /// How many waits it had passed when it was last suspended.
    pub(crate) passed: u64,
    /// The thread that runs the program now.
    pub(crate) role: Role,
    /// How the fuel was filled up last.
    pub(crate) refills: Fuel,
}

impl ProgramContext {
    /// A context for programs of a launch, off fibers.
    ///
    /// The context holds a plain pointer: whoever uses it keeps `launch` alive.
    pub(crate) fn new(launch: &LaunchState<'_>, grid: [u32; 3], scratch: *mut u8, role: Role) -> Self {
        Self {
            shared: Context { scratch, grid, program: 0, fuel: Fuel::FIRST.amount(), fresh: 1, passed: 0 },
            launch: ptr::from_ref(launch).cast(),
            yielder: ptr::null(),
            wait: Wait::NONE,
            waited: false,
            course: Course::InVain,
            passed: 0,
            role,
            refills: Fuel::FIRST,
        }
    }

    /// A context that belongs to no launch yet.
    pub(crate) fn unused() -> Self {
        Self {
            shared: Context { scratch: ptr::null_mut(), grid: [0; 3], program: 0, fuel: 0, fresh: 1, passed: 0 },
            launch: ptr::null(),
            yielder: ptr::null(),
            wait: Wait::NONE,
            waited: false,
            course: Course::InVain,
            passed: 0,
            role: Role::Helper,
            refills: Fuel::FIRST,
        }
    }

    /// The launch of a program.
    ///
    /// # Safety
    ///
    /// `ctx` is the context a running program was given.
    pub(crate) unsafe fn launch<'a>(ctx: *const Self) -> &'a LaunchState<'a> {
        // SAFETY: the launch outlives its programs, and its state is only shared.
        unsafe { &*(*ctx).launch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn generated_code_finds_what_it_knows_at_the_start() {
        assert_eq!(offset_of!(ProgramContext, shared), 0);
        assert_eq!(offset_of!(ProgramContext, shared.scratch), Context::SCRATCH_AT);
        assert_eq!(offset_of!(ProgramContext, shared.grid), Context::GRID_AT);
        assert_eq!(offset_of!(ProgramContext, shared.program), Context::PROGRAM_AT);
        assert_eq!(offset_of!(ProgramContext, shared.fuel), Context::FUEL_AT);
        assert_eq!(offset_of!(ProgramContext, shared.fresh), Context::FRESH_AT);
        assert_eq!(offset_of!(ProgramContext, shared.passed), Context::PASSED_AT);
    }
}
