//! SHMEM operations through NVSHMEM: calls of its device functions, whose bitcode is linked into the kernel. They reach
//! ranks on this host and on others.
//!
//! What NVSHMEM would wait for without an end is made of signals and of our own waits, which have one: meetings of teams,
//! collectives, and waits for signals. Teams are ours too, as NVSHMEM has no team of any ranks in any order.

use std::path::Path;

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::InstructionOpcode as Op;
use shoal_abi::WaitCondition;
use shoal_abi::rank_table::{self, DeviceFailure};
use shoal_ir::OpId;
use shoal_ir::comm::SignalOp;
use shoal_ir::shmem::{Completion, Participants, ShmemOp, Way};
use shoal_ir::source::{Diagnostic, Span};

use super::comm::{Awaited, Reached};
use super::emitter::Emitter;
use super::give_up::{Seen, Trouble};
use super::shmem::Group;
use crate::Linked;
use crate::shared::link::read_as_needed;
use crate::shared::llvm::{Llvm, V, pointer_as_int};

/// The passes that come first where NVSHMEM is linked: its functions go where they are called, and what nobody calls goes.
pub(super) const FIRST_PASSES: &str = "always-inline,globaldce";

/// NVSHMEM's numbers of changes of a signal.
const SIGNAL_SET: i64 = 9;
const SIGNAL_ADD: i64 = 10;

/// Links NVSHMEM's functions that the module calls.
pub(super) fn link(llvm: &Llvm<'_>, path: &Path, span: Span) -> Result<Linked, Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::error(span, format!("cannot link NVSHMEM's `{}`", path.display()))
            .note(why)
            .help("it is LLVM bitcode and comes with NVSHMEM (`pip install nvidia-nvshmem-cu12`); SHOAL_NVSHMEM names its folder")
    };
    let bitcode = std::fs::read(path).map_err(|why| refuse(why.to_string()))?;
    let library =
        read_as_needed(llvm, &bitcode).ok_or_else(|| refuse("it is no bitcode that LLVM 22 reads".to_owned()))?;
    library.set_triple(&llvm.module.get_triple());
    library.set_data_layout(&llvm.module.get_data_layout());
    // Functions that may be left out are, unless the kernel calls them.
    for function in library.get_functions() {
        if !function.as_global_value().is_declaration() && function.get_linkage() == Linkage::External {
            function.set_linkage(Linkage::LinkOnceODR);
        }
    }
    llvm.module.link_in_module(library).map_err(|why| refuse(why.to_string()))?;
    let missing = llvm.module.get_functions().find(|function| {
        let name = function.get_name().to_string_lossy();
        function.as_global_value().is_declaration() && (name.starts_with("nvshmem_") || name.starts_with("nvshmemx_"))
    });
    if let Some(function) = missing {
        return Err(refuse(format!("it has no function `{}`", function.get_name().to_string_lossy())));
    }
    Ok(Linked { path: path.to_owned(), bitcode })
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Calls a function of NVSHMEM's that gives nothing.
    fn nvshmem(&self, name: &str, args: &[V<'ctx>]) {
        let types: Vec<_> = args.iter().map(V::get_type).collect();
        let function = self.llvm.external(name, None, &types);
        self.llvm.call(function, args);
    }

    /// A place, as the functions take it.
    fn as_pointer(&self, place: V<'ctx>) -> V<'ctx> {
        if place.is_pointer_value() { place } else { self.llvm.int_to_ptr(place.into_int_value()).into() }
    }

    fn as_rank(&self, rank: V<'ctx>) -> V<'ctx> {
        self.llvm.cast_int(rank, 32)
    }

    /// The same place at a rank, which is known to be one, if loads and stores reach it. Where a mask is false, anything
    /// comes out.
    pub(super) fn place_by_nvshmem(&mut self, op: OpId, sees: Seen, reached: &Reached<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let (place, rank) = (self.as_pointer(reached.place), self.as_rank(reached.rank));
        let function = llvm.external("nvshmem_ptr", Some(llvm.ptr().into()), &[llvm.ptr().into(), llvm.i32().into()]);
        let there = llvm.call(function, &[place, rank]).expect("a pointer");
        let address = pointer_as_int(llvm, there);
        let nowhere = llvm.icmp(IntPredicate::EQ, address, llvm.const_i64(0).into());
        let nowhere = reached.mask.map_or(nowhere, |mask| llvm.bin(Op::And, nowhere, mask)).into_int_value();
        let asked = self.asked_wrongly(DeviceFailure::OutOfReach, reached.what, rank, address);
        let trouble = Trouble { address: pointer_as_int(llvm, place), ..asked };
        self.fail_when(op, sees, nowhere, &trouble);
        there
    }

    /// All that this thread has put is delivered. `nvshmem_fence` would order what one thread puts; a program's threads
    /// put for each other.
    pub(super) fn quiet_by_nvshmem(&self) {
        self.nvshmem("nvshmem_quiet", &[]);
    }

    /// Changes a word of a rank, which is given by its place in this rank's heap, after all that this thread has heard of.
    pub(super) fn signal_by_nvshmem(&self, word: V<'ctx>, value: V<'ctx>, change: SignalOp, rank: V<'ctx>) {
        self.llvm.ptx_act("fence.acq_rel.sys;", &[]);
        let args = [self.as_pointer(word), value, self.change(change), self.as_rank(rank)];
        self.nvshmem("nvshmemx_signal_op", &args);
    }

    fn change(&self, change: SignalOp) -> V<'ctx> {
        let number = match change {
            SignalOp::Set => SIGNAL_SET,
            SignalOp::Add => SIGNAL_ADD,
        };
        self.llvm.const_i32(number).into()
    }

    /// Waits for a signal to this rank; gives whether this thread gave up. What was delivered before it can be seen then.
    pub(super) fn await_by_nvshmem(&mut self, op: OpId, awaited: &Awaited<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let failed = self.spin_for_word(op, "ld.acquire.sys.global.b64 $0, [$1];", awaited);
        let seen = llvm.not(failed).into_int_value();
        // It need not wait any more, and makes visible what came over a network.
        let number = llvm.const_i32(compared(awaited.condition)).into();
        let args = [self.as_pointer(awaited.address), number, awaited.expected];
        self.when(Some(seen), |e| {
            let types: Vec<_> = args.iter().map(V::get_type).collect();
            let function = e.llvm.external("nvshmem_signal_wait_until", Some(e.llvm.i64().into()), &types);
            e.llvm.call(function, &args);
        });
        failed
    }

    /// The program's threads get bytes of a rank.
    pub(super) fn get_by_nvshmem(&mut self, [target, source, bytes, rank]: [V<'ctx>; 4]) {
        let args = [self.as_pointer(target), self.as_pointer(source), bytes, self.as_rank(rank)];
        self.nvshmem("nvshmemx_getmem_block", &args);
    }

    /// What threads that act together do; gives whether this thread gave up waiting.
    pub(super) fn act_by_nvshmem(
        &mut self,
        op: OpId,
        kind: ShmemOp,
        values: &[V<'ctx>],
        group: Group<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let no: V<'ctx> = llvm.i1().const_zero().into();
        let sees = if group.by == Participants::Program { Seen::ByAll } else { Seen::ByEach };
        match kind {
            ShmemOp::Copy { way, completion, .. } => {
                let [target, source, bytes, rank] = [0, 1, 2, 3].map(|at| values[at]);
                let (what, place, stem) = match way {
                    Way::Put => ("put", target, "putmem"),
                    Way::Get => ("get", source, "getmem"),
                };
                self.check_reached(op, sees, &Reached { what, place, bytes, rank, mask: None });
                let args = [self.as_pointer(target), self.as_pointer(source), bytes, self.as_rank(rank)];
                self.nvshmem(&name(stem, completion, group.by), &args);
            }
            ShmemOp::PutSignal { op: change, completion, .. } => {
                let [target, source, bytes, word, signal, rank] = [0, 1, 2, 3, 4, 5].map(|at| values[at]);
                let what = "put with signal";
                self.check_reached(op, sees, &Reached { what, place: target, bytes, rank, mask: None });
                let word = self.own_signal_word(op, what, (word, rank), sees);
                // The source was written by all threads.
                self.group_barrier(group);
                let (target, source) = (self.as_pointer(target), self.as_pointer(source));
                let args = [target, source, bytes, word, signal, self.change(change), self.as_rank(rank)];
                self.nvshmem(&name("putmem_signal", completion, group.by), &args);
            }
            ShmemOp::PutValue => {
                let elem = self.elem(self.func.op(op).operands()[1]);
                let bytes = llvm.const_i64(elem.bytes().into()).into();
                let reached = Reached { what: "put", place: values[0], bytes, rank: values[2], mask: None };
                self.check_reached(op, sees, &reached);
                let bits = self.bits_of(elem, values[1]);
                let args = [self.as_pointer(values[0]), bits, self.as_rank(values[2])];
                let name = format!("nvshmem_uint{}_p", elem.bytes() * 8);
                let leader = self.is_leader(group);
                self.when(leader, |e| e.nvshmem(&name, &args));
            }
            ShmemOp::Signal { op: change } => {
                let word = self.own_signal_word(op, "signal_op", (values[0], values[2]), sees);
                let leader = self.is_leader(group);
                self.when(leader, |e| e.signal_by_nvshmem(word, values[1], change, values[2]));
            }
            ShmemOp::SignalWait { cmp } => {
                let what = "signal_wait_until";
                let rank = self.table_entry(rank_table::RANK_AT, 32);
                let address = self.own_signal_word(op, what, (values[0], rank), sees);
                let address = pointer_as_int(llvm, address);
                let awaited = Awaited { what, address, expected: values[1], bits: 64, condition: cmp.into() };
                let leader = self.is_leader(group);
                return self.when_value(leader, no, |e| e.await_by_nvshmem(op, &awaited));
            }
            ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::Fence
            | ShmemOp::Quiet
            | ShmemOp::Meet { .. }
            | ShmemOp::Collect { .. } => unreachable!("{kind:?} is done by the program"),
        }
        no
    }

    /// The place of a signal in this rank's heap, checked: 8 bytes at a multiple of 8 that the rank has too.
    fn own_signal_word(
        &mut self,
        op: OpId,
        what: &'static str,
        (word, rank): (V<'ctx>, V<'ctx>),
        sees: Seen,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let bytes: V<'ctx> = llvm.const_i64(8).into();
        self.check_reached(op, sees, &Reached { what, place: word, bytes, rank, mask: None });
        let own = pointer_as_int(llvm, word);
        self.check_aligned(op, what, own, sees);
        self.as_pointer(word)
    }
}

/// The function's name for those who take part.
fn name(stem: &str, completion: Completion, by: Participants) -> String {
    let completion = match completion {
        Completion::Local => "",
        Completion::Issued => "_nbi",
    };
    match by {
        Participants::Lane => format!("nvshmem_{stem}{completion}"),
        Participants::Warp => format!("nvshmemx_{stem}{completion}_warp"),
        Participants::Program => format!("nvshmemx_{stem}{completion}_block"),
    }
}

/// NVSHMEM's number of a comparison.
fn compared(condition: WaitCondition) -> i64 {
    match condition {
        WaitCondition::Equal => 0,
        WaitCondition::NotEqual => 1,
        WaitCondition::Greater => 2,
        WaitCondition::LessEqual => 3,
        WaitCondition::Less => 4,
        WaitCondition::GreaterEqual => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_nvshmems_names() {
        let named = |completion, by| name("putmem_signal", completion, by);
        assert_eq!(named(Completion::Issued, Participants::Program), "nvshmemx_putmem_signal_nbi_block");
        assert_eq!(named(Completion::Local, Participants::Warp), "nvshmemx_putmem_signal_warp");
        assert_eq!(named(Completion::Issued, Participants::Lane), "nvshmem_putmem_signal_nbi");
    }
}
