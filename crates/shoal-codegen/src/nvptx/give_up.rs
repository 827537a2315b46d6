//! How a program ends that cannot go on: it writes into the report what happened, where the host sees it too
//! ([`shoal_abi::rank_table`]), and its threads exit. The launch ends as others do, and the GPU stays usable.
//!
//! Waits look at the clock now and then, not on the way that is taken when all goes well.

use inkwell::values::{InstructionOpcode as Op, IntValue};
use inkwell::{AddressSpace, IntPredicate};
use shoal_abi::WaitCondition;
use shoal_abi::rank_table::{self, DeviceFailure, ENTRY_BYTES, REPORT_ENTRIES, ReportedSite, entry};
use shoal_ir::{Func, OpId, OpKind, effects};

use super::emitter::{Emitter, special_register};
use super::inline_ptx::Does;
use crate::shared::llvm::{V, pointer_as_int};

/// What a report says beside who says it.
pub(super) struct Trouble<'ctx> {
    pub(super) failure: DeviceFailure,
    /// What the program does there, in the words of the kernel.
    pub(super) what: &'static str,
    /// What the kernel's author says to it.
    pub(super) message: String,
    pub(super) address: V<'ctx>,
    pub(super) wanted: V<'ctx>,
    pub(super) seen: V<'ctx>,
    /// The bits of the word that was waited for, and when the wait would have ended.
    pub(super) word: (u32, WaitCondition),
}

/// Who sees whether something is wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// All threads of the program see the same, so one of them speaks for all.
    ByAll,
    /// Each thread looks at something of its own.
    ByEach,
}

/// Looks between two looks at the clock.
const LOOKS: i64 = 64;

/// Whether a kernel waits in a way that must have an end.
pub(super) fn waits(func: &Func) -> bool {
    func.walk().into_iter().any(|op| {
        let kind = &func.op(op).kind;
        // A poll with a time of its own has an end.
        (matches!(kind, OpKind::AtomicPoll { .. }) && func.op(op).operands().len() < 3)
            || (matches!(kind, OpKind::While { .. }) && effects::watches_memory(func, op))
    })
}

/// Whether a kernel has assertions.
pub(super) fn asserts(func: &Func) -> bool {
    func.walk().into_iter().any(|op| matches!(func.op(op).kind, OpKind::Assert { .. }))
}

/// What a loop that waits carries from trip to trip: how often it looked, and when it first looked at the clock.
#[derive(Clone, Copy)]
pub(super) struct Patience<'ctx> {
    looks: V<'ctx>,
    since: V<'ctx>,
}

impl<'ctx> Patience<'ctx> {
    /// The numbers that the loop carries.
    pub(super) fn numbers(self) -> [V<'ctx>; 2] {
        [self.looks, self.since]
    }

    pub(super) fn of([looks, since]: [V<'ctx>; 2]) -> Self {
        Patience { looks, since }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn full_patience(&self) -> Patience<'ctx> {
        Patience { looks: self.llvm.const_i32(0).into(), since: self.llvm.const_i64(0).into() }
    }

    /// One more look: every so many, the clock is looked at too. Gives whether patience is over (in this thread), and what
    /// is left of it. Code goes on in a new block.
    pub(super) fn lose_patience(&mut self, patience: Patience<'ctx>) -> (IntValue<'ctx>, Patience<'ctx>) {
        let llvm = self.llvm;
        let looks = llvm.bin(Op::Add, patience.looks, llvm.const_i32(1).into());
        let rest = llvm.bin(Op::And, looks, llvm.const_i32(LOOKS - 1).into());
        let is_due = llvm.icmp(IntPredicate::EQ, rest, llvm.const_i32(0).into()).into_int_value();
        let before = llvm.here();
        let (ask, after) = (llvm.new_block("clock"), llvm.new_block("patient"));
        llvm.branch(is_due, ask, after);
        llvm.builder.position_at_end(ask);
        let now = llvm.ptx("mov.u64 $0, %globaltimer;", &[llvm.i64().into()], &[], &[], Does::Act)[0];
        let fresh = llvm.icmp(IntPredicate::EQ, patience.since, llvm.const_i64(0).into());
        let since = llvm.select(fresh, now, patience.since);
        let limit = self.seldom_asked(rank_table::WAIT_LIMIT_AT);
        let late = llvm.icmp(IntPredicate::UGT, llvm.bin(Op::Sub, now, since), limit);
        // Where one program has given up, or the host says so, nobody of this rank will get what it waits for.
        let report = self.seldom_asked(rank_table::REPORT_AT);
        let text = "ld.relaxed.sys.global.b64 $0, [$1];";
        let told = llvm.ptx(text, &[llvm.i64().into()], &[], &[report], Does::Act)[0];
        let others = llvm.icmp(IntPredicate::NE, told, llvm.const_i64(0).into());
        let over = llvm.bin(Op::Or, late, others);
        let asked = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let no: V<'ctx> = llvm.i1().const_zero().into();
        let is_over = llvm.builder.build_phi(llvm.i1(), "over").expect("a phi");
        is_over.add_incoming(&[(&no, before), (&over, asked)]);
        let at = llvm.builder.build_phi(llvm.i64(), "since").expect("a phi");
        at.add_incoming(&[(&patience.since, before), (&since, asked)]);
        (is_over.as_basic_value().into_int_value(), Patience { looks, since: at.as_basic_value() })
    }

    /// A number of the table that is needed when something takes long or goes wrong. It is read here and nowhere else: a plain
    /// load would be taken out of the loop around it, and all who wait would read it before they first look.
    fn seldom_asked(&self, at: u64) -> V<'ctx> {
        let llvm = self.llvm;
        let table = self.ranks.expect("a kernel that waits or reports has the table");
        llvm.ptx(&format!("ld.global.b64 $0, [$1+{at}];"), &[llvm.i64().into()], &[], &[table.into()], Does::Act)[0]
    }

    /// A trip around a loop that watches memory, which all threads make: they end together if it takes too long.
    pub(super) fn end_in_time(&mut self, op: OpId, patience: Patience<'ctx>) -> Patience<'ctx> {
        let llvm = self.llvm;
        let (is_over, left) = self.lose_patience(patience);
        // All threads look at the clock on the same trip, and only then have something to tell each other.
        let rest = llvm.bin(Op::And, left.looks, llvm.const_i32(LOOKS - 1).into());
        let is_due = llvm.icmp(IntPredicate::EQ, rest, llvm.const_i32(0).into()).into_int_value();
        self.when(Some(is_due), |e| {
            let any = e.in_any_thread(is_over.into());
            let trouble = e.looped_too_long();
            e.fail_when(op, Seen::ByAll, any, &trouble);
        });
        self.scratch_may_be_busy();
        left
    }

    /// A trip around a loop that watches memory, which this thread makes for itself: it ends if it takes too long. The
    /// others end where they wait next.
    pub(super) fn end_alone_in_time(&mut self, op: OpId, patience: Patience<'ctx>) -> Patience<'ctx> {
        let (is_over, left) = self.lose_patience(patience);
        let trouble = self.looped_too_long();
        self.fail_when(op, Seen::ByEach, is_over, &trouble);
        left
    }

    fn looped_too_long(&self) -> Trouble<'ctx> {
        let none: V<'ctx> = self.llvm.const_i64(0).into();
        let word = (64, WaitCondition::Equal);
        let (failure, message) = (DeviceFailure::LoopedTooLong, String::new());
        Trouble { failure, what: "while", message, address: none, wanted: none, seen: none, word }
    }

    /// Whether a condition holds in any thread; they all wait for each other.
    pub(super) fn in_any_thread(&mut self, condition: V<'ctx>) -> IntValue<'ctx> {
        let llvm = self.llvm;
        let mine = llvm.cast(Op::ZExt, condition, llvm.i32().into());
        let text =
            "{ .reg .pred mine, any; setp.ne.u32 mine, $1, 0; bar.red.or.pred any, 0, mine; selp.u32 $0, 1, 0, any; }";
        let any = llvm.ptx(text, &[llvm.i32().into()], &[], &[mine], Does::Act)[0];
        self.scratch_is_free();
        llvm.icmp(IntPredicate::NE, any, llvm.const_i32(0).into()).into_int_value()
    }

    /// If a condition holds, this thread ends.
    pub(super) fn exit_when(&mut self, condition: IntValue<'ctx>) {
        self.when(Some(condition), |e| e.llvm.ptx_act("exit;", &[]));
    }

    /// If a condition holds, whoever sees it ends, and it is reported.
    pub(super) fn fail_when(&mut self, op: OpId, sees: Seen, condition: IntValue<'ctx>, trouble: &Trouble<'ctx>) {
        self.when(Some(condition), |e| {
            match sees {
                Seen::ByAll => {
                    let one = e.is_thread_0();
                    e.when(Some(one), |e| e.report(op, trouble));
                }
                Seen::ByEach => e.report(op, trouble),
            }
            e.llvm.ptx_act("exit;", &[]);
        });
    }

    /// Ends the program unless a condition holds: a scalar, or in all elements of a tile that a mask does not hide. Threads
    /// that see one where it does not say so, and all of them end together.
    pub(super) fn assertion(&mut self, op: OpId, message: &str) {
        let (llvm, func) = (self.llvm, self.func);
        let operands = func.op(op).operands();
        let conditions = self.numbers(operands[0]);
        let masks = operands.get(1).map(|&mask| self.numbers(mask));
        let mut broken: V<'ctx> = llvm.i1().const_zero().into();
        for (at, &condition) in conditions.iter().enumerate() {
            let fails = llvm.not(condition);
            let fails = masks.as_ref().map_or(fails, |masks| llvm.bin(Op::And, fails, masks[at]));
            broken = llvm.bin(Op::Or, broken, fails);
        }
        let none: V<'ctx> = llvm.const_i64(0).into();
        let trouble = Trouble {
            failure: DeviceFailure::AssertFailed,
            what: "device_assert",
            message: message.to_owned(),
            address: none,
            wanted: none,
            seen: none,
            word: (64, WaitCondition::Equal),
        };
        if !func.ty(operands[0]).is_tile() {
            self.fail_when(op, Seen::ByAll, broken.into_int_value(), &trouble);
            return;
        }
        self.when(Some(broken.into_int_value()), |e| e.report(op, &trouble));
        self.end_together_when(broken);
    }

    /// Writes an entry, if there is room.
    pub(super) fn report(&mut self, op: OpId, trouble: &Trouble<'ctx>) {
        let llvm = self.llvm;
        let report = self.seldom_asked(rank_table::REPORT_AT);
        let one: V<'ctx> = llvm.const_i32(1).into();
        let text = "atom.relaxed.sys.global.add.u32 $0, [$1], $2;";
        let at = llvm.ptx(text, &[llvm.i32().into()], &[], &[report, one], Does::Act)[0];
        let has_room = llvm.icmp(IntPredicate::ULT, at, llvm.const_i32(REPORT_ENTRIES as i64).into());
        let (site, site_bytes) = self.site(op, trouble);
        self.when(Some(has_room.into_int_value()), |e| {
            let wide = |value: V<'ctx>| llvm.cast(Op::SExt, pointer_as_int(llvm, value), llvm.i64().into());
            let bytes: V<'ctx> = llvm.const_i64(ENTRY_BYTES as i64).into();
            let offset = llvm.bin(Op::Mul, llvm.cast(Op::ZExt, at, llvm.i64().into()), bytes);
            let place = llvm.bin(Op::Add, llvm.bin(Op::Add, report, bytes), offset);
            let (bits, condition) = trouble.word;
            let kind = i64::from(bits | condition.number() << 8);
            let put = |at: u64, width: u32, value: V<'ctx>| {
                e.llvm.ptx_act(&format!("st.relaxed.sys.global.b{width} [$0+{at}], $1;"), &[place, value]);
            };
            put(entry::WORD_AT, 32, llvm.const_i32(kind).into());
            put(entry::ADDRESS_AT, 64, wide(trouble.address));
            put(entry::WANTED_AT, 64, wide(trouble.wanted));
            put(entry::SEEN_AT, 64, wide(trouble.seen));
            for (at, axis) in (0..).zip(["ctaid.x", "ctaid.y", "ctaid.z"]) {
                put(entry::PROGRAM_AT + 4 * at, 32, special_register(llvm, axis).into());
            }
            for word in (0..site_bytes).step_by(8) {
                let text = format!("ld.global.b64 $0, [$1+{word}];");
                let part = llvm.ptx(&text, &[llvm.i64().into()], &[], &[site], Does::Act)[0];
                put(entry::SITE_AT + word, 64, part);
            }
            let number: V<'ctx> = llvm.const_i32(trouble.failure.number().into()).into();
            let last = format!("st.release.sys.global.b32 [$0+{}], $1;", entry::FAILURE_AT);
            e.llvm.ptx_act(&last, &[place, number]);
        });
    }

    /// The address of an operation's place in the source, and its bytes.
    fn site(&self, op: OpId, trouble: &Trouble<'ctx>) -> (V<'ctx>, u64) {
        let llvm = self.llvm;
        let (file, line, col) = self.place(op);
        let (what, kernel, message) = (trouble.what.to_owned(), self.func.name.clone(), trouble.message.clone());
        let text = rank_table::site_text(&ReportedSite { file, line, col, what, kernel, message });
        let bytes = text.len() as u64;
        let text = llvm.context.const_string(&text, false);
        let global = llvm.module.add_global(text.get_type(), Some(AddressSpace::from(1)), "site");
        global.set_initializer(&text);
        global.set_constant(true);
        global.set_alignment(8);
        global.set_linkage(inkwell::module::Linkage::Private);
        let pointer = global.as_pointer_value();
        let generic = llvm.builder.build_address_space_cast(pointer, llvm.ptr(), "").expect("a pointer");
        (llvm.ptr_to_int(generic).into(), bytes)
    }
}
