//! Reading ahead.
//!
//! A loop that walks over memory tile by tile knows where the next tile lies while it works on the present one. What
//! the hardware foresees ends at the border of a page, and many tiles begin there, so the code asks for the next tile
//! itself: each vector that is loaded also asks for what the next trip will load in its place. Nothing happens if that
//! is no memory.

use std::collections::HashMap;

use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{OpId, Region, Scalar, Value};

use super::chunk::Chunk;
use super::emitter::Emitter;
use crate::shared::llvm::V;
use crate::shared::recursion::deep;

/// Smaller tiles are not there in time; larger ones push out what the present trip works with.
const TILE_BYTES: std::ops::RangeInclusive<u64> = 1 << 10..=32 << 10;

/// How values change from one trip of a loop to the next.
struct Changes<'ctx> {
    body: Region,
    /// Of the loop's counter.
    step: IntValue<'ctx>,
    known: HashMap<Value, Option<IntValue<'ctx>>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Asks for what the next trip of the loop around a load will read where it now reads this chunk of addresses. Only
    /// the last of several readers does so: the tile arrives while it works.
    pub(super) fn read_ahead(&mut self, load: OpId, pointers: Chunk<'ctx>) {
        let func = self.func;
        let (value, addresses) = (func.op(load).result(), func.op(load).operands()[0]);
        let bytes = u64::from(self.elem(value).bytes());
        let tile_bytes = bytes * self.shape(value).iter().map(|&d| u64::from(d)).product::<u64>();
        let Chunk::Affine { base: V::PointerValue(base), step } = pointers else { return };
        let readers = self.fusion.unfinished_readers(value, &self.done, None);
        if step != bytes as i64
            || self.fusion.is_materialised(value)
            || readers > 1
            || !TILE_BYTES.contains(&tile_bytes)
        {
            return;
        }
        let Some(distance) = self.distance_to_next_trip(load, addresses) else { return };
        let llvm = self.llvm;
        let (reads, near, data) = (llvm.const_i32(0).into(), llvm.const_i32(3).into(), llvm.const_i32(1).into());
        let next = llvm.offset(base, distance).into();
        llvm.intrinsic("llvm.prefetch", &[llvm.ptr().into()], &[next, reads, near, data]);
    }

    /// By how many bytes the addresses of a load differ in the next trip of the loop it stands in, if that is the same
    /// for all of them in all trips.
    fn distance_to_next_trip(&self, load: OpId, addresses: Value) -> Option<IntValue<'ctx>> {
        let body = self.func.op(load).parent()?;
        let owner = self.func.region(body).owner()?;
        let OpKind::For(_) = self.func.op(owner).kind else { return None };
        let step = self.wide(self.func.op(owner).operands()[2])?;
        let mut changes = Changes { body, step, known: HashMap::new() };
        self.change(addresses, &mut changes).filter(|distance| !distance.is_null())
    }

    /// How much a number or address changes from one trip of a loop to the next; addresses in bytes.
    fn change(&self, value: Value, changes: &mut Changes<'ctx>) -> Option<IntValue<'ctx>> {
        let func = self.func;
        if func.defining_region(value) != changes.body {
            return Some(self.llvm.const_i64(0));
        }
        let Some(op) = func.def_op(value) else { return self.carried_change(value, changes.body, changes.step) };
        if let Some(&known) = changes.known.get(&value) {
            return known;
        }
        let change = deep(|| self.computed_change(op, changes));
        changes.known.insert(value, change);
        change
    }

    /// The same for what an operation of the loop's body computes.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn computed_change(&self, op: OpId, changes: &mut Changes<'ctx>) -> Option<IntValue<'ctx>> {
        let (func, llvm) = (self.func, self.llvm);
        let operands = func.op(op).operands();
        let mut of = |i: usize| self.change(operands[i], changes);
        match &func.op(op).kind {
            OpKind::Const(_) | OpKind::Iota { .. } => Some(llvm.const_i64(0)),
            OpKind::Splat | OpKind::Broadcast | OpKind::Reshape | OpKind::Cast(_) => of(0),
            OpKind::Binary(BinaryOp::Add) => Some(llvm.add64(of(0)?, of(1)?)),
            OpKind::Binary(BinaryOp::Mul) => {
                let (a, b) = (of(0)?, of(1)?);
                match (a.is_null(), b.is_null()) {
                    (true, true) => Some(a),
                    (false, true) => Some(llvm.mul64(a, self.wide(operands[1])?)),
                    (true, false) => Some(llvm.mul64(b, self.wide(operands[0])?)),
                    (false, false) => None,
                }
            }
            OpKind::PtrAdd => Some(llvm.add64(of(0)?, self.in_bytes(func.op(op).result(), of(1)?))),
            _ => None,
        }
    }

    /// The same for what a loop carries: its counter, and what each trip adds a fixed number to.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn carried_change(&self, param: Value, body: Region, step: IntValue<'ctx>) -> Option<IntValue<'ctx>> {
        let func = self.func;
        let position = func.region(body).params().iter().position(|&p| p == param)?;
        let Some(carried) = position.checked_sub(1) else { return Some(step) };
        let next = func.op(func.terminator(body)?).operands()[carried];
        let op = func.def_op(next)?;
        let [a, b] = func.op(op).operands() else { return None };
        if *a != param || func.defining_region(*b) == body {
            return None;
        }
        match func.op(op).kind {
            OpKind::Binary(BinaryOp::Add) => self.wide(*b),
            OpKind::PtrAdd => Some(self.in_bytes(param, self.wide(*b)?)),
            _ => None,
        }
    }

    fn in_bytes(&self, address: Value, elements: IntValue<'ctx>) -> IntValue<'ctx> {
        let bytes = self.elem(address).ptr().map_or(1, |p| p.element().bytes());
        self.llvm.mul64(elements, self.llvm.const_i64(i64::from(bytes)))
    }

    /// The one integer that a value holds, in 64 bits.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn wide(&self, value: Value) -> Option<IntValue<'ctx>> {
        if self.func.ty(value).is_tile() {
            let op = self.func.def_op(value)?;
            return match self.func.op(op).kind {
                OpKind::Splat | OpKind::Broadcast | OpKind::Reshape => self.wide(self.func.op(op).operands()[0]),
                OpKind::Const(c) => Some(self.extended(c.ty(), self.constant(c))),
                _ => None,
            };
        }
        let scalar = *self.scalars.get(&value)?;
        Some(self.extended(self.func.ty(value).number()?, scalar))
    }

    fn extended(&self, ty: Scalar, value: V<'ctx>) -> IntValue<'ctx> {
        let extend = match ty.bits() {
            64 => InstructionOpcode::BitCast,
            _ if ty.is_signed_int() => InstructionOpcode::SExt,
            _ => InstructionOpcode::ZExt,
        };
        self.llvm.cast(extend, value, self.llvm.i64().into()).into_int_value()
    }
}
