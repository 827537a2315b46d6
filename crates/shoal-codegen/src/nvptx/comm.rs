//! Operations between ranks. Where other ranks are is in a table that the launch passes ([`shoal_abi::rank_table`]);
//! their memory is memory like any other, reached with instructions of system scope.

use inkwell::IntPredicate;
use inkwell::values::{BasicValue, InstructionOpcode as Op};
use shoal_abi::rank_table::{self, DeviceFailure};
use shoal_abi::{TableUse, WaitCondition};
use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::{Scope, Sem};
use shoal_ir::{Func, OpId, OpKind};

use super::emitter::{Emitter, Held};
use super::give_up::{self, Patience, Seen, Trouble};
use super::inline_ptx::Does;
use crate::Options;
use crate::shared::llvm::{V, pointer_as_int};

/// What a kernel wants the table of ranks for.
pub(super) fn table_use(func: &Func, options: &Options) -> TableUse {
    let asks = |kind: &OpKind| matches!(kind, OpKind::Comm(op) if *op != CommOp::ConsumeToken);
    if func.walk().into_iter().any(|op| asks(&func.op(op).kind)) {
        TableUse::Ranks
    } else if options.checks || give_up::waits(func) || give_up::asserts(func) {
        TableUse::Waits
    } else {
        TableUse::None
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn comm_op(&mut self, op: OpId, kind: CommOp) {
        let func = self.func;
        let data = func.op(op);
        match kind {
            CommOp::Rank { axis: None } => {
                let number = self.table_entry(rank_table::RANK_AT, 32);
                self.hold(data.result(), Held::Scalar(number));
            }
            CommOp::NumRanks { axis: None } => {
                let number = self.table_entry(rank_table::SIZE_AT, 32);
                self.hold(data.result(), Held::Scalar(number));
            }
            CommOp::Rank { axis: Some(axis) } => self.along_axis(op, "rank", axis, 0),
            CommOp::NumRanks { axis: Some(axis) } => self.along_axis(op, "num_ranks", axis, 4),
            CommOp::SymmAt => {
                let [places, ranks] = [0, 1].map(|index| self.numbers(data.operands()[index]));
                let masks = data.operands().get(2).map(|&mask| self.numbers(mask));
                let at = |list: &[V<'ctx>], register: usize| list[if list.len() == 1 { 0 } else { register }];
                let sees = if func.ty(data.result()).is_tile() { Seen::ByEach } else { Seen::ByAll };
                let numbers = (0..places.len().max(ranks.len()))
                    .map(|register| {
                        let mask = masks.as_ref().map(|masks| at(masks, register));
                        let (place, rank) = (at(&places, register), at(&ranks, register));
                        let one = self.llvm.const_i64(1).into();
                        self.symmetric(op, sees, &Reached { what: "symm_at", place, bytes: one, rank, mask })
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
            CommOp::Shmem(kind) => self.shmem_op(op, kind),
        }
    }

    /// A number of the table. The table does not change while kernels run.
    pub(super) fn table_entry(&self, at: u64, bits: u32) -> V<'ctx> {
        self.table_entry_at(self.llvm.const_i64(at as i64).into(), bits)
    }

    /// The same, at an offset that is known at run time.
    pub(super) fn table_entry_at(&self, at: V<'ctx>, bits: u32) -> V<'ctx> {
        let llvm = self.llvm;
        let table = self.ranks.expect("a kernel that asks for ranks has the table");
        let place = llvm.offset(table, at.into_int_value());
        let number = llvm.load(llvm.int_type(bits), self.global(place.into()), bits / 8);
        if let Some(load) = number.as_instruction_value() {
            let kind = llvm.context.get_kind_id("invariant.load");
            load.set_metadata(llvm.context.metadata_node(&[]), kind).expect("a load takes metadata");
        }
        number
    }

    /// The position along an axis of the mesh, or its size.
    fn along_axis(&mut self, op: OpId, what: &'static str, axis: u8, part: u64) {
        let llvm = self.llvm;
        let axes = self.table_entry(rank_table::AXES_AT, 32);
        let asked: V<'ctx> = llvm.const_i32(axis.into()).into();
        let missing = llvm.icmp(IntPredicate::UGE, asked, axes).into_int_value();
        let trouble = self.asked_wrongly(DeviceFailure::NoSuchAxis, what, asked, axes);
        self.fail_when(op, Seen::ByAll, missing, &trouble);
        let axis = u64::from(axis).min(rank_table::MAX_AXES as u64 - 1);
        let number = self.table_entry(rank_table::MESH_AT + 8 * axis + part, 32);
        self.hold(self.func.op(op).result(), Held::Scalar(number));
    }

    /// Something was asked for that there is not.
    pub(super) fn asked_wrongly(
        &self,
        failure: DeviceFailure,
        what: &'static str,
        wanted: V<'ctx>,
        seen: V<'ctx>,
    ) -> Trouble<'ctx> {
        let address = self.llvm.const_i64(0).into();
        let message = String::new();
        Trouble { failure, what, message, address, wanted, seen, word: (64, WaitCondition::Equal) }
    }

    /// The same place at another rank. Where a mask is false nothing is asked of the place, and anything comes out.
    pub(super) fn symmetric(&mut self, op: OpId, sees: Seen, reached: &Reached<'ctx>) -> V<'ctx> {
        let (rank, offset) = self.check_reached(op, sees, reached);
        if self.by_nvshmem {
            return self.place_by_nvshmem(op, sees, &Reached { rank, ..*reached });
        }
        let llvm = self.llvm;
        llvm.int_to_ptr(llvm.bin(Op::Add, self.heap_of(rank), offset).into_int_value()).into()
    }

    /// Ends the program if the place is not in the heap or there is no such rank; gives the rank and how far into the heap
    /// the place is, in 64 bits.
    pub(super) fn check_reached(&mut self, op: OpId, sees: Seen, reached: &Reached<'ctx>) -> (V<'ctx>, V<'ctx>) {
        let Reached { what, place, bytes: count, rank, mask } = *reached;
        let llvm = self.llvm;
        let address = pointer_as_int(llvm, place);
        let rank = llvm.cast(Op::SExt, rank, llvm.i64().into());
        let rank = mask.map_or(rank, |mask| llvm.select(mask, rank, llvm.const_i64(0).into()));
        let among = |wrong: V<'ctx>| mask.map_or(wrong, |mask| llvm.bin(Op::And, wrong, mask)).into_int_value();
        let own = self.table_entry(rank_table::OWN_HEAP_AT, 64);
        let bytes = self.table_entry(rank_table::HEAP_BYTES_AT, 64);
        let size = llvm.cast(Op::ZExt, self.table_entry(rank_table::SIZE_AT, 32), llvm.i64().into());
        let offset = llvm.bin(Op::Sub, address, own);
        let beyond = llvm.icmp(IntPredicate::UGT, offset, bytes);
        let too_long = llvm.icmp(IntPredicate::UGT, count, llvm.bin(Op::Sub, bytes, offset));
        let outside = among(llvm.bin(Op::Or, beyond, too_long));
        let trouble = Trouble { address, ..self.asked_wrongly(DeviceFailure::OutsideHeap, what, count, bytes) };
        self.fail_when(op, sees, outside, &trouble);
        let nobody = among(llvm.icmp(IntPredicate::UGE, rank, size));
        let trouble = Trouble { address, ..self.asked_wrongly(DeviceFailure::NoSuchRank, what, rank, size) };
        self.fail_when(op, sees, nobody, &trouble);
        (rank, offset)
    }

    /// Where the heap of a rank begins, which is given in 64 bits and known to be one.
    pub(super) fn heap_of(&self, rank: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let first = self.table_entry(rank_table::FIRST_HEAP_AT, 64);
        let stride = self.table_entry(rank_table::HEAP_STRIDE_AT, 64);
        llvm.bin(Op::Add, first, llvm.bin(Op::Mul, rank, stride))
    }

    /// Each thread waits for its share of the words; then all go on together, or end together.
    fn wait_for_words(&mut self, op: OpId, sem: Sem, scope: Scope) {
        let (llvm, func) = (self.llvm, self.func);
        let data = func.op(op);
        let bits = self.elem(data.operands()[2]).bytes() * 8;
        let base: V<'ctx> = llvm.ptr_to_int(self.scalar(data.operands()[0]).into_pointer_value()).into();
        let count = self.scalar(data.operands()[1]);
        let expected = self.scalar(data.operands()[2]);
        self.check_range(op, base, count);
        let before = llvm.here();
        let [head, word, after] = ["words", "word", "waited"].map(|name| llvm.new_block(name));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let index = llvm.builder.build_phi(llvm.i32(), "word").expect("a phi");
        index.add_incoming(&[(&self.thread, before)]);
        let more = llvm.icmp(IntPredicate::SLT, index.as_basic_value(), count).into_int_value();
        llvm.branch(more, word, after);
        llvm.builder.position_at_end(word);
        let wide = llvm.cast(Op::SExt, index.as_basic_value(), llvm.i64().into());
        let address = llvm.bin(Op::Add, base, llvm.bin(Op::Mul, wide, llvm.const_i64((bits / 8).into()).into()));
        let order = if matches!(sem, Sem::Acquire | Sem::AcqRel) { "acquire" } else { "relaxed" };
        let load = format!("ld.{order}.{scope}.global.b{bits} $0, [$1];");
        let awaited = Awaited { what: "wait", address, expected, bits, condition: WaitCondition::Equal };
        let gave_up = self.spin_for_word(op, &load, &awaited);
        let threads = llvm.const_i32((32 * func.gpu.num_warps).into());
        let next = llvm.bin(Op::Add, index.as_basic_value(), threads.into());
        index.add_incoming(&[(&next, llvm.here())]);
        let looked = llvm.here();
        llvm.branch(gave_up.into_int_value(), after, head);
        llvm.builder.position_at_end(after);
        let failed = llvm.builder.build_phi(llvm.i1(), "failed").expect("a phi");
        let (no, yes) = (llvm.i1().const_zero(), llvm.i1().const_int(1, false));
        failed.add_incoming(&[(&no, head), (&yes, looked)]);
        self.end_together_when(failed.as_basic_value());
        self.hold(data.result(), Held::Scalar(llvm.const_i32(0).into()));
    }

    /// The threads meet, and end if one of them cannot go on.
    pub(super) fn end_together_when(&mut self, failed: V<'ctx>) {
        let any = self.in_any_thread(failed);
        self.exit_when(any);
        self.open_accesses.clear();
    }

    /// Looks at a word until it is as it should be; gives whether this thread gave up, and has said so.
    pub(super) fn spin_for_word(&mut self, op: OpId, load: &str, awaited: &Awaited<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let Awaited { what, address, expected, bits, condition } = *awaited;
        let start = self.full_patience().numbers();
        let before = llvm.here();
        let [look, late, fail, done] = ["look", "late", "fail", "seen"].map(|name| llvm.new_block(name));
        llvm.jump(look);
        llvm.builder.position_at_end(look);
        let phis = start.map(|number| llvm.builder.build_phi(number.get_type(), "").expect("a phi"));
        for (phi, number) in phis.iter().zip(&start) {
            phi.add_incoming(&[(number, before)]);
        }
        let value = llvm.ptx(load, &[llvm.int_type(bits).into()], &[], &[address], Does::Act)[0];
        let holds = llvm.icmp(predicate(condition), value, expected).into_int_value();
        llvm.branch(holds, done, late);
        llvm.builder.position_at_end(late);
        let patience = Patience::of(phis.map(|phi| phi.as_basic_value()));
        let (is_over, patience) = self.lose_patience(patience);
        for (phi, number) in phis.iter().zip(&patience.numbers()) {
            phi.add_incoming(&[(number, llvm.here())]);
        }
        llvm.branch(is_over, fail, look);
        llvm.builder.position_at_end(fail);
        let failure = DeviceFailure::WaitedTooLong;
        let (message, word) = (String::new(), (bits, condition));
        let trouble = Trouble { failure, what, message, address, wanted: expected, seen: value, word };
        self.report(op, &trouble);
        let failed = llvm.here();
        llvm.jump(done);
        llvm.builder.position_at_end(done);
        let gave_up = llvm.builder.build_phi(llvm.i1(), "failed").expect("a phi");
        let (no, yes) = (llvm.i1().const_zero(), llvm.i1().const_int(1, false));
        gave_up.add_incoming(&[(&no, look), (&yes, failed)]);
        gave_up.as_basic_value()
    }

    /// All that the program did is before the word's change: its threads meet, and one of them changes the word.
    fn notify(&mut self, op: OpId, signal: SignalOp, scope: CommScope) {
        let (llvm, func) = (self.llvm, self.func);
        let operands = func.op(op).operands();
        if self.by_nvshmem && scope != CommScope::Gpu {
            self.notify_by_nvshmem(op, signal);
            return;
        }
        let place = match scope {
            CommScope::Gpu => self.scalar(operands[0]),
            CommScope::IntraNode | CommScope::InterNode => {
                let (place, rank) = (self.scalar(operands[0]), self.scalar(operands[1]));
                let bytes = llvm.const_i64(8).into();
                self.symmetric(op, Seen::ByAll, &Reached { what: "notify", place, bytes, rank, mask: None })
            }
        };
        let value = llvm.cast(Op::SExt, self.scalar(operands[2]), llvm.i64().into());
        self.block_barrier();
        let text = match signal {
            SignalOp::Set => format!("st.release.{}.global.b64 [$0], $1;", scope.memory_scope()),
            SignalOp::Add => format!("red.release.{}.global.add.u64 [$0], $1;", scope.memory_scope()),
        };
        let one = self.is_thread_0();
        self.when(Some(one), |e| e.llvm.ptx_act(&text, &[place, value]));
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The same through NVSHMEM: what the program put is delivered first.
    fn notify_by_nvshmem(&mut self, op: OpId, signal: SignalOp) {
        let llvm = self.llvm;
        let operands = self.func.op(op).operands();
        let (place, rank) = (self.scalar(operands[0]), self.scalar(operands[1]));
        let bytes = llvm.const_i64(8).into();
        self.check_reached(op, Seen::ByAll, &Reached { what: "notify", place, bytes, rank, mask: None });
        let value = llvm.cast(Op::SExt, self.scalar(operands[2]), llvm.i64().into());
        self.deliver();
        let one = self.is_thread_0();
        self.when(Some(one), |e| e.signal_by_nvshmem(place, value, signal, rank));
    }
}

/// A place that is looked for at another rank.
#[derive(Clone, Copy)]
pub(super) struct Reached<'ctx> {
    /// What the program does, in the words of the kernel.
    pub(super) what: &'static str,
    /// The place in this rank's heap: a pointer, or an address.
    pub(super) place: V<'ctx>,
    /// How many bytes are reached there.
    pub(super) bytes: V<'ctx>,
    pub(super) rank: V<'ctx>,
    pub(super) mask: Option<V<'ctx>>,
}

/// A word that a thread waits for.
#[derive(Clone, Copy)]
pub(super) struct Awaited<'ctx> {
    /// What the program does, in the words of the kernel.
    pub(super) what: &'static str,
    pub(super) address: V<'ctx>,
    pub(super) expected: V<'ctx>,
    pub(super) bits: u32,
    pub(super) condition: WaitCondition,
}

/// How words are compared: as numbers without signs.
fn predicate(condition: WaitCondition) -> IntPredicate {
    match condition {
        WaitCondition::Equal => IntPredicate::EQ,
        WaitCondition::NotEqual => IntPredicate::NE,
        WaitCondition::Greater => IntPredicate::UGT,
        WaitCondition::LessEqual => IntPredicate::ULE,
        WaitCondition::Less => IntPredicate::ULT,
        WaitCondition::GreaterEqual => IntPredicate::UGE,
    }
}
