//! Stores that finish the product of a loop.
//!
//! After `for …: acc = dot(a, b, acc)`, most kernels convert the sums and store them. Where nothing else reads them, the
//! store's loop runs over the blocks in which the matrix unit computes, and takes each from L1 (see
//! [`super::dot::PostponedPlan`]). The products then read `a` while `c` is being written; where the code finds that they
//! share memory, it copies `a` first.

use inkwell::values::IntValue;
use shoal_ir::class::OpClass;
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Region, Use, Value};

use super::chunk::Buffer;
use super::dot::Rest;
use super::emitter::Emitter;
use super::fusion::is_fusible;

/// A product that waits for the store of its sums.
#[derive(Copy, Clone)]
pub(super) struct Unfinished<'ctx> {
    product: OpId,
    /// The sums after the loop.
    sums: Value,
    /// How often the loop ran.
    rounds: IntValue<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The store that is all that becomes of a loop's result: behind the loop, element by element, with nothing in
    /// between that changes memory.
    pub(super) fn finishing_store(&self, around: OpId, sums: Value) -> Option<OpId> {
        let func = self.func;
        let region = func.op(around).parent()?;
        let mut value = sums;
        let store = loop {
            let &[Use { op, index }] = func.value(value).uses() else { return None };
            let data = func.op(op);
            if data.parent() != Some(region) {
                return None;
            }
            if matches!(data.kind, OpKind::Store { .. }) {
                break (index == 1).then_some(op)?;
            }
            let (OpClass::Elementwise(_), &[result]) = (data.kind.class(), data.results()) else { return None };
            if !is_fusible(&data.kind) || self.fusion.is_materialised(result) {
                return None;
            }
            value = result;
        };
        let between = func.region(region).ops().iter().skip_while(|&&op| op != around).skip(1);
        let unchanged = !between.take_while(|&&op| op != store).any(|&op| self.changes_memory(op));
        (unchanged && self.affine.is_affine(func, func.op(store).operands()[0])).then_some(store)
    }

    /// At the end of a loop: its products may be left to be finished.
    pub(super) fn leave_products(&mut self, around: OpId, rounds: IntValue<'ctx>) {
        let body: Region = self.func.op(around).regions()[0];
        for &product in self.func.region(body).ops() {
            let Some(postponed) = self.postponed.get(&product) else { continue };
            if let Some(store) = postponed.finisher {
                let sums = self.func.op(around).results()[postponed.place];
                self.unfinished.insert(store, Unfinished { product, sums, rounds });
            }
        }
    }

    fn rest(&self, unfinished: Unfinished<'ctx>) -> Rest<'ctx> {
        let scratch = self.postponed[&unfinished.product].memory;
        Rest { rounds: unfinished.rounds, c: self.buffers[&unfinished.sums].base, scratch }
    }

    /// Finishes a product before anything is stored.
    pub(super) fn finish_product(&mut self, unfinished: Unfinished<'ctx>) {
        self.postponed[&unfinished.product].plan.finish(self.llvm, self.rest(unfinished));
    }

    /// Runs the loop of a store block by block, with each block of sums as it comes.
    pub(super) fn store_finished_blocks(&mut self, op: OpId, unfinished: Unfinished<'ctx>) {
        let (plan, rest) = (self.postponed[&unfinished.product].plan, self.rest(unfinished));
        let operands = self.func.op(op).operands();
        let corners = self.corners(operands[0]);
        let written = self.range(&corners, i64::from(self.elem(operands[1]).bytes()));
        plan.save_a(self.llvm, rest, written);
        let streams = self.streams(op);
        let whole = self.buffers[&unfinished.sums].clone();
        plan.finish_blocks(self.llvm, rest, |block| {
            self.buffers.insert(unfinished.sums, Buffer { base: block.c, ..whole.clone() });
            self.for_each_chunk_of_block(block.origin, block.shape, &mut |e, index| e.store_at(op, index, streams));
        });
        self.buffers.insert(unfinished.sums, whole);
        self.finish_root();
    }
}
