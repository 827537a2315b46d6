//! Whether the addresses of a tile are all different.
//!
//! A loop may load each element just before it stores it only if no later element is loaded from where an earlier one
//! was stored: even if loads and stores have the same addresses, those must differ among themselves.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::Value;
use shoal_ir::op::{BinaryOp, OpKind};
use smallvec::{SmallVec, smallvec};

use super::emitter::Emitter;
use super::overlap::behind_broadcast;
use crate::llvm::V;

/// By how much a tile changes along each dimension.
type Steps = SmallVec<[i64; 4]>;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether the compiler can see that no two elements of a tile of addresses share memory.
    pub(super) fn are_distinct(&self, pointers: Value) -> bool {
        let shape = self.shape(pointers);
        let bytes = u64::from(self.pointee_bytes(pointers));
        let facts = &self.func.value(pointers).facts;
        if let ([size], [run]) = (shape, &facts.contiguous[..])
            && *run >= u64::from(*size)
        {
            return true;
        }
        let Some(steps) = self.steps(pointers) else { return false };
        let mut dims: Vec<(u64, u64)> =
            steps.iter().zip(shape).filter(|(_, d)| **d > 1).map(|(s, &d)| (s.unsigned_abs(), u64::from(d))).collect();
        dims.sort_unstable();
        let mut reach = 0u64;
        dims.iter().all(|&(step, size)| {
            let clear = step >= reach.saturating_add(bytes);
            reach = reach.saturating_add(step.saturating_mul(size - 1));
            clear
        })
    }

    /// The same, found out when the code runs: for tiles that change by a fixed amount along each dimension, from the
    /// addresses at their corners, and for rows or columns that lie one after another.
    pub(super) fn are_distinct_at_run_time(&self, pointers: Value, corners: &[IntValue<'ctx>]) -> V<'ctx> {
        let llvm = self.llvm;
        let shape = self.shape(pointers);
        let bytes = llvm.const_i64(i64::from(self.pointee_bytes(pointers)));
        let in_order = |dims: &mut dyn Iterator<Item = usize>| -> V<'ctx> {
            let mut reach = llvm.const_i64(0);
            let mut clear: V<'ctx> = llvm.i1().const_int(1, false).into();
            for d in dims.filter(|&d| shape[d] > 1) {
                let along = llvm.bin(InstructionOpcode::Sub, corners[1 << d].into(), corners[0].into());
                let flag = llvm.i1().const_zero().into();
                let span = llvm.intrinsic("llvm.abs", &[llvm.i64().into()], &[along, flag]).expect("a value");
                let least = llvm.mul64(llvm.add64(reach, bytes), llvm.const_i64(i64::from(shape[d]) - 1));
                clear = llvm.bin(InstructionOpcode::And, clear, llvm.icmp(IntPredicate::UGE, span, least.into()));
                reach = llvm.add64(reach, span.into_int_value());
            }
            clear
        };
        let rows = in_order(&mut (0..shape.len()).rev());
        let columns = in_order(&mut (0..shape.len()));
        llvm.bin(InstructionOpcode::Or, rows, columns)
    }

    fn pointee_bytes(&self, pointers: Value) -> u32 {
        self.elem(pointers).ptr().expect("a pointer").element().bytes()
    }

    /// By how much a tile of integers (or of addresses, in bytes) changes along each dimension, if that is known and
    /// always the same.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn steps(&self, value: Value) -> Option<Steps> {
        let rank = self.shape(value).len();
        let op = self.func.def_op(value)?;
        let operands = self.func.op(op).operands();
        match &self.func.op(op).kind {
            OpKind::Iota { .. } => Some(smallvec![1]),
            OpKind::Splat | OpKind::Const(_) => Some(smallvec![0; rank]),
            OpKind::Broadcast => {
                let mut steps = self.steps(operands[0])?;
                let repeated = steps.iter_mut().zip(self.shape(operands[0])).filter(|(_, size)| **size == 1);
                repeated.for_each(|(step, _)| *step = 0);
                Some(steps)
            }
            OpKind::Cast(_) => {
                let (from, to) = (self.func.ty(operands[0]).number()?, self.func.ty(value).number()?);
                (from.is_int() && to.is_int() && to.bits() >= from.bits()).then(|| self.steps(operands[0]))?
            }
            OpKind::Reshape => self.steps_reshaped(operands[0], value),
            OpKind::Binary(BinaryOp::Add) => self.steps_of_both(operands, i64::checked_add),
            OpKind::Binary(BinaryOp::Sub) => self.steps_of_both(operands, i64::checked_sub),
            OpKind::Binary(BinaryOp::Mul) => {
                let factor = |v: Value| self.constant_behind(v).and_then(|c| i64::try_from(c).ok());
                let (tile, factor) = match (factor(operands[0]), factor(operands[1])) {
                    (_, Some(factor)) => (operands[0], factor),
                    (Some(factor), None) => (operands[1], factor),
                    (None, None) => return None,
                };
                self.steps(tile)?.into_iter().map(|step| step.checked_mul(factor)).collect()
            }
            OpKind::PtrAdd => {
                let bytes = i64::from(self.pointee_bytes(value));
                self.steps_of_both(operands, |base, offset| base.checked_add(offset.checked_mul(bytes)?))
            }
            _ => None,
        }
    }

    fn steps_of_both(&self, operands: &[Value], both: impl Fn(i64, i64) -> Option<i64>) -> Option<Steps> {
        let (a, b) = (self.steps(operands[0])?, self.steps(operands[1])?);
        a.into_iter().zip(b).map(|(a, b)| both(a, b)).collect()
    }

    /// A line folded into rows, or dimensions of size 1 that come and go.
    fn steps_reshaped(&self, from: Value, to: Value) -> Option<Steps> {
        let steps = self.steps(from)?;
        let (from, to) = (self.shape(from), self.shape(to));
        let mut real = steps.iter().zip(from).filter(|(_, size)| **size > 1).peekable();
        if from.iter().filter(|&&d| d > 1).eq(to.iter().filter(|&&d| d > 1)) {
            return to
                .iter()
                .map(|&size| if size > 1 { real.next().map(|(step, _)| *step) } else { Some(0) })
                .collect();
        }
        let (&line, _) = real.next()?;
        if real.peek().is_some() {
            return None;
        }
        let below = |d: usize| to[d + 1..].iter().map(|&size| i64::from(size)).product::<i64>();
        (0..to.len()).map(|d| line.checked_mul(below(d))).collect()
    }

    fn constant_behind(&self, value: Value) -> Option<i128> {
        let value = behind_broadcast(self.func, value);
        let scalar = match self.func.def_op(value).map(|op| self.func.op(op))? {
            splat if splat.kind == OpKind::Splat => splat.operands()[0],
            _ => value,
        };
        if let OpKind::Const(c) = self.func.def_kind(scalar)? { c.as_int() } else { None }
    }
}
