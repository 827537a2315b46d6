//! Checks of every access, for kernels that are being debugged. A launch says where the memory of each parameter begins
//! and ends ([`NvptxNeeds::checks`](shoal_abi::NvptxNeeds)). An access outside of it is reported and not done: loads give
//! zero, stores and atomic operations nothing, and the program goes on. The host makes an error of the report.
//!
//! A thread reports once for an operation, not once for each element that it holds.
//!
//! Of an address that the program found in memory, nobody knows which memory it is about: where one lane's is impossible, the
//! others' are not trusted either, and the program does none of them.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_abi::rank_table::{AccessForm, DeviceFailure};
use shoal_abi::{ANYWHERE, AccessBase, WaitCondition};
use shoal_ir::OpId;

use super::emitter::Emitter;
use super::give_up::{Seen, Trouble};
use super::lane_code;
use crate::shared::access::Access;
use crate::shared::llvm::{V, pointer_as_int};

/// The most bytes that one instruction wants aligned.
const WIDEST: u32 = 16;

/// Where the memory of each parameter begins and ends.
pub(super) struct Checks<'ctx> {
    pub(super) bounds: Vec<[V<'ctx>; 2]>,
}

/// Accesses of one operation.
pub(super) struct Accesses<'a, 'ctx> {
    /// The first address of each.
    pub(super) addresses: &'a [V<'ctx>],
    /// How many elements each is about, one behind the other.
    pub(super) count: u32,
    /// Who sees whether they are wrong.
    pub(super) sees: Seen,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Which of an operation's accesses are done: those that are wanted and, in code that checks, may be done.
    pub(super) fn checked(
        &mut self,
        op: OpId,
        accesses: &Accesses<'_, 'ctx>,
        wanted: Vec<Option<IntValue<'ctx>>>,
    ) -> Vec<Option<IntValue<'ctx>>> {
        if self.checks.is_none() {
            return wanted;
        }
        let llvm = self.llvm;
        let Access { base, kind, bytes, what } = Access::of(self.func, op);
        let form = AccessForm { kind, bytes, count: accesses.count };
        let bytes = llvm.const_i64((form.bytes * form.count).into()).into();
        let mut any: V<'ctx> = llvm.i1().const_zero().into();
        let mut first: V<'ctx> = llvm.const_i64(0).into();
        let mut done = Vec::with_capacity(wanted.len());
        for (&address, wanted) in accesses.addresses.iter().zip(wanted) {
            let address = pointer_as_int(llvm, address);
            let fine = self.may_access(base, form, address, bytes);
            let wrong = llvm.not(fine);
            let (wrong, go) = match wanted {
                Some(wanted) => (llvm.bin(Op::And, wrong, wanted.into()), llvm.bin(Op::And, fine, wanted.into())),
                None => (wrong, fine),
            };
            first = llvm.select(any, first, llvm.select(wrong, address, first));
            any = llvm.bin(Op::Or, any, wrong);
            done.push(Some(go.into_int_value()));
        }
        let speaks = match accesses.sees {
            Seen::ByAll => llvm.bin(Op::And, any, self.is_thread_0().into()),
            Seen::ByEach => any,
        };
        let trouble = self.wrong_access(what, base, form, first);
        self.when(Some(speaks.into_int_value()), |e| e.report(op, &trouble));
        if base == AccessBase::Unknown && self.is_by_all_threads(op) {
            let fine = llvm.not(self.in_any_thread(any).into());
            let with = |go: IntValue<'ctx>| llvm.bin(Op::And, go.into(), fine).into_int_value();
            done = done.into_iter().map(|go| go.map(with)).collect();
        }
        done
    }

    /// Whether all threads come to an access together, each with elements of a tile.
    fn is_by_all_threads(&self, op: OpId) -> bool {
        self.func.ty(self.func.op(op).operands()[0]).is_tile() && !lane_code::is_by_threads(self.func, op)
    }

    /// The program ends unless it may access so many bytes from an address on, which all threads see.
    pub(super) fn check_range(&mut self, op: OpId, address: V<'ctx>, count: V<'ctx>) {
        if self.checks.is_none() {
            return;
        }
        let llvm = self.llvm;
        let Access { base, kind, bytes, what } = Access::of(self.func, op);
        let form = AccessForm { kind, bytes, count: 1 };
        let address = pointer_as_int(llvm, address);
        let count = llvm.cast(Op::SExt, count, llvm.i64().into());
        let bytes = llvm.bin(Op::Mul, count, llvm.const_i64(form.bytes.into()).into());
        let wrong = llvm.not(self.may_access(base, form, address, bytes)).into_int_value();
        let trouble = self.wrong_access(what, base, form, address);
        self.fail_when(op, Seen::ByAll, wrong, &trouble);
    }

    fn wrong_access(&self, what: &'static str, base: AccessBase, form: AccessForm, address: V<'ctx>) -> Trouble<'ctx> {
        Trouble {
            failure: DeviceFailure::WrongAccess,
            what,
            message: String::new(),
            address,
            wanted: self.llvm.const_i64(base.number().into()).into(),
            seen: self.llvm.const_i64(form.number().cast_signed()).into(),
            word: (64, WaitCondition::Equal),
        }
    }

    /// Whether bytes from an address on are memory that the kernel was given, and aligned.
    fn may_access(&self, base: AccessBase, form: AccessForm, first: V<'ctx>, bytes: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let last = llvm.bin(Op::Add, first, bytes);
        let bounds = &self.checks.as_ref().expect("accesses are checked").bounds;
        let inside = |[begin, end]: [V<'ctx>; 2]| {
            let from = llvm.icmp(IntPredicate::UGE, first, begin);
            llvm.bin(Op::And, from, llvm.icmp(IntPredicate::ULE, last, end))
        };
        let known = match base {
            AccessBase::Param(param) => inside(bounds[param as usize]),
            AccessBase::SomeParam => {
                let pointers = self
                    .func
                    .params()
                    .iter()
                    .zip(bounds)
                    .filter(|&(&param, _)| self.func.ty(param).elem().is_some_and(|elem| elem.ptr().is_some()));
                let none: V<'ctx> = llvm.i1().const_zero().into();
                pointers.fold(none, |any, (_, &bounds)| llvm.bin(Op::Or, any, inside(bounds)))
            }
            AccessBase::Unknown => {
                inside([ANYWHERE.start, ANYWHERE.end].map(|end| llvm.const_i64(end.cast_signed()).into()))
            }
        };
        let in_order = llvm.icmp(IntPredicate::ULE, first, last);
        let known = llvm.bin(Op::And, known, in_order);
        let rest = i64::from((form.bytes * form.count).min(WIDEST)) - 1;
        let rest = llvm.bin(Op::And, first, llvm.const_i64(rest).into());
        llvm.bin(Op::And, known, llvm.icmp(IntPredicate::EQ, rest, llvm.const_i64(0).into()))
    }
}
