//! The typing rules of operations between ranks.

use super::memory::pointee;
use super::typing::{Rule, Typed, int, require};
use crate::comm::CommOp;
use crate::op::Sem;
use crate::shmem::ShmemOp;
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
            t.operand_count(2..=3)?;
            global_pointers(t, 0)?;
            lanes(t, &[None, Some(Scalar::I32)], Some(2))?;
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
        CommOp::Shmem(op) => shmem(t, op)?,
    }
    t.inferred()
}

fn shmem(t: &Typed<'_>, op: ShmemOp) -> Rule {
    const I32: Option<Scalar> = Some(Scalar::I32);
    const I64: Option<Scalar> = Some(Scalar::I64);
    const U64: Option<Scalar> = Some(Scalar::U64);
    match op {
        ShmemOp::TeamRank | ShmemOp::TeamSize | ShmemOp::Meet { .. } => scalars(t, &[I32]),
        ShmemOp::TeamTranslate => scalars(t, &[I32; 3]),
        ShmemOp::Fence | ShmemOp::Quiet => scalars(t, &[]),
        ShmemOp::Collect { .. } => {
            scalars(t, &[I32, None, None, I64])?;
            global_pointers(t, 1)?;
            global_pointers(t, 2)
        }
        ShmemOp::Copy { .. } => {
            lanes(t, &[None, None, I64, I32], op.mask_at())?;
            global_pointers(t, 0)?;
            global_pointers(t, 1)
        }
        ShmemOp::PutSignal { .. } => {
            lanes(t, &[None, None, I64, None, U64, I32], op.mask_at())?;
            global_pointers(t, 0)?;
            global_pointers(t, 1)?;
            signal_words(t, 3)
        }
        ShmemOp::PutValue => {
            lanes(t, &[None, None, I32], op.mask_at())?;
            global_pointers(t, 0)?;
            t.same(t.operands[1], &pointee(t.operands[0])?)
        }
        ShmemOp::Signal { .. } => {
            lanes(t, &[None, U64, I32], op.mask_at())?;
            signal_words(t, 0)
        }
        ShmemOp::SignalWait { .. } => {
            lanes(t, &[None, U64], op.mask_at())?;
            signal_words(t, 0)
        }
    }
}

/// The operands are scalars, of these types where one is given.
fn scalars(t: &Typed<'_>, types: &[Option<Scalar>]) -> Rule {
    lanes(t, types, None)?;
    require!(t.operands.iter().all(|ty| !ty.is_tile()), "one of each operand is taken, not a tile");
    Ok(())
}

/// The operands have these element types, where one is given, and one shape; a mask may follow.
fn lanes(t: &Typed<'_>, types: &[Option<Scalar>], mask_at: Option<usize>) -> Rule {
    t.operand_count(types.len()..=types.len() + usize::from(mask_at.is_some()))?;
    t.layouts_decided_together()?;
    let wanted = types.iter().copied().chain([Some(Scalar::I1)]);
    for (ty, wanted) in t.operands.iter().zip(wanted) {
        require!(ty.elem().is_some(), "`{ty}` is neither a scalar nor a tile");
        require!(ty.shape() == t.operands[0].shape(), "shapes of `{}` and `{ty}` differ", t.operands[0]);
        if let Some(wanted) = wanted {
            t.same(ty, &t.operands[0].with_elem(wanted))?;
        }
    }
    Ok(())
}

/// An operand is pointers to memory that other programs see.
fn global_pointers(t: &Typed<'_>, operand: usize) -> Rule {
    let ty = t.operands[operand];
    let space = ty.elem().and_then(Elem::ptr).map(|ptr| ptr.space);
    require!(space == Some(Space::Global), "`{ty}` does not point to global memory");
    Ok(())
}

/// An operand is pointers to words of signals.
fn signal_words(t: &Typed<'_>, operand: usize) -> Rule {
    global_pointers(t, operand)?;
    let word = pointee(t.operands[operand])?;
    require!(word.number() == Some(Scalar::U64), "a signal is an unsigned word of 64 bits, `{word}` is not");
    Ok(())
}

/// The first operand is one pointer to memory that other programs see.
fn global_pointer(t: &Typed<'_>) -> Rule {
    global_pointers(t, 0)?;
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
