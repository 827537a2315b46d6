//! Stores that bypass the caches.
//!
//! A plain store first reads the line it writes. When a launch writes far more than the caches hold, that read is a
//! quarter of all traffic and what it brings in is gone before anybody uses it, so whole aligned vectors are then
//! written straight to memory. How much a launch writes is known at run time only: the tile, times the programs of the
//! grid, times the trips of the loops around.
//!
//! Such stores are not ordered with later ones, so a program ends with a fence, and kernels that order memory
//! themselves (atomics, waits) do not use them.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue, PointerValue};
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Region};

use super::emitter::Emitter;
use crate::shared::llvm::V;

/// Launches that write less leave it to the caches: about what a core can call its own of them.
const STREAMED_BYTES: i64 = 8 << 20;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether a store should bypass the caches: a condition, or `None` if never.
    pub(super) fn bypasses_caches(&mut self, tile_bytes: u64) -> Option<IntValue<'ctx>> {
        if self.orders_memory || tile_bytes < 64 || self.isa.vector_bits < 256 || !self.isa.fma {
            return None;
        }
        let llvm = self.llvm;
        let wide = |v: V<'ctx>| llvm.cast(InstructionOpcode::ZExt, v, llvm.i64().into()).into_int_value();
        let programs = self.grid.map(wide).into_iter().reduce(|a, b| llvm.mul64(a, b)).expect("three axes");
        let tiles = self.trips.iter().fold(programs, |tiles, &trips| llvm.mul64(tiles, trips));
        let bytes = llvm.mul64(tiles, llvm.const_i64(tile_bytes as i64));
        self.needs.nontemporal_stores = true;
        Some(llvm.icmp(IntPredicate::UGE, bytes.into(), llvm.const_i64(STREAMED_BYTES).into()).into_int_value())
    }

    /// How often a loop runs, if tiles are stored in it.
    pub(super) fn trips_of(&mut self, body: Region, [from, to, step]: [V<'ctx>; 3]) -> Option<IntValue<'ctx>> {
        let mut ops = Vec::new();
        self.func.walk_region(body, &mut ops);
        let stores_tiles = |&op: &OpId| {
            let data = self.func.op(op);
            matches!(data.kind, OpKind::Store { .. }) && self.func.ty(data.operands()[0]).is_tile()
        };
        if !ops.iter().any(stores_tiles) {
            return None;
        }
        let llvm = self.llvm;
        let wide = |v: V<'ctx>| llvm.cast(InstructionOpcode::SExt, v, llvm.i64().into());
        let distance = llvm.bin(InstructionOpcode::Sub, wide(to), wide(from));
        let positive = llvm.icmp(IntPredicate::SGT, distance, llvm.const_i64(0).into());
        let distance = llvm.select(positive, distance, llvm.const_i64(0).into());
        // A loop's step is positive; the maximum keeps a broken promise from trapping.
        let step = llvm.intrinsic("llvm.umax", &[llvm.i64().into()], &[wide(step), llvm.const_i64(1).into()]);
        let trips = llvm.bin(InstructionOpcode::UDiv, distance, step.expect("a value"));
        Some(llvm.add64(trips.into_int_value(), llvm.const_i64(1)))
    }

    /// Stores a vector past the caches if the condition holds, the address is aligned and no lane is masked out;
    /// otherwise as `otherwise` does.
    pub(super) fn store_nontemporal(
        &mut self,
        condition: IntValue<'ctx>,
        value: V<'ctx>,
        to: PointerValue<'ctx>,
        mask: Option<V<'ctx>>,
        bytes: u32,
        otherwise: impl FnOnce(&mut Self),
    ) {
        let llvm = self.llvm;
        let below = llvm.and64(llvm.ptr_to_int(to), u64::from(bytes) - 1);
        let aligned = llvm.icmp(IntPredicate::EQ, below.into(), llvm.const_i64(0).into());
        let mut fits = llvm.bin(InstructionOpcode::And, condition.into(), aligned);
        if let Some(mask) = mask {
            let full = llvm.intrinsic("llvm.vector.reduce.and", &[mask.get_type()], &[mask]).expect("a value");
            fits = llvm.bin(InstructionOpcode::And, fits, full);
        }
        let (past, through, after) = (llvm.new_block("stream"), llvm.new_block("cached"), llvm.new_block("stored"));
        llvm.branch(fits.into_int_value(), past, through);
        llvm.builder.position_at_end(past);
        let store = llvm.builder.build_store(to, value).expect("a store");
        store.set_alignment(bytes).expect("an alignment that is a power of two");
        let once = llvm.context.metadata_node(&[llvm.i32().const_int(1, false).into()]);
        store.set_metadata(once, llvm.context.get_kind_id("nontemporal")).expect("metadata of a store");
        llvm.jump(after);
        llvm.builder.position_at_end(through);
        otherwise(self);
        llvm.jump(after);
        llvm.builder.position_at_end(after);
    }
}
