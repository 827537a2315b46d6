//! Which integers only ever become addresses.
//!
//! A run of consecutive 32-bit integers, made wider, is a run of consecutive 64-bit ones only if it does not cross the
//! end of the narrower type. Offsets do not: what lies there is further away than any memory. Other integers, such as
//! hashes, do.

use cranelift_entity::EntitySet;
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Func, OpId, Value};

/// The values of a function that are used for addresses, and for the comparisons that make their masks, and for
/// nothing else.
#[derive(Debug)]
pub(super) struct Offsets(EntitySet<Value>);

impl Offsets {
    /// Users are looked at before what they use; what is carried around loops counts as used otherwise.
    pub(super) fn new(func: &Func) -> Offsets {
        let mut offsets = Offsets(EntitySet::new());
        for &op in func.walk().iter().rev() {
            for &result in func.op(op).results() {
                let uses = func.value(result).uses();
                if uses.iter().all(|used| offsets.makes_offsets(func, used.op)) {
                    offsets.0.insert(result);
                }
            }
        }
        offsets
    }

    /// Whether an integer only ever becomes addresses.
    pub(super) fn contains(&self, value: Value) -> bool {
        self.0.contains(value)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn makes_offsets(&self, func: &Func, user: OpId) -> bool {
        let user = func.op(user);
        match &user.kind {
            OpKind::PtrAdd | OpKind::Cmp(_) => true,
            OpKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. } => user.results().iter().all(|&result| self.contains(result)),
            _ => false,
        }
    }
}
