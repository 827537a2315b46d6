//! Loads that read a whole matrix at even distances, as far as only the code can tell.
//!
//! Kernels mask what is beyond a matrix's end, and take row numbers modulo the number of rows. Where a tile lies inside the
//! matrix, as nearly all do, the mask is true everywhere and the remainder changes nothing. A few corners of the tile
//! show whether that is so.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::op::{BinaryOp, CmpOp, OpKind};
use shoal_ir::{Func, Value};

use super::emitter::Emitter;
use super::index::{Dim, Index, LaneBits};
use crate::shared::llvm::V;

/// What must hold at run time for a load to be of a whole matrix.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// The mask, which falls along each dimension: it is true everywhere if it is at the last element.
    mask: Option<Value>,
    /// Tiles that grow along each dimension unless they wrap around.
    growing: Vec<Value>,
    /// Remainders, and the tiles they are of, which grow.
    remainders: Vec<(Value, Value)>,
}

impl Conditions {
    /// The conditions for a load through `pointers` under `mask` to be of a matrix at even distances, in which elements
    /// of so many bytes follow each other along `along`. `None` if nothing of the kind is to be expected.
    pub(super) fn of(
        func: &Func,
        pointers: Value,
        mask: Option<Value>,
        along: usize,
        bytes: i64,
    ) -> Option<Conditions> {
        let mut conditions = Conditions { mask, ..Conditions::default() };
        let across = 1 - along;
        let follows = step(func, pointers, along, &mut conditions.remainders) == Some(Step::Known(bytes));
        let even = step(func, pointers, across, &mut conditions.remainders).is_some();
        let masked = mask.is_none_or(|mask| falls(func, mask, &mut conditions.growing));
        (follows && even && masked).then_some(conditions)
    }

    /// Whether nothing has to be looked at.
    pub(super) fn always_hold(&self) -> bool {
        self.mask.is_none() && self.remainders.is_empty()
    }
}

/// By how much a tile changes along a dimension.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    Known(i64),
    /// By one amount that only the code knows.
    AtRunTime,
}

/// By how much a tile of integers or addresses changes along a dimension, if by one amount, with remainders taken for what
/// they are of.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
fn step(func: &Func, value: Value, dim: usize, remainders: &mut Vec<(Value, Value)>) -> Option<Step> {
    let shape = func.ty(value).shape();
    if shape.get(dim).is_none_or(|&size| size == 1) {
        return Some(Step::Known(0));
    }
    let data = func.op(func.def_op(value)?);
    let operands = data.operands();
    let mut of = |index: usize| step(func, operands[index], dim, remainders);
    match &data.kind {
        OpKind::Iota { .. } => Some(Step::Known(1)),
        OpKind::Splat | OpKind::Const(_) => Some(Step::Known(0)),
        OpKind::Broadcast => of(0),
        OpKind::Cast(_) => {
            let (from, to) = (func.ty(operands[0]).number()?, func.ty(value).number()?);
            (from.is_int() && to.is_int() && to.bits() >= from.bits()).then(|| of(0)).flatten()
        }
        OpKind::Reshape => {
            let from = func.ty(operands[0]).shape();
            let real = |shape: &[u32]| shape.iter().copied().filter(|&size| size > 1).collect::<Vec<_>>();
            let nth = shape[..dim].iter().filter(|&&size| size > 1).count();
            let place = from.iter().enumerate().filter(|(_, size)| **size > 1).nth(nth)?.0;
            (real(from) == real(shape)).then(|| step(func, operands[0], place, remainders)).flatten()
        }
        OpKind::Binary(BinaryOp::Add) => both(of(0)?, of(1)?, i64::checked_add),
        OpKind::Binary(BinaryOp::Sub) => both(of(0)?, of(1)?, i64::checked_sub),
        OpKind::Binary(BinaryOp::Mul) => match (of(0)?, of(1)?) {
            (Step::Known(0), Step::Known(0)) => Some(Step::Known(0)),
            (Step::Known(0), _) | (_, Step::Known(0)) => Some(Step::AtRunTime),
            (Step::Known(_) | Step::AtRunTime, Step::Known(_) | Step::AtRunTime) => None,
        },
        OpKind::Binary(BinaryOp::Rem) => {
            let (tile, divisor) = (of(0)?, of(1)?);
            if !remainders.iter().any(|&(known, _)| known == value) {
                remainders.push((value, operands[0]));
            }
            (divisor == Step::Known(0) && matches!(tile, Step::Known(n) if n >= 0)).then_some(tile)
        }
        OpKind::PtrAdd => {
            let bytes = i64::from(func.ty(value).elem()?.ptr()?.element().bytes());
            both(of(0)?, of(1)?, |base, offset| base.checked_add(offset.checked_mul(bytes)?))
        }
        _ => None,
    }
}

fn both(a: Step, b: Step, known: impl Fn(i64, i64) -> Option<i64>) -> Option<Step> {
    match (a, b) {
        (Step::Known(a), Step::Known(b)) => known(a, b).map(Step::Known),
        (Step::Known(_) | Step::AtRunTime, Step::Known(_) | Step::AtRunTime) => Some(Step::AtRunTime),
    }
}

/// Whether a mask, along each dimension, is true up to some place and false from there on, unless a tile wraps around.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
fn falls(func: &Func, mask: Value, growing: &mut Vec<Value>) -> bool {
    let Some(op) = func.def_op(mask) else { return false };
    let data = func.op(op);
    let operands = data.operands();
    match &data.kind {
        OpKind::Splat | OpKind::Const(_) => true,
        OpKind::Broadcast | OpKind::Reshape => falls(func, operands[0], growing),
        OpKind::Binary(BinaryOp::And) => operands.iter().all(|&v| falls(func, v, growing)),
        OpKind::Cmp(CmpOp::Lt | CmpOp::Le) => {
            let rank = func.ty(mask).shape().len();
            let mut none = Vec::new();
            let mut steps = |v: Value| (0..rank).map(|dim| step(func, v, dim, &mut none)).collect::<Vec<_>>();
            let grows = steps(operands[0]).iter().all(|step| matches!(step, Some(Step::Known(n)) if *n >= 0));
            let stays = steps(operands[1]).iter().all(|step| *step == Some(Step::Known(0)));
            let signed = func.ty(operands[0]).number().is_some_and(|ty| ty.is_signed_int());
            growing.push(operands[0]);
            grows && stays && signed && none.is_empty()
        }
        _ => false,
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether conditions hold, as code.
    pub(super) fn hold(&mut self, conditions: &Conditions) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let mut all: V<'ctx> = llvm.i1().const_int(1, false).into();
        if let Some(mask) = conditions.mask {
            let last = self.scalar_at_corner(mask, Corner::Last);
            all = self.as_bool(last).into();
        }
        for &tile in &conditions.growing {
            let (first, last) = (self.scalar_at_corner(tile, Corner::First), self.scalar_at_corner(tile, Corner::Last));
            all = llvm.bin(InstructionOpcode::And, all, llvm.icmp(IntPredicate::SLE, first, last));
        }
        for &(remainder, tile) in &conditions.remainders {
            let [(first, last), (from, to)] = [tile, remainder]
                .map(|v| (self.scalar_at_corner(v, Corner::First), self.scalar_at_corner(v, Corner::Last)));
            // The tile did not wrap around, and the remainder grew as much: it did not start anew in between.
            let grown = |from, to| llvm.bin(InstructionOpcode::Sub, to, from);
            let same = llvm.icmp(IntPredicate::EQ, grown(first, last), grown(from, to));
            let grows = llvm.icmp(IntPredicate::SLE, first, last);
            all = llvm.bin(InstructionOpcode::And, all, llvm.bin(InstructionOpcode::And, same, grows));
        }
        all.into_int_value()
    }

    fn scalar_at_corner(&mut self, value: Value, corner: Corner) -> V<'ctx> {
        let shape = self.shape(value);
        let place = |&size: &u32| match corner {
            Corner::First => 0,
            Corner::Last => i64::from(size) - 1,
        };
        let dims = shape.iter().map(|size| Dim { base: self.llvm.const_i64(place(size)), lanes: LaneBits::new() });
        let index = Index { dims: dims.collect(), log_lanes: 0 };
        if shape.is_empty() { self.scalar(value) } else { self.scalar_at(value, &index) }
    }
}

/// An end of a tile.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Corner {
    First,
    Last,
}
