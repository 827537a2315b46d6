//! Which integers only ever become addresses.
//!
//! A run of consecutive 32-bit integers, made wider, is a run of consecutive 64-bit ones only if it does not cross the
//! end of the narrower type. Offsets do not: what lies there is further away than any memory. Other integers, such as
//! hashes, do.

use std::collections::HashSet;

use shoal_ir::Value;
use shoal_ir::op::{BinaryOp, OpKind};

use super::emitter::Emitter;

impl Emitter<'_, '_> {
    /// Whether an integer is used for addresses, and for the comparisons that make their masks, and for nothing else.
    pub(super) fn becomes_addresses(&self, value: Value) -> bool {
        self.only_addresses(value, &mut HashSet::new())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn only_addresses(&self, value: Value, seen: &mut HashSet<Value>) -> bool {
        let func = self.func;
        !seen.insert(value)
            || func.value(value).uses().iter().all(|used| {
                let user = func.op(used.op);
                match &user.kind {
                    OpKind::PtrAdd | OpKind::Cmp(_) => true,
                    OpKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
                    | OpKind::Splat
                    | OpKind::Broadcast
                    | OpKind::Reshape
                    | OpKind::Transpose { .. } => {
                        user.results().iter().all(|&result| self.only_addresses(result, seen))
                    }
                    _ => false,
                }
            })
    }
}
