//! Tiles of integers or addresses that change by a fixed amount along each dimension.
//!
//! The corners of such a tile bound it, which is what alias checks look at, and products read matrices at such
//! addresses where they lie. Found once for a function, operands before results, so that the time is linear.

use cranelift_entity::{EntitySet, SecondaryMap};
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Func, OpId, Value};
use smallvec::{SmallVec, smallvec};

/// By how much a tile changes along each dimension: integers, or addresses in bytes.
pub(super) type Steps = SmallVec<[i64; 4]>;

/// More dimensions have too many corners to look at.
const MAX_RANK: usize = 3;

/// What is known of the tiles of one function.
#[derive(Debug)]
pub(super) struct AffineTiles {
    affine: EntitySet<Value>,
    steps: SecondaryMap<Value, Option<Steps>>,
}

impl AffineTiles {
    pub(super) fn new(func: &Func) -> AffineTiles {
        let mut tiles = AffineTiles { affine: EntitySet::new(), steps: SecondaryMap::new() };
        for op in func.walk() {
            let &[result] = func.op(op).results() else { continue };
            if !func.ty(result).is_tile() {
                continue;
            }
            if tiles.changes_evenly(func, op) {
                tiles.affine.insert(result);
            }
            tiles.steps[result] = tiles.steps_of(func, op);
        }
        tiles
    }

    /// Whether a value changes by a fixed amount along each dimension, known or not; scalars do.
    pub(super) fn is_affine(&self, func: &Func, value: Value) -> bool {
        !func.ty(value).is_tile() || self.affine.contains(value)
    }

    /// By how much a tile changes along each dimension, if that is known at compile time.
    pub(super) fn steps(&self, value: Value) -> Option<&Steps> {
        self.steps[value].as_ref()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn changes_evenly(&self, func: &Func, op: OpId) -> bool {
        let (data, result) = (func.op(op), func.op(op).result());
        let operands = data.operands();
        let affine = |v: Value| self.is_affine(func, v);
        if func.ty(result).shape().len() > MAX_RANK {
            return false;
        }
        match &data.kind {
            OpKind::Iota { .. } | OpKind::Splat | OpKind::Const(_) => true,
            OpKind::Broadcast => affine(operands[0]),
            OpKind::Cast(_) => {
                // What is cut off would come back at the other end.
                let wide = func.ty(result).number().is_some_and(|s| s.is_int() && s.bits() >= 32);
                wide && affine(operands[0])
            }
            OpKind::Reshape => {
                let real = |v: Value| func.ty(v).shape().iter().copied().filter(|&d| d > 1);
                real(result).eq(real(operands[0])) && affine(operands[0])
            }
            OpKind::Binary(BinaryOp::Add | BinaryOp::Sub) | OpKind::PtrAdd => operands.iter().all(|&v| affine(v)),
            OpKind::Binary(BinaryOp::Mul) => {
                let uniform = |v: Value| {
                    matches!(func.def_kind(behind_broadcast(func, v)), Some(OpKind::Splat | OpKind::Const(_)))
                };
                operands.iter().any(|&v| uniform(v)) && operands.iter().all(|&v| affine(v))
            }
            _ => false,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn steps_of(&self, func: &Func, op: OpId) -> Option<Steps> {
        let (data, result) = (func.op(op), func.op(op).result());
        let operands = data.operands();
        match &data.kind {
            OpKind::Iota { .. } => Some(smallvec![1]),
            OpKind::Splat | OpKind::Const(_) => Some(smallvec![0; func.ty(result).shape().len()]),
            OpKind::Broadcast => {
                let mut steps = self.steps(operands[0])?.clone();
                let repeated = steps.iter_mut().zip(func.ty(operands[0]).shape()).filter(|(_, size)| **size == 1);
                repeated.for_each(|(step, _)| *step = 0);
                Some(steps)
            }
            OpKind::Cast(_) => {
                let (from, to) = (func.ty(operands[0]).number()?, func.ty(result).number()?);
                let widens = from.is_int() && to.is_int() && to.bits() >= from.bits();
                self.steps(operands[0]).filter(|_| widens).cloned()
            }
            OpKind::Reshape => {
                reshaped(self.steps(operands[0])?, func.ty(operands[0]).shape(), func.ty(result).shape())
            }
            OpKind::Binary(BinaryOp::Add) => self.steps_of_both(operands, i64::checked_add),
            OpKind::Binary(BinaryOp::Sub) => self.steps_of_both(operands, i64::checked_sub),
            OpKind::Binary(BinaryOp::Mul) => {
                let factor = |v: Value| constant_behind(func, v).and_then(|c| i64::try_from(c).ok());
                let (tile, factor) = match (factor(operands[0]), factor(operands[1])) {
                    (_, Some(factor)) => (operands[0], factor),
                    (Some(factor), None) => (operands[1], factor),
                    (None, None) => return None,
                };
                self.steps(tile)?.iter().map(|step| step.checked_mul(factor)).collect()
            }
            OpKind::PtrAdd => {
                let bytes = i64::from(func.ty(result).elem()?.ptr()?.element().bytes());
                self.steps_of_both(operands, |base, offset| base.checked_add(offset.checked_mul(bytes)?))
            }
            _ => None,
        }
    }

    fn steps_of_both(&self, operands: &[Value], both: impl Fn(i64, i64) -> Option<i64>) -> Option<Steps> {
        let (a, b) = (self.steps(operands[0])?, self.steps(operands[1])?);
        a.iter().zip(b).map(|(&a, &b)| both(a, b)).collect()
    }
}

/// A line folded into rows, or dimensions of size 1 that come and go.
fn reshaped(steps: &Steps, from: &[u32], to: &[u32]) -> Option<Steps> {
    let mut real = steps.iter().zip(from).filter(|(_, size)| **size > 1).peekable();
    if from.iter().filter(|&&d| d > 1).eq(to.iter().filter(|&&d| d > 1)) {
        return to.iter().map(|&size| if size > 1 { real.next().map(|(step, _)| *step) } else { Some(0) }).collect();
    }
    let (&line, _) = real.next()?;
    if real.peek().is_some() {
        return None;
    }
    let below = |d: usize| to[d + 1..].iter().map(|&size| i64::from(size)).product::<i64>();
    (0..to.len()).map(|d| line.checked_mul(below(d))).collect()
}

fn constant_behind(func: &Func, value: Value) -> Option<i128> {
    let value = behind_broadcast(func, value);
    let scalar = match func.def_op(value).map(|op| func.op(op))? {
        splat if splat.kind == OpKind::Splat => splat.operands()[0],
        _ => value,
    };
    if let OpKind::Const(c) = func.def_kind(scalar)? { c.as_int() } else { None }
}

/// The tile that broadcasts and reshapes only repeat or regroup.
fn behind_broadcast(func: &Func, mut value: Value) -> Value {
    while let Some(op) = func.def_op(value)
        && matches!(func.op(op).kind, OpKind::Broadcast | OpKind::Reshape)
    {
        value = func.op(op).operands()[0];
    }
    value
}
