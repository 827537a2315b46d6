//! SHMEM operations between ranks whose memory this GPU reaches by loads and stores: copies by the threads that take
//! part, signals, and meetings of teams in words of the symmetric heap.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_abi::WaitCondition;
use shoal_abi::rank_table::{self, DeviceFailure};
use shoal_abi::team::{handle, sync_words};
use shoal_ir::comm::SignalOp;
use shoal_ir::shmem::{Meeting, Participants, ShmemOp, Way};
use shoal_ir::{OpId, Scalar};

use super::comm::{Awaited, Reached};
use super::emitter::{Emitter, Held};
use super::give_up::{Seen, Trouble};
use super::inline_ptx::Does;
use super::place::registers;
use crate::shared::llvm::{V, pointer_as_int};

/// Threads that act together.
#[derive(Clone, Copy)]
pub(super) struct Group<'ctx> {
    pub(super) by: Participants,
    /// This thread's number among them, and how many they are, in 64 bits.
    number: V<'ctx>,
    threads: V<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn shmem_op(&mut self, op: OpId, kind: ShmemOp) {
        let (llvm, func) = (self.llvm, self.func);
        let operands = func.op(op).operands();
        match kind {
            ShmemOp::TeamRank => self.ask_team(op, "team_my_pe", rank_table::TEAM_PLACE_AT),
            ShmemOp::TeamSize => self.ask_team(op, "team_n_pes", rank_table::TEAM_SIZE_AT),
            ShmemOp::TeamTranslate => self.translate(op),
            ShmemOp::Fence | ShmemOp::Quiet => self.deliver(),
            ShmemOp::Meet { meeting, .. } => {
                let what = match meeting {
                    Meeting::Barrier => "barrier",
                    Meeting::Sync => "sync",
                };
                self.deliver();
                self.block_barrier();
                self.meet(op, what, self.scalar(operands[0]));
            }
            ShmemOp::Collect { .. } => self.collect(op),
            ShmemOp::Copy { .. }
            | ShmemOp::PutSignal { .. }
            | ShmemOp::PutValue
            | ShmemOp::Signal { .. }
            | ShmemOp::SignalWait { .. } => {
                if func.ty(operands[0]).is_tile() {
                    self.act_by_lanes(op, kind);
                } else {
                    let values: Vec<V<'ctx>> = operands.iter().map(|&v| self.scalar(v)).collect();
                    let group = self.program_group();
                    let mask = kind.mask_at().and_then(|at| values.get(at).copied());
                    let none: V<'ctx> = llvm.i1().const_zero().into();
                    self.block_barrier();
                    let mask = mask.map(|mask| mask.into_int_value());
                    let failed = self.when_value(mask, none, |e| e.act(op, kind, &values, group));
                    self.end_together_when(failed);
                }
            }
        }
    }

    fn program_group(&self) -> Group<'ctx> {
        let llvm = self.llvm;
        let threads = llvm.const_i64((32 * self.func.gpu.num_warps).into()).into();
        let number = llvm.cast(Op::ZExt, self.thread.into(), llvm.i64().into());
        Group { by: Participants::Program, number, threads }
    }

    /// What the program put before is delivered before what it does after.
    pub(super) fn deliver(&mut self) {
        self.block_barrier();
        self.llvm.ptx_act("fence.acq_rel.sys;", &[]);
        if self.by_nvshmem {
            self.quiet_by_nvshmem();
            self.block_barrier();
        }
    }

    // Teams.

    /// The offset of a team's row in the table.
    fn team_row(&mut self, op: OpId, what: &'static str, team: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let end: V<'ctx> = llvm.const_i32(handle::END.into()).into();
        let known = llvm.icmp(IntPredicate::ULT, team, end);
        let row = self.row_at(llvm.select(known, team, llvm.const_i32(0).into()));
        let members = self.row_entry(row, rank_table::TEAM_SIZE_AT);
        let empty = llvm.icmp(IntPredicate::EQ, members, llvm.const_i32(0).into());
        let missing = llvm.bin(Op::Or, llvm.not(known), empty).into_int_value();
        let trouble = self.asked_wrongly(DeviceFailure::NoSuchTeam, what, team, end);
        self.fail_when(op, Seen::ByAll, missing, &trouble);
        row
    }

    fn row_at(&self, team: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let ranks = llvm.cast(Op::ZExt, self.table_entry(rank_table::SIZE_AT, 32), llvm.i64().into());
        let lists = llvm.bin(Op::Shl, ranks, llvm.const_i64(3).into());
        let bytes = llvm.bin(Op::Add, lists, llvm.const_i64(8).into());
        let team = llvm.cast(Op::ZExt, team, llvm.i64().into());
        llvm.bin(Op::Add, llvm.const_i64(rank_table::TEAMS_AT as i64).into(), llvm.bin(Op::Mul, team, bytes))
    }

    fn row_entry(&self, row: V<'ctx>, at: u64) -> V<'ctx> {
        let llvm = self.llvm;
        self.table_entry_at(llvm.bin(Op::Add, row, llvm.const_i64(at as i64).into()), 32)
    }

    /// A member as a rank of the world; in 64 bits, as is its number.
    fn member(&self, row: V<'ctx>, number: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let at = llvm.bin(Op::Add, row, llvm.bin(Op::Shl, number, llvm.const_i64(2).into()));
        llvm.cast(Op::ZExt, self.row_entry(at, rank_table::TEAM_MEMBERS_AT), llvm.i64().into())
    }

    fn is_invalid(&self, team: V<'ctx>) -> V<'ctx> {
        self.llvm.icmp(IntPredicate::EQ, team, self.llvm.const_i32(handle::INVALID.into()).into())
    }

    fn ask_team(&mut self, op: OpId, what: &'static str, at: u64) {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let team = self.scalar(data.operands()[0]);
        let invalid = self.is_invalid(team);
        let known = llvm.select(invalid, llvm.const_i32(0).into(), team);
        let row = self.team_row(op, what, known);
        let answer = llvm.select(invalid, llvm.const_i32(-1).into(), self.row_entry(row, at));
        self.hold(data.result(), Held::Scalar(answer));
    }

    fn translate(&mut self, op: OpId) {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let [team, member, other] = [0, 1, 2].map(|at| self.scalar(data.operands()[at]));
        let invalid = llvm.bin(Op::Or, self.is_invalid(team), self.is_invalid(other));
        let zero: V<'ctx> = llvm.const_i32(0).into();
        let [from, to] = [team, other].map(|team| llvm.select(invalid, zero, team));
        let what = "team_translate_pe";
        let from = self.team_row(op, what, from);
        let to = self.team_row(op, what, to);
        let members = self.row_entry(from, rank_table::TEAM_SIZE_AT);
        let member = llvm.select(invalid, zero, member);
        let nobody = llvm.icmp(IntPredicate::UGE, member, members).into_int_value();
        let trouble =
            Trouble { address: team, ..self.asked_wrongly(DeviceFailure::NoSuchMember, what, member, members) };
        self.fail_when(op, Seen::ByAll, nobody, &trouble);
        let rank = self.member(from, llvm.cast(Op::ZExt, member, llvm.i64().into()));
        let ranks = llvm.cast(Op::ZExt, self.table_entry(rank_table::SIZE_AT, 32), llvm.i64().into());
        // Behind the members come the places of all ranks.
        let place = llvm.cast(Op::Trunc, self.member(to, llvm.bin(Op::Add, ranks, rank)), llvm.i32().into());
        let answer = llvm.select(invalid, llvm.const_i32(-1).into(), place);
        self.hold(data.result(), Held::Scalar(answer));
    }

    /// The program's threads come to the team's meeting; one of them does what there is to do.
    fn meet(&mut self, op: OpId, what: &'static str, team: V<'ctx>) {
        let llvm = self.llvm;
        let row = self.team_row(op, what, team);
        let place = self.row_entry(row, rank_table::TEAM_PLACE_AT);
        let stranger = llvm.icmp(IntPredicate::SLT, place, llvm.const_i32(0).into()).into_int_value();
        let trouble = self.asked_wrongly(DeviceFailure::NotAMember, what, team, place);
        self.fail_when(op, Seen::ByAll, stranger, &trouble);
        let none: V<'ctx> = llvm.i1().const_zero().into();
        let one = self.is_thread_0();
        let failed = self.when_value(Some(one), none, |e| e.meet_for_all(op, what, team, row));
        self.end_together_when(failed);
    }

    /// The address of a team's word at a rank; all in 64 bits.
    fn sync_word(&self, rank: V<'ctx>, team: V<'ctx>, word: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let row = llvm.bin(Op::Mul, team, llvm.const_i64(sync_words::ROW as i64).into());
        let offset = llvm.bin(Op::Shl, llvm.bin(Op::Add, row, word), llvm.const_i64(3).into());
        // NVSHMEM names a place at a rank by the same place here.
        let heap = if self.by_nvshmem { self.table_entry(rank_table::OWN_HEAP_AT, 64) } else { self.heap_of(rank) };
        let begin = llvm.bin(Op::Add, heap, self.table_entry(rank_table::SYNC_WORDS_AT, 64));
        llvm.bin(Op::Add, begin, offset)
    }

    /// In round `k` the member `2^k` places behind is told, and the one as far before heard; gives whether it failed.
    fn meet_for_all(&mut self, op: OpId, what: &'static str, team: V<'ctx>, row: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let wide = |value: V<'ctx>| llvm.cast(Op::ZExt, value, llvm.i64().into());
        let long = |number: usize| -> V<'ctx> { llvm.const_i64(number as i64).into() };
        let (team, me) = (wide(team), wide(self.table_entry(rank_table::RANK_AT, 32)));
        let [size, place] =
            [rank_table::TEAM_SIZE_AT, rank_table::TEAM_PLACE_AT].map(|at| wide(self.row_entry(row, at)));
        let busy = self.sync_word(me, team, long(sync_words::BUSY));
        let count_at = self.sync_word(me, team, long(sync_words::COUNT));
        let ty = llvm.i64().into();
        let text = "atom.acquire.sys.global.cas.b64 $0, [$1], $2, $3;";
        let taken = llvm.ptx(text, &[ty], &[], &[busy, long(0), long(1)], Does::Act)[0];
        let two = llvm.icmp(IntPredicate::NE, taken, long(0)).into_int_value();
        let [refused, begin, head, round, next, leave, after] =
            ["two", "come", "round", "tell", "heard", "leave", "met"].map(|name| llvm.new_block(name));
        llvm.branch(two, refused, begin);
        llvm.builder.position_at_end(refused);
        let trouble = self.asked_wrongly(DeviceFailure::TwoAtMeeting, what, team, taken);
        self.report(op, &trouble);
        let refused = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(begin);
        let text = "atom.relaxed.sys.global.add.u64 $0, [$1], $2;";
        let count = llvm.ptx(text, &[ty], &[], &[count_at, long(1)], Does::Act)[0];
        let count = llvm.bin(Op::Add, count, long(1));
        let begin = llvm.here();
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let k = llvm.builder.build_phi(llvm.i64(), "k").expect("a phi");
        k.add_incoming(&[(&long(0), begin)]);
        let step = llvm.bin(Op::Shl, long(1), k.as_basic_value());
        let more = llvm.icmp(IntPredicate::ULT, step, size).into_int_value();
        let no: V<'ctx> = llvm.i1().const_zero().into();
        llvm.branch(more, round, leave);
        llvm.builder.position_at_end(round);
        let behind = llvm.bin(Op::URem, llvm.bin(Op::Add, place, step), size);
        let word = llvm.bin(Op::Add, k.as_basic_value(), long(sync_words::FIRST_ROUND));
        let other = self.member(row, behind);
        let tell = self.sync_word(other, team, word);
        // Whoever hears of this has heard of all that this program did, and of what it has heard of.
        if self.by_nvshmem {
            self.signal_by_nvshmem(tell, count, SignalOp::Set, other);
        } else {
            llvm.ptx_act("st.release.sys.global.b64 [$0], $1;", &[tell, count]);
        }
        let address = self.sync_word(me, team, word);
        let condition = WaitCondition::GreaterEqual;
        let awaited = Awaited { what, address, expected: count, bits: 64, condition };
        let failed = match self.by_nvshmem {
            true => self.await_by_nvshmem(op, &awaited),
            false => self.spin_for_word(op, "ld.acquire.sys.global.b64 $0, [$1];", &awaited),
        };
        let heard = llvm.here();
        llvm.branch(failed.into_int_value(), leave, next);
        llvm.builder.position_at_end(next);
        let following = llvm.bin(Op::Add, k.as_basic_value(), long(1));
        k.add_incoming(&[(&following, next)]);
        llvm.jump(head);
        llvm.builder.position_at_end(leave);
        let gave_up = llvm.builder.build_phi(llvm.i1(), "failed").expect("a phi");
        gave_up.add_incoming(&[(&no, head), (&failed, heard)]);
        llvm.ptx_act("st.release.sys.global.b64 [$0], $1;", &[busy, long(0)]);
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let failed = llvm.builder.build_phi(llvm.i1(), "failed").expect("a phi");
        let yes: V<'ctx> = llvm.i1().const_int(1, false).into();
        failed.add_incoming(&[(&yes, refused), (&gave_up.as_basic_value(), leave)]);
        failed.as_basic_value()
    }

    /// Copies the same part of every member's heap.
    fn collect(&mut self, op: OpId) {
        let llvm = self.llvm;
        let operands = self.func.op(op).operands();
        let [team, target, source, bytes] = [0, 1, 2, 3].map(|at| self.scalar(operands[at]));
        let what = "collect";
        let row = self.team_row(op, what, team);
        let size = llvm.cast(Op::ZExt, self.row_entry(row, rank_table::TEAM_SIZE_AT), llvm.i64().into());
        let target: V<'ctx> = llvm.ptr_to_int(target.into_pointer_value()).into();
        let group = self.program_group();
        self.block_barrier();
        let one: V<'ctx> = llvm.const_i64(1).into();
        self.for_range([llvm.const_i64(0).into(), size, one], |e, number| {
            let rank = e.member(row, number);
            let rank = llvm.cast(Op::Trunc, rank, llvm.i32().into());
            let reached = Reached { what, place: source, bytes, rank, mask: None };
            let to = llvm.bin(Op::Add, target, llvm.bin(Op::Mul, number, bytes));
            if e.by_nvshmem {
                e.check_reached(op, Seen::ByAll, &reached);
                e.get_by_nvshmem([to, source, bytes, rank]);
                return;
            }
            let from = e.symmetric(op, Seen::ByAll, &reached);
            e.copy_bytes(to, e.address(from), bytes, group);
        });
        self.block_barrier();
    }

    // Copies and signals.

    fn address(&self, place: V<'ctx>) -> V<'ctx> {
        pointer_as_int(self.llvm, place)
    }

    /// What threads that act together do; gives whether this thread gave up waiting.
    fn act(&mut self, op: OpId, kind: ShmemOp, values: &[V<'ctx>], group: Group<'ctx>) -> V<'ctx> {
        if self.by_nvshmem {
            return self.act_by_nvshmem(op, kind, values, group);
        }
        let llvm = self.llvm;
        let no: V<'ctx> = llvm.i1().const_zero().into();
        let sees = if group.by == Participants::Program { Seen::ByAll } else { Seen::ByEach };
        match kind {
            ShmemOp::Copy { way, .. } => {
                let [target, source, bytes, rank] = [0, 1, 2, 3].map(|at| values[at]);
                let (what, place) = match way {
                    Way::Put => ("put", target),
                    Way::Get => ("get", source),
                };
                let there = self.symmetric(op, sees, &Reached { what, place, bytes, rank, mask: None });
                let (to, from) = match way {
                    Way::Put => (there, source),
                    Way::Get => (target, there),
                };
                self.copy_bytes(self.address(to), self.address(from), bytes, group);
                no
            }
            ShmemOp::PutSignal { op: change, .. } => {
                let [target, source, bytes, word, signal, rank] = [0, 1, 2, 3, 4, 5].map(|at| values[at]);
                let what = "put with signal";
                let there = self.symmetric(op, sees, &Reached { what, place: target, bytes, rank, mask: None });
                self.copy_bytes(self.address(there), self.address(source), bytes, group);
                self.group_barrier(group);
                self.signal(op, what, [word, signal, rank], change, group);
                no
            }
            ShmemOp::PutValue => {
                let elem = self.elem(self.func.op(op).operands()[1]);
                let bytes = llvm.const_i64(elem.bytes().into()).into();
                let reached = Reached { what: "put", place: values[0], bytes, rank: values[2], mask: None };
                let there = self.symmetric(op, sees, &reached);
                let bits = self.bits_of(elem, values[1]);
                let leader = self.is_leader(group);
                let text = format!("st.global.b{} [$0], $1;", elem.bytes() * 8);
                self.when(leader, |e| e.llvm.ptx_act(&text, &[there, bits]));
                no
            }
            ShmemOp::Signal { op: change } => {
                self.signal(op, "signal_op", [values[0], values[1], values[2]], change, group);
                no
            }
            ShmemOp::SignalWait { cmp } => {
                let what = "signal_wait_until";
                let rank = self.table_entry(rank_table::RANK_AT, 32);
                let address = self.signal_word(op, what, (values[0], rank), sees);
                let awaited = Awaited { what, address, expected: values[1], bits: 64, condition: cmp.into() };
                let leader = self.is_leader(group);
                let load = "ld.acquire.sys.global.b64 $0, [$1];";
                self.when_value(leader, no, |e| e.spin_for_word(op, load, &awaited))
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

    /// The place of a signal at a rank: 8 bytes at a multiple of 8.
    fn signal_word(&mut self, op: OpId, what: &'static str, (word, rank): (V<'ctx>, V<'ctx>), sees: Seen) -> V<'ctx> {
        let llvm = self.llvm;
        let bytes: V<'ctx> = llvm.const_i64(8).into();
        let there = self.symmetric(op, sees, &Reached { what, place: word, bytes, rank, mask: None });
        let own = self.address(word);
        self.check_aligned(op, what, own, sees);
        self.address(there)
    }

    /// Ends the program if the address of a signal is not a multiple of 8.
    pub(super) fn check_aligned(&mut self, op: OpId, what: &'static str, address: V<'ctx>, sees: Seen) {
        let llvm = self.llvm;
        let rest = llvm.bin(Op::And, address, llvm.const_i64(7).into());
        let crooked = llvm.icmp(IntPredicate::NE, rest, llvm.const_i64(0).into()).into_int_value();
        let eight = llvm.const_i64(8).into();
        let trouble = Trouble { address, ..self.asked_wrongly(DeviceFailure::Misaligned, what, rest, eight) };
        self.fail_when(op, sees, crooked, &trouble);
    }

    /// Changes a word after all that the group did before; it is one of them who does.
    fn signal(
        &mut self,
        op: OpId,
        what: &'static str,
        [word, signal, rank]: [V<'ctx>; 3],
        change: SignalOp,
        group: Group<'ctx>,
    ) {
        let sees = if group.by == Participants::Program { Seen::ByAll } else { Seen::ByEach };
        let address = self.signal_word(op, what, (word, rank), sees);
        let text = match change {
            SignalOp::Set => "st.release.sys.global.b64 [$0], $1;",
            SignalOp::Add => "red.release.sys.global.add.u64 [$0], $1;",
        };
        let leader = self.is_leader(group);
        self.when(leader, |e| e.llvm.ptx_act(text, &[address, signal]));
    }

    pub(super) fn is_leader(&self, group: Group<'ctx>) -> Option<IntValue<'ctx>> {
        let zero = self.llvm.const_i64(0).into();
        let first = || self.llvm.icmp(IntPredicate::EQ, group.number, zero).into_int_value();
        (group.by != Participants::Lane).then(first)
    }

    pub(super) fn group_barrier(&mut self, group: Group<'ctx>) {
        match group.by {
            Participants::Program => self.block_barrier(),
            Participants::Warp => self.warp_barrier(),
            Participants::Lane => {}
        }
    }

    /// `from`, `from + step`, … before `to`; all in 64 bits.
    fn for_range(&mut self, [from, to, step]: [V<'ctx>; 3], body: impl FnOnce(&mut Self, V<'ctx>)) {
        let llvm = self.llvm;
        let before = llvm.here();
        let [head, trip, after] = ["range", "item", "done"].map(|name| llvm.new_block(name));
        llvm.jump(head);
        llvm.builder.position_at_end(head);
        let index = llvm.builder.build_phi(llvm.i64(), "i").expect("a phi");
        index.add_incoming(&[(&from, before)]);
        let more = llvm.icmp(IntPredicate::ULT, index.as_basic_value(), to).into_int_value();
        llvm.branch(more, trip, after);
        llvm.builder.position_at_end(trip);
        body(self, index.as_basic_value());
        let next = llvm.bin(Op::Add, index.as_basic_value(), step);
        index.add_incoming(&[(&next, llvm.here())]);
        llvm.jump(head);
        llvm.builder.position_at_end(after);
    }

    /// The threads of a group copy bytes: 16 at a time as far as both sides are aligned, else 4, else one.
    fn copy_bytes(&mut self, to: V<'ctx>, from: V<'ctx>, bytes: V<'ctx>, group: Group<'ctx>) {
        let llvm = self.llvm;
        let long = |number: i64| -> V<'ctx> { llvm.const_i64(number).into() };
        let both = llvm.bin(Op::Or, to, from);
        let zero = long(0);
        // How far steps of so many bytes reach.
        let reach = |width: i64| {
            let crooked = llvm.bin(Op::And, both, long(width - 1));
            let whole = llvm.bin(Op::And, bytes, long(-width));
            llvm.select(llvm.icmp(IntPredicate::EQ, crooked, zero), whole, zero)
        };
        let (wide, word) = (reach(16), reach(4));
        // Four at a time, so that loads do not wait for each other.
        let round = llvm.bin(Op::Mul, group.threads, long(64));
        let rounds = llvm.bin(Op::Mul, llvm.bin(Op::UDiv, wide, round), round);
        let mine = llvm.bin(Op::Mul, group.number, long(16));
        let stride = llvm.bin(Op::Mul, group.threads, long(16));
        self.for_range([zero, rounds, round], |e, start| {
            let first = e.llvm.bin(Op::Add, start, mine);
            let mut places = vec![first];
            for _ in 1..4 {
                let last = places[places.len() - 1];
                places.push(e.llvm.bin(Op::Add, last, stride));
            }
            let text = "ld.global.v4.b32 {$0, $1, $2, $3}, [$4];";
            let ty = llvm.i32().into();
            let loaded: Vec<Vec<V<'ctx>>> = places
                .iter()
                .map(|&place| llvm.ptx(text, &[ty; 4], &[], &[llvm.bin(Op::Add, from, place)], Does::Act))
                .collect();
            for (&place, numbers) in places.iter().zip(&loaded) {
                let mut operands = vec![llvm.bin(Op::Add, to, place)];
                operands.extend(numbers);
                llvm.ptx_act("st.global.v4.b32 [$0], {$1, $2, $3, $4};", &operands);
            }
        });
        let texts = [
            (16, "{ .reg .b32 a, b, c, d; ld.global.v4.b32 {a, b, c, d}, [$1]; st.global.v4.b32 [$0], {a, b, c, d}; }"),
            (4, "{ .reg .b32 a; ld.global.b32 a, [$1]; st.global.b32 [$0], a; }"),
            (1, "{ .reg .b16 a; ld.global.b8 a, [$1]; st.global.b8 [$0], a; }"),
        ];
        let ends = [wide, llvm.select(llvm.icmp(IntPredicate::UGT, word, wide), word, wide), bytes];
        let mut start = rounds;
        for ((width, text), end) in texts.into_iter().zip(ends) {
            let mine = llvm.bin(Op::Mul, group.number, long(width));
            let stride = llvm.bin(Op::Mul, group.threads, long(width));
            let first = llvm.bin(Op::Add, start, mine);
            self.for_range([first, end, stride], |e, at| {
                let operands = [to, from].map(|base| e.llvm.bin(Op::Add, base, at));
                e.llvm.ptx_act(text, &operands);
            });
            start = end;
        }
    }

    // Lanes that act, each with operands of its own.

    fn act_by_lanes(&mut self, op: OpId, kind: ShmemOp) {
        let (llvm, func) = (self.llvm, self.func);
        let operands = func.op(op).operands();
        let layout = self.layout(operands[0]).clone();
        let mask_at = kind.mask_at().filter(|&at| at < operands.len());
        let lists: Vec<_> = operands.iter().map(|&v| self.numbers(v)).collect();
        let copies = layout.free_variable_masks().register;
        let holder = self.is_first_holder(&layout);
        let no: V<'ctx> = llvm.i1().const_zero().into();
        let yes: V<'ctx> = llvm.i1().const_int(1, false).into();
        let mut failed = no;
        for register in (0..registers(&layout)).filter(|register| register & copies == 0) {
            let at = |list: &[V<'ctx>]| list[if list.len() == 1 { 0 } else { register as usize }];
            let values: Vec<V<'ctx>> = lists.iter().map(|list| at(list)).collect();
            let wanted = mask_at.map_or(yes, |at| values[at]);
            let wanted = holder.map_or(wanted, |holder| llvm.bin(Op::And, wanted, holder.into()));
            let given_up = match kind.participants() {
                Participants::Lane => {
                    let (number, threads) = (llvm.const_i64(0).into(), llvm.const_i64(1).into());
                    let group = Group { by: Participants::Lane, number, threads };
                    self.when_value(Some(wanted.into_int_value()), no, |e| e.act(op, kind, &values, group))
                }
                Participants::Warp => self.act_by_warp(op, kind, &values, wanted),
                Participants::Program => self.act_by_first(op, kind, &values, wanted),
            };
            failed = llvm.bin(Op::Or, failed, given_up);
        }
        if matches!(kind, ShmemOp::SignalWait { .. }) {
            self.end_together_when(failed);
        }
    }

    /// Each warp of which a lane takes part acts with the operands of the first such lane.
    fn act_by_warp(&mut self, op: OpId, kind: ShmemOp, values: &[V<'ctx>], wanted: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let mine = llvm.cast(Op::ZExt, wanted, llvm.i32().into());
        let ty = llvm.i32().into();
        let text = "{ .reg .pred mine; setp.ne.u32 mine, $1, 0; vote.sync.ballot.b32 $0, mine, 0xffffffff; }";
        let votes = llvm.ptx(text, &[ty], &[], &[mine], Does::Act)[0];
        let first = "{ .reg .b32 back; brev.b32 back, $1; bfind.shiftamt.u32 $0, back; }";
        let first = llvm.ptx_value(first, ty, &[votes]);
        let first = llvm.bin(Op::And, first, llvm.const_i32(31).into());
        let values: Vec<V<'ctx>> = values.iter().map(|&value| self.of_lane(value, first)).collect();
        let number = llvm.cast(Op::ZExt, self.lane.into(), llvm.i64().into());
        let group = Group { by: Participants::Warp, number, threads: llvm.const_i64(32).into() };
        let any = llvm.icmp(IntPredicate::NE, votes, llvm.const_i32(0).into()).into_int_value();
        let no: V<'ctx> = llvm.i1().const_zero().into();
        self.when_value(Some(any), no, |e| e.act(op, kind, &values, group))
    }

    /// A number as a lane of this warp holds it.
    fn of_lane(&self, value: V<'ctx>, lane: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let is_pointer = matches!(value, V::PointerValue(_));
        let number = self.address(value);
        let bits = number.get_type().into_int_type().get_bit_width();
        let wide = llvm.cast_int(number, 64);
        let low = llvm.cast(Op::Trunc, wide, llvm.i32().into());
        let high = llvm.cast(Op::Trunc, llvm.bin(Op::LShr, wide, llvm.const_i64(32).into()), llvm.i32().into());
        let text = "shfl.sync.idx.b32 $0, $1, $2, 31, 0xffffffff;";
        let [low, high] = [low, high].map(|half| {
            let moved = llvm.ptx(text, &[llvm.i32().into()], &[], &[half, lane], Does::Exchange)[0];
            llvm.cast(Op::ZExt, moved, llvm.i64().into())
        });
        let wide = llvm.bin(Op::Or, llvm.bin(Op::Shl, high, llvm.const_i64(32).into()), low);
        if is_pointer { llvm.int_to_ptr(wide.into_int_value()).into() } else { llvm.cast_int(wide, bits) }
    }

    /// If a lane takes part, the program acts with the operands of the first such lane.
    fn act_by_first(&mut self, op: OpId, kind: ShmemOp, values: &[V<'ctx>], wanted: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let ty = llvm.i32().into();
        let base = self.use_scratch(8 * (values.len() as u32 + 1));
        let place = |at: usize| llvm.const_i32((base as usize + 8 * at) as i64);
        let nobody: V<'ctx> = llvm.const_i32(-1).into();
        let one = self.is_thread_0();
        self.when(Some(one), |e| e.store_element(Scalar::U32.into(), nobody, place(0)));
        self.block_barrier();
        let at = llvm.bin(Op::Add, self.shared.address.into(), place(0).into());
        self.when(Some(wanted.into_int_value()), |e| {
            e.llvm.ptx("atom.shared.min.u32 $0, [$1], $2;", &[ty], &[], &[at, e.thread.into()], Does::Act);
        });
        self.block_barrier();
        let first = self.load_element(Scalar::U32.into(), place(0));
        let any = llvm.icmp(IntPredicate::NE, first, nobody).into_int_value();
        let chosen = llvm.icmp(IntPredicate::EQ, first, self.thread.into()).into_int_value();
        let words: Vec<V<'ctx>> = values.iter().map(|&value| llvm.cast_int(self.address(value), 64)).collect();
        self.when(Some(chosen), |e| {
            for (number, &word) in words.iter().enumerate() {
                e.store_element(Scalar::U64.into(), word, place(number + 1));
            }
        });
        self.block_barrier();
        self.scratch_may_be_busy();
        let told: Vec<V<'ctx>> = values
            .iter()
            .enumerate()
            .map(|(number, &value)| {
                let word = self.load_element(Scalar::U64.into(), place(number + 1));
                if matches!(value, V::PointerValue(_)) {
                    return llvm.int_to_ptr(word.into_int_value()).into();
                }
                llvm.cast_int(word, value.get_type().into_int_type().get_bit_width())
            })
            .collect();
        let (group, no): (_, V<'ctx>) = (self.program_group(), llvm.i1().const_zero().into());
        let failed = self.when_value(Some(any), no, |e| e.act(op, kind, &told, group));
        self.block_barrier();
        failed
    }
}
