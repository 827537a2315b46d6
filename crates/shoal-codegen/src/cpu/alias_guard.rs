//! Alias checks: loads fused into the loop of a store, although their memory might overlap.
//!
//! A tile is loaded as a whole before anything is stored, so fusing `store(q, f(load(p)))` into one loop is right only
//! if no chunk's store hits what a later chunk loads. Where the compiler cannot know, the code finds out: it compares
//! the ranges of addresses and, only if they overlap, reads the load into scratch first. The loop is the same in both
//! cases; it reads from the one place or the other.

use std::collections::HashSet;

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, IntValue};
use shoal_ir::op::OpKind;
use shoal_ir::{OpId, Value};

use super::chunk::{Buffer, Chunk};
use super::emitter::Emitter;
use super::index::{Dim, Index, LaneBits};
use super::tile_loops::moves_elements;
use crate::shared::llvm::V;
use crate::shared::recursion::deep;

/// A load that is read from scratch if its memory overlaps a store's.
#[derive(Clone, Debug)]
pub(super) struct AliasGuard<'ctx> {
    overlaps: IntValue<'ctx>,
    copy: Buffer<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Before a store: fused loads that its loop would do are read now, or guarded.
    pub(super) fn read_before_store(&mut self, op: OpId) {
        self.mark_done(op);
        let pointers = self.func.op(op).operands()[0];
        let (mut loads, mut seen) = (Vec::new(), HashSet::new());
        for &operand in self.func.op(op).operands() {
            self.loads_read_by((operand, true), pointers, &mut seen, &mut loads);
        }
        for (load, fusion) in loads {
            match fusion {
                Fusion::Safe => {}
                Fusion::Guarded => self.guard(load, pointers),
                Fusion::Never => {
                    self.materialise(load);
                }
            }
        }
        self.read_before_write();
    }

    /// The fused loads that the loop of a store would do for a value, there in the same place as the store or
    /// elsewhere. What was seen is not looked at again: values that are used twice, again and again, make many paths.
    fn loads_read_by(
        &self,
        (value, same_place): (Value, bool),
        pointers: Value,
        seen: &mut HashSet<(Value, bool)>,
        found: &mut Vec<(Value, Fusion)>,
    ) {
        if !self.func.ty(value).is_tile() || self.buffers.contains_key(&value) || !seen.insert((value, same_place)) {
            return;
        }
        let Some(op) = self.func.def_op(value) else { return };
        let kind = &self.func.op(op).kind;
        let operands = self.func.op(op).operands();
        if matches!(kind, OpKind::Load(_)) {
            let fusion = if same_place && operands[0] == pointers && self.is_injective(pointers) {
                Fusion::Safe
            } else if !self.fusion.is_materialised(value)
                && !self.is_awaited(value)
                && self.affine.is_affine(self.func, operands[0])
                && self.affine.is_affine(self.func, pointers)
            {
                Fusion::Guarded
            } else {
                Fusion::Never
            };
            found.push((value, fusion));
        }
        let stays = same_place && !moves_elements(kind);
        deep(|| {
            for &operand in operands {
                self.loads_read_by((operand, stays), pointers, seen, found);
            }
        });
    }

    fn guard(&mut self, load: Value, store_pointers: Value) {
        let llvm = self.llvm;
        let op = self.func.def_op(load).expect("a load");
        let operands = self.func.op(op).operands();
        // What the copy needs must not first come to be inside the branch that makes it.
        self.flush_deferred_behind(operands);
        let theirs = self.corners(operands[0]);
        let ours = self.corners(store_pointers);
        let bytes = i64::from(self.elem(load).bytes());
        let apart = {
            let (low, high) = self.range(&theirs, bytes);
            let (from, to) = self.range(&ours, bytes);
            let below = llvm.icmp(IntPredicate::ULE, high.into(), from.into());
            let above = llvm.icmp(IntPredicate::ULE, to.into(), low.into());
            llvm.bin(InstructionOpcode::Or, below, above)
        };
        // Affine tiles of one shape that agree at their corners agree everywhere: each chunk stores where it loaded,
        // and nobody else does if all addresses differ.
        let same_shape = self.shape(operands[0]) == self.shape(store_pointers);
        let equal = theirs.iter().zip(&ours).map(|(&a, &b)| llvm.icmp(IntPredicate::EQ, a.into(), b.into()));
        let equal = equal.reduce(|a, b| llvm.bin(InstructionOpcode::And, a, b)).expect("a tile has a corner");
        let equal = if same_shape && !self.is_injective(store_pointers) {
            llvm.bin(InstructionOpcode::And, equal, self.is_injective_at_run_time(store_pointers, &ours))
        } else {
            equal
        };
        let harmless = if same_shape { llvm.bin(InstructionOpcode::Or, apart, equal) } else { apart };
        let overlaps = llvm.not(harmless);
        let copy = self.allocate(self.elem(load), self.shape(load));
        self.when(overlaps, &[], |e| {
            e.compute_into(load, &copy);
            Vec::new()
        });
        self.guards.insert(load, AliasGuard { overlaps: overlaps.into_int_value(), copy });
        self.unread_loads.remove(load);
    }

    /// The addresses at the corners of a tile of pointers.
    pub(super) fn corners(&mut self, pointers: Value) -> Vec<IntValue<'ctx>> {
        let llvm = self.llvm;
        let shape = self.shape(pointers).to_vec();
        (0..1usize << shape.len())
            .map(|corner| {
                let base = |(d, &size): (usize, &u32)| if corner >> d & 1 == 1 { i64::from(size) - 1 } else { 0 };
                let dims = shape
                    .iter()
                    .enumerate()
                    .map(base)
                    .map(|at| Dim { base: llvm.const_i64(at), lanes: LaneBits::new() });
                let index = Index { dims: dims.collect(), log_lanes: 0 };
                llvm.ptr_to_int(self.scalar_at(pointers, &index).into_pointer_value())
            })
            .collect()
    }

    /// The first byte and the one after the last.
    pub(super) fn range(&self, corners: &[IntValue<'ctx>], bytes: i64) -> (IntValue<'ctx>, IntValue<'ctx>) {
        let llvm = self.llvm;
        let pick = |name: &str| {
            let all = corners.iter().map(|&c| V::from(c));
            let picked = all.reduce(|a, b| llvm.intrinsic(name, &[llvm.i64().into()], &[a, b]).expect("a value"));
            picked.expect("a tile has a corner").into_int_value()
        };
        (pick("llvm.umin"), llvm.add64(pick("llvm.umax"), llvm.const_i64(bytes)))
    }

    /// The addresses a guarded load reads: its own, or those of its copy.
    pub(super) fn guarded_pointers(&mut self, load: Value, pointers: Chunk<'ctx>, index: &Index<'ctx>) -> Chunk<'ctx> {
        let Some(guard) = self.guards.get(&load).cloned() else { return pointers };
        let llvm = self.llvm;
        let overlaps: V<'ctx> = guard.overlaps.into();
        let linear = index.linear(llvm, &guard.copy.shape);
        let start = guard.copy.address(llvm, linear.base);
        let bytes = i64::from(guard.copy.elem.bytes());
        let in_order = index.log_lanes == 0 || index.contiguous_dim() == index.dims.len().checked_sub(1);
        match pointers {
            Chunk::Uniform(own) if index.log_lanes == 0 => Chunk::Uniform(llvm.select(overlaps, start.into(), own)),
            Chunk::Affine { base, step } if step == bytes && in_order => {
                Chunk::Affine { base: llvm.select(overlaps, start.into(), base), step }
            }
            Chunk::Uniform(_) | Chunk::Affine { .. } | Chunk::Vector(_) => {
                let lanes = index.lanes();
                let offsets = Index::lane_offsets(&linear.lanes, index.log_lanes).map(|o| o * bytes);
                let offsets = llvm.const_vector(llvm.i64(), offsets);
                let start = llvm.splat(llvm.ptr_to_int(start).into(), lanes);
                let copy = llvm.bin(InstructionOpcode::Add, start.into(), offsets.into());
                let own = pointers.widen(llvm, lanes);
                Chunk::Vector(llvm.select(overlaps, copy, own.into()).into_vector_value())
            }
        }
    }
}

/// What fusing a load into a store's loop needs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fusion {
    /// Each element is loaded just before it is stored.
    Safe,
    /// A look at the addresses.
    Guarded,
    /// It cannot be.
    Never,
}
