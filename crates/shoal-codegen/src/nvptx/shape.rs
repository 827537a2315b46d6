//! Operations that move elements between registers of a thread, or nowhere.

use std::collections::HashMap;

use shoal_ir::OpId;
use shoal_ir::class::ShapeOp;
use shoal_layout::{InDim, Place};

use super::emitter::{Emitter, Held, SharedTile};
use super::place::{element, registers};
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn move_in_registers(&mut self, op: OpId, kind: ShapeOp<'_>) {
        let func = self.func;
        let data = func.op(op);
        let (source, result) = (data.operands()[0], data.results()[0]);
        match kind {
            ShapeOp::Splat => {
                let count = registers(self.layout(result)) as usize;
                let number = self.scalar(source);
                self.hold_tile(result, vec![number; count]);
            }
            ShapeOp::Reshape => {
                let numbers = self.numbers(source);
                if func.ty(result).is_tile() {
                    let count = registers(self.layout(result)) as usize;
                    let numbers = if numbers.len() == count { numbers.to_vec() } else { vec![numbers[0]; count] };
                    self.hold_tile(result, numbers);
                } else {
                    // One element, which every thread holds.
                    self.hold(result, Held::Scalar(numbers[0]));
                }
            }
            ShapeOp::Transpose { perm } => {
                if let Held::Shared(tile) = &self.held[&source] {
                    let order: Vec<usize> = perm.iter().map(|&p| usize::from(p)).collect();
                    let memory = tile.memory.transpose_outs(&order).expect("a permutation of the dimensions");
                    let held = Held::Shared(SharedTile { memory, ..tile.clone() });
                    self.hold(result, held);
                    return;
                }
                let numbers = self.numbers(source);
                self.hold_tile(result, numbers.to_vec());
            }
            ShapeOp::Broadcast => {
                let numbers = self.broadcast(op);
                self.hold_tile(result, numbers);
            }
            ShapeOp::Join => self.join(op),
            ShapeOp::Split => self.split(op),
            ShapeOp::ConvertLayout | ShapeOp::Gather { .. } => unreachable!("elements move between threads"),
        }
    }

    fn broadcast(&mut self, op: OpId) -> Vec<V<'ctx>> {
        let func = self.func;
        let data = func.op(op);
        let (source, result) = (data.operands()[0], data.result());
        let numbers = self.numbers(source);
        let (from, to) = (self.layout(source), self.layout(result));
        let holder: HashMap<u64, u32> =
            (0..registers(from)).rev().map(|register| (element(from, register), register)).collect();
        let shape = func.ty(source).shape();
        let source_of = |register: u32| {
            let at = to.apply(Place { register, ..Place::default() });
            let flat = at.iter().zip(shape).fold(0u64, |flat, (&coordinate, &size)| {
                flat * u64::from(size) + if size == 1 { 0 } else { u64::from(coordinate) }
            });
            holder[&flat]
        };
        (0..registers(to)).map(|register| numbers[source_of(register) as usize]).collect()
    }

    fn join(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let [a, b] = [0, 1].map(|index| self.numbers(data.operands()[index]));
        let result = data.result();
        let numbers = if func.ty(data.operands()[0]).is_tile() {
            a.iter().zip(b.iter()).flat_map(|(&a, &b)| [a, b]).collect()
        } else {
            let llvm = self.llvm;
            let pick = |at: inkwell::values::IntValue<'ctx>| {
                let is_first = llvm.icmp(inkwell::IntPredicate::EQ, at.into(), llvm.const_i32(0).into());
                llvm.select(is_first, a[0], b[0])
            };
            self.coordinates(self.layout(result), 0).into_iter().map(pick).collect()
        };
        self.hold_tile(result, numbers);
    }

    fn split(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let source = data.operands()[0];
        let numbers = self.numbers(source);
        let layout = self.layout(source);
        let half = layout
            .bases(InDim::Register)
            .position(|basis| basis.last() == Some(&1))
            .expect("the halves are in registers of one lane");
        for (which, &result) in data.results().iter().enumerate() {
            let part = (0..numbers.len()).filter(|register| register >> half & 1 == which);
            let part = part.map(|register| numbers[register]).collect();
            self.hold_numbers(result, part);
        }
    }
}
