//! Operations between ranks. Where other ranks are is in a table that the launch passes ([`shoal_abi::rank_table`]);
//! their memory is memory like any other, reached with instructions of system scope.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_abi::rank_table::{self, DeviceFailure};
use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::{Scope, Sem};
use shoal_ir::{Func, OpId, OpKind};

use super::emitter::{Emitter, Held};
use super::inline_ptx::Does;
use crate::shared::llvm::V;

/// Whether a kernel asks for other ranks, so that a launch must pass the table.
pub(super) fn asks_for_ranks(func: &Func) -> bool {
    let asks = |kind: &OpKind| matches!(kind, OpKind::Comm(op) if *op != CommOp::ConsumeToken);
    func.walk().into_iter().any(|op| asks(&func.op(op).kind))
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn comm_op(&mut self, op: OpId, kind: CommOp) {
        let func = self.func;
        let data = func.op(op);
        match kind {
            CommOp::Rank { .. } => {
                let number = self.table_entry(rank_table::RANK_AT, 32);
                self.hold(data.result(), Held::Scalar(number));
            }
            CommOp::NumRanks { .. } => {
                let number = self.table_entry(rank_table::SIZE_AT, 32);
                self.hold(data.result(), Held::Scalar(number));
            }
            CommOp::SymmAt => {
                let [places, ranks] = [0, 1].map(|index| self.numbers(data.operands()[index]));
                let masks = data.operands().get(2).map(|&mask| self.numbers(mask));
                let at = |list: &[V<'ctx>], register: usize| list[if list.len() == 1 { 0 } else { register }];
                let numbers = (0..places.len().max(ranks.len()))
                    .map(|register| {
                        let mask = masks.as_ref().map(|masks| at(masks, register));
                        self.symmetric(op, at(&places, register), at(&ranks, register), mask)
                    })
                    .collect();
                self.hold_numbers(data.result(), numbers);
            }
            CommOp::Wait { sem, scope } => self.wait_for_words(op, sem, scope),
            CommOp::ConsumeToken => {
                let held = self.held[&data.operands()[0]].clone();
                self.hold(data.result(), held);
            }
            CommOp::Notify { op: signal, scope } => self.notify(op, signal, scope),
            CommOp::Shmem(_) => self.fail(op, "SHMEM operations reach no NVIDIA GPU yet"),
        }
    }

    /// A number of the table.
    fn table_entry(&self, at: u64, bits: u32) -> V<'ctx> {
        let llvm = self.llvm;
        let table = self.ranks.expect("a kernel that asks for ranks has the table");
        let place = llvm.offset(table, llvm.const_i64(at as i64));
        llvm.load(llvm.int_type(bits), self.global(place.into()), bits / 8)
    }

    /// The same place at another rank. Where a mask is false nothing is asked of the place, and anything comes out.
    fn symmetric(&mut self, op: OpId, place: V<'ctx>, rank: V<'ctx>, mask: Option<V<'ctx>>) -> V<'ctx> {
        let llvm = self.llvm;
        let address: V<'ctx> = llvm.ptr_to_int(place.into_pointer_value()).into();
        let rank = llvm.cast(Op::SExt, rank, llvm.i64().into());
        let rank = mask.map_or(rank, |mask| llvm.select(mask, rank, llvm.const_i64(0).into()));
        let among = |wrong: V<'ctx>| mask.map_or(wrong, |mask| llvm.bin(Op::And, wrong, mask)).into_int_value();
        let own = self.table_entry(rank_table::OWN_HEAP_AT, 64);
        let bytes = self.table_entry(rank_table::HEAP_BYTES_AT, 64);
        let size = llvm.cast(Op::ZExt, self.table_entry(rank_table::SIZE_AT, 32), llvm.i64().into());
        let offset = llvm.bin(Op::Sub, address, own);
        let outside = among(llvm.icmp(IntPredicate::UGE, offset, bytes));
        self.fail_when(op, outside, DeviceFailure::OutsideHeap, [address, own, bytes]);
        let nobody = among(llvm.icmp(IntPredicate::UGE, rank, size));
        self.fail_when(op, nobody, DeviceFailure::NoSuchRank, [address, rank, size]);
        let entry = llvm.bin(Op::Shl, rank, llvm.const_i64(3).into());
        let entry = llvm.bin(Op::Add, entry, llvm.const_i64(rank_table::HEAPS_AT as i64).into());
        let table = self.ranks.expect("a kernel that asks for ranks has the table");
        let place = llvm.offset(table, entry.into_int_value());
        let base = llvm.load(llvm.i64(), self.global(place.into()), 8);
        llvm.int_to_ptr(llvm.bin(Op::Add, base, offset).into_int_value()).into()
    }

    /// Each thread waits for its share of the words; then all go on together.
    fn wait_for_words(&mut self, op: OpId, sem: Sem, scope: Scope) {
        let (llvm, func) = (self.llvm, self.func);
        let data = func.op(op);
        let bits = self.elem(data.operands()[2]).bytes() * 8;
        let base: V<'ctx> = llvm.ptr_to_int(self.scalar(data.operands()[0]).into_pointer_value()).into();
        let count = self.scalar(data.operands()[1]);
        let expected = self.scalar(data.operands()[2]);
        let before = llvm.here();
        let [head, word, look, late, seen, after] =
            ["words", "word", "look", "late", "seen", "waited"].map(|name| llvm.new_block(name));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let index = llvm.builder.build_phi(llvm.i32(), "word").expect("a phi");
        index.add_incoming(&[(&self.thread, before)]);
        let more = llvm.icmp(IntPredicate::SLT, index.as_basic_value(), count).into_int_value();
        llvm.branch(more, word, after);
        llvm.builder.position_at_end(word);
        let wide = llvm.cast(Op::SExt, index.as_basic_value(), llvm.i64().into());
        let address = llvm.bin(Op::Add, base, llvm.bin(Op::Mul, wide, llvm.const_i64((bits / 8).into()).into()));
        let clock = || llvm.ptx("mov.u64 $0, %globaltimer;", &[llvm.i64().into()], &[], &[], Does::Act)[0];
        let start = clock();
        llvm.jump(look);
        llvm.builder.position_at_end(look);
        let order = if matches!(sem, Sem::Acquire | Sem::AcqRel) { "acquire" } else { "relaxed" };
        let text = format!("ld.{order}.{scope}.global.b{bits} $0, [$1];");
        let value = llvm.ptx(&text, &[llvm.int_type(bits).into()], &[], &[address], Does::Act)[0];
        let equal = llvm.icmp(IntPredicate::EQ, value, expected).into_int_value();
        llvm.branch(equal, seen, late);
        llvm.builder.position_at_end(late);
        let spent = llvm.bin(Op::Sub, clock(), start);
        let limit = self.table_entry(rank_table::WAIT_LIMIT_AT, 64);
        let over = llvm.icmp(IntPredicate::UGT, spent, limit).into_int_value();
        let [wanted, found] = [expected, value].map(|v| llvm.cast(Op::SExt, v, llvm.i64().into()));
        self.fail_when(op, over, DeviceFailure::WaitedTooLong, [address, wanted, found]);
        llvm.jump(look);
        llvm.builder.position_at_end(seen);
        let threads = llvm.const_i32((32 * func.gpu.num_warps).into());
        let next = llvm.bin(Op::Add, index.as_basic_value(), threads.into());
        index.add_incoming(&[(&next, llvm.here())]);
        llvm.jump(head);
        llvm.builder.position_at_end(after);
        self.block_barrier();
        (self.scalar_loads, self.scalar_stores) = (false, false);
        self.hold(data.result(), Held::Scalar(llvm.const_i32(0).into()));
    }

    /// All that the program did is before the word's change: its threads meet, and one of them changes the word.
    fn notify(&mut self, op: OpId, signal: SignalOp, scope: CommScope) {
        let (llvm, func) = (self.llvm, self.func);
        let operands = func.op(op).operands();
        let place = match scope {
            CommScope::Gpu => self.scalar(operands[0]),
            CommScope::IntraNode | CommScope::InterNode => {
                self.symmetric(op, self.scalar(operands[0]), self.scalar(operands[1]), None)
            }
        };
        let value = llvm.cast(Op::SExt, self.scalar(operands[2]), llvm.i64().into());
        self.block_barrier();
        (self.scalar_loads, self.scalar_stores) = (false, false);
        let text = match signal {
            SignalOp::Set => format!("st.release.{}.global.b64 [$0], $1;", scope.memory_scope()),
            SignalOp::Add => format!("red.release.{}.global.add.u64 [$0], $1;", scope.memory_scope()),
        };
        let one = self.is_thread_0();
        self.when(Some(one), |e| e.llvm.ptx_act(&text, &[place, value]));
    }

    /// If the condition holds, the first to come here writes a report, and the kernel ends.
    fn fail_when(&mut self, op: OpId, condition: IntValue<'ctx>, failure: DeviceFailure, about: [V<'ctx>; 3]) {
        let line = self.line(op);
        self.when(Some(condition), |e| {
            let llvm = e.llvm;
            let report = e.table_entry(rank_table::REPORT_AT, 64);
            let number: V<'ctx> = llvm.const_i32(failure.number().into()).into();
            let none: V<'ctx> = llvm.const_i32(0).into();
            let text = "atom.relaxed.sys.global.cas.b32 $0, [$1], $2, $3;";
            let old = llvm.ptx(text, &[llvm.i32().into()], &[], &[report, none, number], Does::Act)[0];
            let first = llvm.icmp(IntPredicate::EQ, old, none).into_int_value();
            e.when(Some(first), |e| {
                let line = e.llvm.const_i32(line.into()).into();
                let operands: Vec<V<'ctx>> = [report, line].into_iter().chain(about).collect();
                let stores = "st.global.b32 [$0+4], $1;\nst.global.b64 [$0+8], $2;\nst.global.b64 [$0+16], $3;\n\
                              st.global.b64 [$0+24], $4;\nfence.acq_rel.sys;";
                e.llvm.ptx_act(stores, &operands);
            });
            e.llvm.ptx_act("trap;", &[]);
        });
    }
}
