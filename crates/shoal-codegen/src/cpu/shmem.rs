//! SHMEM operations: each is asked of the driver, which knows where other ranks are and how to reach them.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PointerValue};
use shoal_abi::{Hook, SignalChange, WaitCondition};
use shoal_ir::comm::SignalOp;
use shoal_ir::shmem::{Meeting, ShmemOp, Way};
use shoal_ir::{OpId, Shape};

use super::chunk::Chunk;
use super::emitter::Emitter;
use super::index::Index;
use super::tile_loops::Width;
use crate::shared::llvm::V;
use crate::shared::value_type::to_memory;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn shmem_op(&mut self, op: OpId, kind: ShmemOp) {
        self.needs.can_fail = true;
        self.read_before_write();
        let operands = self.func.op(op).operands();
        match kind {
            ShmemOp::TeamRank => self.ask(op, Hook::TeamRank, "team_my_pe"),
            ShmemOp::TeamSize => self.ask(op, Hook::TeamSize, "team_n_pes"),
            ShmemOp::TeamTranslate => self.ask(op, Hook::TeamTranslate, "team_translate_pe"),
            ShmemOp::Fence => self.tell(Hook::Fence),
            ShmemOp::Quiet => self.tell(Hook::Quiet),
            ShmemOp::Meet { meeting, .. } => {
                let what = match meeting {
                    Meeting::Barrier => {
                        self.tell(Hook::Quiet);
                        "barrier"
                    }
                    Meeting::Sync => "sync",
                };
                self.call_hook(op, Hook::TeamBarrier, what, &[self.scalar(operands[0])]);
            }
            ShmemOp::Collect { .. } => {
                let args: Vec<V<'ctx>> = operands.iter().map(|&v| self.word(self.scalar(v))).collect();
                self.call_hook(op, Hook::Collect, "collect", &args);
            }
            ShmemOp::Copy { .. }
            | ShmemOp::PutSignal { .. }
            | ShmemOp::PutValue
            | ShmemOp::Signal { .. }
            | ShmemOp::SignalWait { .. } => self.for_participants(op, kind),
        }
    }

    /// A question about teams.
    fn ask(&mut self, op: OpId, hook: Hook, what: &str) {
        let data = self.func.op(op);
        let args: Vec<V<'ctx>> = data.operands().iter().map(|&v| self.scalar(v)).collect();
        let answer = self.call_hook(op, hook, what, &args).expect("a number");
        self.scalars.insert(data.result(), answer);
    }

    fn tell(&mut self, hook: Hook) {
        self.llvm.call(self.llvm.hook(hook), &[self.context.into()]);
    }

    pub(super) fn call_hook(&mut self, op: OpId, hook: Hook, what: &str, args: &[V<'ctx>]) -> Option<V<'ctx>> {
        let site = self.site(op, what);
        let args = [&[self.context.into(), site.into()], args].concat();
        self.llvm.call(self.llvm.hook(hook), &args)
    }

    /// Once with scalars; else for each lane that acts, in their order.
    fn for_participants(&mut self, op: OpId, kind: ShmemOp) {
        let operands = self.func.op(op).operands();
        self.prepare(operands);
        let shape = Shape::from_slice(self.shape(operands[0]));
        let mask_at = kind.mask_at().filter(|&at| at < operands.len());
        if shape.is_empty() {
            let values: Vec<V<'ctx>> = operands.iter().map(|&v| self.scalar(v)).collect();
            match mask_at {
                None => self.act(op, kind, &values),
                Some(at) => self.act_when(values[at], |e| e.act(op, kind, &values)),
            }
            return;
        }
        let group = kind.participants().group(shape[0]);
        // The group that acted last: with the first of its lanes that takes part, and not again.
        let last = (group > 1).then(|| {
            let slot = self.allocate_bytes(8);
            self.llvm.store(self.llvm.const_i64(-1).into(), slot, 8);
            slot
        });
        self.for_each_chunk(&shape, Width::One, &mut |e, index| {
            let values: Vec<V<'ctx>> = operands.iter().map(|&v| e.scalar_at(v, index)).collect();
            let takes_part = mask_at.map_or(e.llvm.i1().const_int(1, false).into(), |at| values[at]);
            match last {
                None => e.act_when(takes_part, |e| e.act(op, kind, &values)),
                Some(last) => {
                    let (number, acts) = e.first_of_group(index, group, last, takes_part);
                    e.act_when(acts, |e| {
                        e.llvm.store(number, last, 8);
                        e.act(op, kind, &values);
                    });
                }
            }
        });
        self.finish_root();
    }

    /// The number of a lane's group, and whether the lane acts for it.
    fn first_of_group(
        &self,
        index: &Index<'ctx>,
        group: u32,
        last: PointerValue<'ctx>,
        takes_part: V<'ctx>,
    ) -> (V<'ctx>, V<'ctx>) {
        let llvm = self.llvm;
        let number = llvm.shr64(index.dims[0].base, group.trailing_zeros()).into();
        let fresh = llvm.icmp(IntPredicate::NE, llvm.load(llvm.i64(), last, 8), number);
        (number, llvm.bin(InstructionOpcode::And, takes_part, fresh))
    }

    fn act_when(&mut self, condition: V<'ctx>, act: impl FnOnce(&mut Self)) {
        self.when(condition, &[], |e| {
            act(e);
            Vec::new()
        });
    }

    /// What one participant does.
    fn act(&mut self, op: OpId, kind: ShmemOp, values: &[V<'ctx>]) {
        let words: Vec<V<'ctx>> = values.iter().map(|&value| self.word(value)).collect();
        match kind {
            ShmemOp::Copy { way: Way::Put, .. } => drop(self.call_hook(op, Hook::Put, "put", &words[..4])),
            ShmemOp::Copy { way: Way::Get, .. } => drop(self.call_hook(op, Hook::Get, "get", &words[..4])),
            ShmemOp::PutSignal { op: change, .. } => {
                let what = "put with signal";
                self.call_hook(op, Hook::Put, what, &[words[0], words[1], words[2], words[5]]);
                self.call_signal(op, what, [words[3], words[4], words[5]], change);
            }
            ShmemOp::PutValue => {
                let elem = self.elem(self.func.op(op).operands()[1]);
                let place = self.allocate_bytes(8);
                self.llvm.store(to_memory(self.llvm, elem, values[1]), place, elem.bytes());
                let source = self.word(place.into());
                let bytes = self.llvm.const_i64(elem.bytes().into()).into();
                self.call_hook(op, Hook::Put, "put", &[words[0], source, bytes, words[2]]);
            }
            ShmemOp::Signal { op: change } => self.call_signal(op, "signal_op", [words[0], words[1], words[2]], change),
            ShmemOp::SignalWait { cmp } => {
                let condition = self.llvm.i32().const_int(WaitCondition::from(cmp).number().into(), false).into();
                self.call_hook(op, Hook::SignalWait, "signal_wait_until", &[words[0], words[1], condition]);
            }
            ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::Fence
            | ShmemOp::Quiet
            | ShmemOp::Meet { .. }
            | ShmemOp::Collect { .. } => unreachable!("{kind:?} is done by the program"),
        }
    }

    fn call_signal(&mut self, op: OpId, what: &str, [word, signal, rank]: [V<'ctx>; 3], change: SignalOp) {
        let change = self.signal_change(change);
        self.call_hook(op, Hook::Signal, what, &[word, signal, change, rank]);
    }

    /// How a signal changes a word, as the binary interface has it.
    pub(super) fn signal_change(&self, change: SignalOp) -> V<'ctx> {
        let change = match change {
            SignalOp::Set => SignalChange::Set,
            SignalOp::Add => SignalChange::Add,
        };
        self.llvm.i32().const_int(change.number().into(), false).into()
    }

    /// Addresses as the binary interface has them.
    pub(super) fn word(&self, value: V<'ctx>) -> V<'ctx> {
        if let V::PointerValue(pointer) = value { self.llvm.ptr_to_int(pointer).into() } else { value }
    }

    /// The places of tiles of addresses at the ranks of a tile; null where the mask says so.
    pub(super) fn symmetric_places(&mut self, op: OpId) {
        let data = self.func.op(op);
        let operands = data.operands();
        self.prepare(operands);
        let shape = Shape::from_slice(self.shape(operands[0]));
        let elem = self.elem(operands[0]);
        let buffer = self.allocate(elem, &shape);
        self.for_each_chunk(&shape, Width::One, &mut |e, index| {
            let values: Vec<V<'ctx>> = operands.iter().map(|&v| e.scalar_at(v, index)).collect();
            let place = e.symmetric_where(op, &values);
            buffer.write(e.llvm, index, Chunk::Uniform(place));
        });
        self.finish_root();
        self.buffers.insert(data.result(), buffer);
    }
}
