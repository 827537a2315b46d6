//! What a running program can see of its launch, and how it is entered.

use core::mem::offset_of;

/// One call runs programs `first..last` one after another; see [`coordinates`] for their numbers.
pub type Entry = unsafe extern "C" fn(args: *const u8, ctx: *mut Context, first: u64, last: u64);

/// What generated code knows of its launch. A device keeps more behind it, which is its own business.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// Working memory: 64-byte aligned, at least what the kernel asks for.
    pub scratch: *mut u8,
    /// The launch grid.
    pub grid: [u32; 3],
    /// Linear id of the program being run; stored by generated code.
    pub program: u64,
    /// Rounds of loops until the program is to call [`CheckStop`](crate::Hook::CheckStop); counted down by generated
    /// code.
    pub fuel: i64,
    /// 1 until a program of this launch has run with this scratch: what is left in it is not this launch's. Generated code
    /// that keeps something there for the next program sets it to 0.
    pub fresh: u64,
    /// How often a program of it has come to the end of a wait; counted by generated code.
    pub passed: u64,
}

impl Context {
    /// Where [`scratch`](Self::scratch) is.
    pub const SCRATCH_AT: usize = offset_of!(Context, scratch);
    /// Where [`grid`](Self::grid) is.
    pub const GRID_AT: usize = offset_of!(Context, grid);
    /// Where [`program`](Self::program) is.
    pub const PROGRAM_AT: usize = offset_of!(Context, program);
    /// Where [`fuel`](Self::fuel) is.
    pub const FUEL_AT: usize = offset_of!(Context, fuel);
    /// Where [`fresh`](Self::fresh) is.
    pub const FRESH_AT: usize = offset_of!(Context, fresh);
    /// Where [`passed`](Self::passed) is.
    pub const PASSED_AT: usize = offset_of!(Context, passed);

    /// The type in C.
    pub const C_DEFINITION: &'static str = "typedef struct { unsigned char *scratch; uint32_t grid[3]; uint64_t program; int64_t fuel; uint64_t fresh; uint64_t passed; } \
         Context;";
}

/// The coordinates of linear program `program` of `grid`: x runs fastest, then y, then z.
#[must_use]
pub fn coordinates(program: u64, grid: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(grid[0].max(1)), u64::from(grid[1].max(1)));
    let clamp = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
    [clamp(program % x), clamp(program / x % y), clamp(program / x / y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_run_x_fastest() {
        assert_eq!(coordinates(0, [2, 3, 4]), [0, 0, 0]);
        assert_eq!(coordinates(1, [2, 3, 4]), [1, 0, 0]);
        assert_eq!(coordinates(2, [2, 3, 4]), [0, 1, 0]);
        assert_eq!(coordinates(23, [2, 3, 4]), [1, 2, 3]);
    }
}
