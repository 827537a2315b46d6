//! The numbers that `libshmem_device` has names for, and what they mean.

use shoal_ir::abi::team::handle;
use shoal_ir::comm::SignalOp;
use shoal_ir::op::CmpOp;

use crate::builtin::Args;
use crate::lower_error::LowerResult;
use crate::value::Value;

/// The comparisons, by their numbers.
const COMPARISONS: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Gt, CmpOp::Le, CmpOp::Lt, CmpOp::Ge];

/// Names and numbers. ROCSHMEM numbers two of its comparisons otherwise; here they have NVSHMEM's numbers, so that a
/// comparison means the same whichever library's name it goes by.
const CONSTANTS: &[(&str, i32)] = &[
    ("NVSHMEM_CMP_EQ", 0),
    ("NVSHMEM_CMP_NE", 1),
    ("NVSHMEM_CMP_GT", 2),
    ("NVSHMEM_CMP_LE", 3),
    ("NVSHMEM_CMP_LT", 4),
    ("NVSHMEM_CMP_GE", 5),
    ("NVSHMEM_SIGNAL_SET", 9),
    ("NVSHMEM_SIGNAL_ADD", 10),
    ("NVSHMEM_TEAM_INVALID", handle::INVALID),
    ("NVSHMEM_TEAM_WORLD", handle::WORLD),
    ("NVSHMEM_TEAM_SHARED", handle::SHARED),
    ("NVSHMEMX_TEAM_NODE", handle::NODE),
    ("NVSHMEMX_TEAM_SAME_MYPE_NODE", handle::SAME_POSITION),
    ("NVSHMEMI_TEAM_SAME_GPU", handle::SAME_DEVICE),
    ("NVSHMEMI_TEAM_GPU_LEADERS", handle::DEVICE_LEADERS),
    ("ROCSHMEM_CMP_EQ", 0),
    ("ROCSHMEM_CMP_NE", 1),
    ("ROCSHMEM_CMP_GT", 2),
    ("ROCSHMEM_CMP_LE", 3),
    ("ROCSHMEM_CMP_LT", 4),
    ("ROCSHMEM_CMP_GE", 5),
    ("ROCSHMEM_SIGNAL_SET", 0),
    ("ROCSHMEM_SIGNAL_ADD", 1),
    ("ROCSHMEM_TEAM_INVALID", handle::INVALID),
    ("ROCSHMEM_TEAM_WORLD", handle::WORLD),
    ("MORI_CMP_EQ", 0),
    ("MORI_CMP_NE", 1),
    ("MORI_CMP_GT", 2),
    ("MORI_CMP_LE", 3),
    ("MORI_CMP_LT", 4),
    ("MORI_CMP_GE", 5),
    ("MORI_SIGNAL_SET", 9),
    ("MORI_SIGNAL_ADD", 10),
    ("MORI_TEAM_WORLD", handle::WORLD),
];

/// The number with this name.
pub(crate) fn constant(name: &str) -> Option<Value> {
    let found = CONSTANTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, number)| Value::int(i128::from(*number)))
}

/// The names that have numbers.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, i32)> {
    CONSTANTS.iter().copied()
}

/// How a signal changes its word.
pub(super) fn signal_op(a: &Args) -> LowerResult<SignalOp> {
    match a.int("sig_op")? {
        0 | 9 => Ok(SignalOp::Set),
        1 | 10 => Ok(SignalOp::Add),
        _ => Err(a.wrong("sig_op", "`NVSHMEM_SIGNAL_SET` or `NVSHMEM_SIGNAL_ADD`")),
    }
}

/// How a signal is compared.
pub(super) fn comparison(a: &Args) -> LowerResult<CmpOp> {
    let number = usize::try_from(a.int("cmp_")?).ok();
    let found = number.and_then(|number| COMPARISONS.get(number).copied());
    found.ok_or_else(|| a.wrong("cmp_", "a comparison such as `NVSHMEM_CMP_EQ`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_numbers_of_their_names() {
        for (name, number) in names().filter(|(name, _)| name.contains("_CMP_")) {
            let cmp = COMPARISONS[number as usize];
            assert!(name.to_lowercase().ends_with(cmp.name()), "{name} is {cmp}");
        }
        assert!(constant("NVSHMEM_CMP_XX").is_none());
    }
}
