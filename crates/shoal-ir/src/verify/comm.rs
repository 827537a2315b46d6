//! The typing rules of operations between ranks.

use super::memory::pointee;
use super::typing::{Rule, Typed, int, require};
use crate::comm::CommOp;
use crate::op::Sem;
use crate::types::{Elem, Scalar, Space, Type};

/// How many axes a mesh of ranks may have.
const MAX_AXES: u8 = 8;

pub(super) fn check(t: &Typed<'_>, op: CommOp) -> Rule {
    match op {
        CommOp::Rank { axis } | CommOp::NumRanks { axis } => {
            t.operand_count(0..=0)?;
            require!(axis.is_none_or(|axis| axis < MAX_AXES), "a mesh has at most {MAX_AXES} axes");
        }
        CommOp::SymmAt => {
            t.operand_count(2..=2)?;
            global_pointers(t)?;
            t.same(t.operands[1], &t.operands[0].with_elem(Scalar::I32))?;
        }
        CommOp::Wait { sem, .. } => {
            t.operand_count(3..=3)?;
            let word = word(t, &[32, 64])?;
            t.same(t.operands[1], &Type::scalar(Scalar::I32))?;
            t.same(t.operands[2], &word)?;
            require!(matches!(sem, Sem::Relaxed | Sem::Acquire), "a wait only reads, so it cannot be `{sem}`");
        }
        CommOp::ConsumeToken => {
            t.operand_count(2..=2)?;
            t.same(t.operands[1], &Type::Token)?;
        }
        CommOp::Notify { .. } => {
            t.operand_count(3..=3)?;
            let word = word(t, &[64])?;
            t.same(t.operands[1], &Type::scalar(Scalar::I32))?;
            t.same(t.operands[2], &word)?;
        }
    }
    t.inferred()
}

/// The first operand points to memory that other programs see.
fn global_pointers(t: &Typed<'_>) -> Rule {
    let ty = t.operands[0];
    let space = ty.elem().and_then(Elem::ptr).map(|ptr| ptr.space);
    require!(space == Some(Space::Global), "`{ty}` does not point to global memory");
    Ok(())
}

/// The first operand is one pointer to memory that other programs see.
fn global_pointer(t: &Typed<'_>) -> Rule {
    global_pointers(t)?;
    require!(!t.operands[0].is_tile(), "`{}` is not one pointer", t.operands[0]);
    Ok(())
}

/// The type of the words that the first operand points to.
fn word(t: &Typed<'_>, widths: &[u32]) -> Result<Type, String> {
    global_pointer(t)?;
    let word = pointee(t.operands[0])?;
    int(&word)?;
    let fits = word.elem().is_some_and(|elem| widths.contains(&elem.bits()));
    let shown: Vec<String> = widths.iter().map(ToString::to_string).collect();
    require!(fits, "a word has {} bits, `{word}` has not", shown.join(" or "));
    Ok(word)
}
