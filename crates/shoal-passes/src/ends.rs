//! The ends of regions.

use shoal_ir::{Func, Region, Value};

/// The values a region ends with (for the first region of a `while`, the condition is the first).
///
/// # Panics
/// If the region has no terminator yet.
pub fn ends(func: &Func, region: Region) -> &[Value] {
    let end = func.terminator(region).expect("a region ends in a terminator");
    func.op(end).operands()
}
