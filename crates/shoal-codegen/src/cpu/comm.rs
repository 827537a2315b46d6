//! Operations between ranks.
//!
//! Where other ranks are is known to the launch alone, so places are asked of the driver, once for each operation. The
//! accesses themselves are code of the kernel: a rank's memory is memory like any other.

use inkwell::values::{BasicValue, InstructionOpcode, IntValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use shoal_abi::{Hook, Reach};
use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::Sem;
use shoal_ir::{Elem, OpId};

use super::atomic::load_ordering;
use super::chunk::Chunk;
use super::emitter::Emitter;
use super::runtime_calls::Patience;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn comm_op(&mut self, op: OpId, kind: CommOp) {
        match kind {
            CommOp::Rank { axis } => self.count_ranks(op, Hook::Rank, "rank", axis),
            CommOp::NumRanks { axis } => self.count_ranks(op, Hook::NumRanks, "num_ranks", axis),
            CommOp::SymmAt if self.func.ty(self.func.op(op).result()).is_tile() => self.symmetric_places(op),
            CommOp::SymmAt => {
                let values: Vec<V<'ctx>> = self.func.op(op).operands().iter().map(|&v| self.scalar(v)).collect();
                let place = self.symmetric_where(op, &values);
                self.scalars.insert(self.func.op(op).result(), place);
            }
            CommOp::Wait { sem, .. } => self.wait_for_words(op, sem),
            CommOp::ConsumeToken => self.fusible(op),
            CommOp::Notify { op: signal, scope } => self.notify(op, signal, scope),
            CommOp::Shmem(kind) => self.shmem_op(op, kind),
        }
    }

    /// What a token is at run time: nothing that matters.
    pub(super) fn token(&self) -> V<'ctx> {
        self.llvm.const_i32(0).into()
    }

    fn count_ranks(&mut self, op: OpId, hook: Hook, what: &str, axis: Option<u8>) {
        self.needs.can_fail = true;
        let llvm = self.llvm;
        let axis = llvm.const_i32(axis.map_or(-1, i64::from)).into();
        let args = [self.context.into(), self.site(op, what).into(), axis];
        let number = llvm.call(llvm.hook(hook), &args).expect("a number");
        self.scalars.insert(self.func.op(op).result(), number);
    }

    /// The place of an address at a rank, given one behind the other; null if a mask follows that is false.
    pub(super) fn symmetric_where(&mut self, op: OpId, values: &[V<'ctx>]) -> V<'ctx> {
        let place = |e: &mut Self| e.symmetric(op, "symm_at", [values[0], values[1]], Reach::AnyRank).into();
        match values.get(2) {
            None => place(self),
            Some(&mask) => self.when(mask, &[self.llvm.ptr().const_null().into()], |e| vec![place(e)])[0],
        }
    }

    /// The place of an address at a rank.
    fn symmetric(&mut self, op: OpId, what: &str, [address, rank]: [V<'ctx>; 2], reach: Reach) -> PointerValue<'ctx> {
        self.needs.can_fail = true;
        let llvm = self.llvm;
        let address = llvm.ptr_to_int(address.into_pointer_value());
        let reach = llvm.i32().const_int(u64::from(reach.number()), false);
        let site = self.site(op, what);
        let args = [self.context.into(), site.into(), address.into(), rank, reach.into()];
        let place = llvm.call(llvm.hook(Hook::SymmAt), &args).expect("an address");
        llvm.cast(InstructionOpcode::IntToPtr, place, llvm.ptr().into()).into_pointer_value()
    }

    /// Word by word: a word that was seen to have the value may change again, as it may after the wait.
    fn wait_for_words(&mut self, op: OpId, sem: Sem) {
        self.read_before_write();
        let llvm = self.llvm;
        let operands = self.func.op(op).operands();
        let elem = self.elem(operands[2]);
        let base = self.scalar(operands[0]).into_pointer_value();
        let count = llvm.cast(InstructionOpcode::SExt, self.scalar(operands[1]), llvm.i64().into());
        let expected = self.bits_of(elem, self.scalar(operands[2]));
        let before = llvm.here();
        let [head, word, done, after] = ["words", "word", "seen", "waited"].map(|name| llvm.new_block(name));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let index = llvm.builder.build_phi(llvm.i64(), "word").expect("a phi");
        index.add_incoming(&[(&llvm.const_i64(0), before)]);
        let more = llvm.icmp(IntPredicate::SLT, index.as_basic_value(), count).into_int_value();
        llvm.branch(more, word, after);
        llvm.builder.position_at_end(word);
        let address = self.word_address(base, index.as_basic_value().into_int_value(), elem);
        self.check(op, Chunk::Uniform(address.into()), None, 1);
        self.poll(op, address, elem, expected, sem);
        llvm.jump(done);
        llvm.builder.position_at_end(done);
        let next = llvm.add64(index.as_basic_value().into_int_value(), llvm.const_i64(1));
        index.add_incoming(&[(&next, done)]);
        llvm.jump(head);
        llvm.builder.position_at_end(after);
        self.scalars.insert(self.func.op(op).result(), self.token());
    }

    fn word_address(&self, base: PointerValue<'ctx>, index: IntValue<'ctx>, elem: Elem) -> PointerValue<'ctx> {
        let llvm = self.llvm;
        llvm.offset(base, llvm.mul64(index, llvm.const_i64(elem.bytes().into())))
    }

    /// Lets other programs run until one word has the expected bits.
    fn poll(&mut self, op: OpId, address: PointerValue<'ctx>, elem: Elem, expected: V<'ctx>, sem: Sem) {
        let llvm = self.llvm;
        let [look, wait, seen] = ["look", "wait", "equal"].map(|name| llvm.new_block(name));
        llvm.jump(look);
        llvm.builder.position_at_end(look);
        let value = llvm.load(llvm.int_type(elem.bytes() * 8), address, elem.bytes());
        let load = value.as_instruction_value().expect("a load");
        load.set_atomic_ordering(load_ordering(sem)).expect("an ordering a load can have");
        let equal = llvm.icmp(IntPredicate::EQ, value, expected).into_int_value();
        llvm.branch(equal, seen, wait);
        llvm.builder.position_at_end(wait);
        self.call_wait(op, "wait", address, elem, expected, Patience::Endless);
        llvm.jump(look);
        llvm.builder.position_at_end(seen);
        self.count_passed();
    }

    fn notify(&mut self, op: OpId, signal: SignalOp, scope: CommScope) {
        self.read_before_write();
        let operands = [0, 1, 2].map(|i| self.scalar(self.func.op(op).operands()[i]));
        match scope {
            CommScope::Gpu => self.notify_own(op, operands, signal),
            CommScope::IntraNode | CommScope::InterNode => self.notify_rank(op, operands, signal),
        }
    }

    /// A signal in this rank's own memory, in its heap or not.
    fn notify_own(&mut self, op: OpId, [address, rank, value]: [V<'ctx>; 3], signal: SignalOp) {
        let place = self.symmetric(op, "notify", [address, rank], Reach::OwnRank);
        let llvm = self.llvm;
        match signal {
            SignalOp::Set => {
                let store = llvm.builder.build_store(place, value).expect("a store");
                store.set_alignment(8).expect("an alignment");
                store.set_atomic_ordering(AtomicOrdering::Release).expect("an ordering a store can have");
            }
            SignalOp::Add => {
                let value = value.into_int_value();
                llvm.builder
                    .build_atomicrmw(AtomicRMWBinOp::Add, place, value, AtomicOrdering::Release)
                    .expect("an atomic operation");
            }
        }
    }

    /// A signal to a rank, which the driver knows how to reach.
    fn notify_rank(&mut self, op: OpId, [address, rank, value]: [V<'ctx>; 3], signal: SignalOp) {
        self.needs.can_fail = true;
        let change = self.signal_change(signal);
        let args = [self.word(address), value, change, rank];
        self.call_hook(op, Hook::Notify, "notify", &args);
    }
}
