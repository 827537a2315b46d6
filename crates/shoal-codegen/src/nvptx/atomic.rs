//! Atomic operations, and waiting for memory to change.
//!
//! One thread does what the program does once; then all get the result. Where an operation orders what the whole program
//! did, its threads wait for each other before or after it.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_abi::{NvptxArch, WaitCondition};
use shoal_ir::class::AtomicOp;
use shoal_ir::op::{BinaryOp, RmwOp, Scope, Sem};
use shoal_ir::{Elem, OpId, Scalar, Value};
use shoal_layout::LinearLayout;

use super::check::Accesses;
use super::comm::Awaited;
use super::emitter::{Emitter, Held};
use super::give_up::Seen;
use super::inline_ptx::Does;
use super::lane_code;
use crate::shared::arith;
use crate::shared::llvm::{V, pointer_as_int};
use crate::shared::value_type::register_type;

/// How an atomic operation is ordered.
#[derive(Copy, Clone)]
struct Order {
    sem: Sem,
    scope: Scope,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn atomic(&mut self, op: OpId, kind: AtomicOp, sem: Sem, scope: Scope) {
        let func = self.func;
        let data = func.op(op);
        let order = Order { sem, scope };
        // What a lane does for itself is ordered with the others by barriers that the kernel has.
        let for_all = !lane_code::is_by_threads(func, op);
        if for_all && matches!(sem, Sem::Release | Sem::AcqRel) {
            self.block_barrier();
        }
        self.order_access(op);
        if kind == AtomicOp::Poll {
            self.poll(op, order);
            return;
        }
        let pointers = data.operands()[0];
        let result = data.results().first().copied();
        let (layout, one_thread) = match func.ty(pointers).layout() {
            Some(layout) => (Some(layout.clone()), self.is_first_holder(layout)),
            None => (None, Some(self.is_thread_0())),
        };
        let mask_at = match kind {
            AtomicOp::Rmw(_) | AtomicOp::Store => Some(2),
            AtomicOp::Load => Some(1),
            AtomicOp::Cas => Some(3),
            AtomicOp::Poll => None,
        };
        let mask = mask_at.and_then(|at| data.operands().get(at).copied()).map(|mask| self.numbers(mask));
        let operands: Vec<_> = data.operands().iter().map(|&v| self.numbers(v)).collect();
        let copies = layout.as_ref().map_or(0, |layout| layout.free_variable_masks().register) as usize;
        let elem = self.accessed_elem(pointers);
        let zero = register_type(self.llvm, elem).const_zero();
        let wanted: Vec<_> = (0..operands[0].len())
            .map(|register| match (mask.as_ref().map(|mask| mask[register]), one_thread) {
                (Some(mask), Some(one)) => Some(self.llvm.bin(Op::And, mask, one.into()).into_int_value()),
                (Some(mask), None) => Some(mask.into_int_value()),
                (None, one) => one,
            })
            .collect();
        let accesses = Accesses { addresses: &operands[0], count: 1, sees: Seen::ByEach };
        let wanted = self.checked(op, &accesses, wanted);
        let mut numbers = Vec::new();
        for (register, &wanted) in wanted.iter().enumerate() {
            if register & copies != 0 {
                let first = numbers[register & !copies];
                numbers.push(first);
                continue;
            }
            let values: Vec<V<'ctx>> =
                operands.iter().map(|list| if list.len() == 1 { list[0] } else { list[register] }).collect();
            numbers.push(self.when_value(wanted, zero, |e| e.atomic_element(kind, order, elem, &values, zero)));
        }
        let used = result.filter(|&result| !func.value(result).uses().is_empty());
        if let Some(result) = used {
            let numbers = match one_thread {
                Some(one) => self.tell_all(&numbers, layout.as_ref(), one, elem),
                None => numbers,
            };
            self.hold_numbers(result, numbers);
        }
        if for_all && matches!(sem, Sem::Acquire | Sem::AcqRel) {
            self.block_barrier();
            self.scratch_may_be_busy();
        }
    }

    fn accessed_elem(&self, pointers: Value) -> Elem {
        self.elem(pointers).ptr().expect("pointers").element()
    }

    pub(super) fn is_thread_0(&self) -> IntValue<'ctx> {
        let llvm = self.llvm;
        llvm.icmp(IntPredicate::EQ, self.thread.into(), llvm.const_i32(0).into()).into_int_value()
    }

    /// `body`'s value where a condition holds, else `otherwise`.
    pub(super) fn when_value(
        &mut self,
        condition: Option<IntValue<'ctx>>,
        otherwise: V<'ctx>,
        body: impl FnOnce(&mut Self) -> V<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let Some(condition) = condition else { return body(self) };
        let before = llvm.here();
        let (then, after) = (llvm.new_block("one"), llvm.new_block("all"));
        llvm.branch(condition, then, after);
        llvm.builder.position_at_end(then);
        let value = body(self);
        let end = llvm.here();
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let phi = llvm.builder.build_phi(otherwise.get_type(), "").expect("a phi");
        phi.add_incoming(&[(&otherwise, before), (&value, end)]);
        phi.as_basic_value()
    }

    /// What some threads hold, told to those that hold copies, through shared memory.
    fn tell_all(
        &mut self,
        numbers: &[V<'ctx>],
        layout: Option<&LinearLayout>,
        one: IntValue<'ctx>,
        elem: Elem,
    ) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let bytes = elem.bytes();
        let elements = layout.map_or(1, LinearLayout::num_elements) as u32;
        let base = self.use_scratch(elements * bytes);
        let indices = layout.map_or_else(|| vec![llvm.const_i32(0)], |layout| self.flat_indices(layout));
        let places: Vec<IntValue<'ctx>> = indices
            .into_iter()
            .map(|index| {
                let scaled = llvm.bin(Op::Mul, index.into(), llvm.const_i32(bytes.into()).into());
                llvm.bin(Op::Add, scaled, llvm.const_i32(base.into()).into()).into_int_value()
            })
            .collect();
        self.when(Some(one), |e| {
            for (&number, &place) in numbers.iter().zip(&places) {
                e.store_element(elem, number, place);
            }
        });
        self.block_barrier();
        self.scratch_may_be_busy();
        places.into_iter().map(|place| self.load_element(elem, place)).collect()
    }

    fn atomic_element(
        &mut self,
        kind: AtomicOp,
        order: Order,
        elem: Elem,
        values: &[V<'ctx>],
        zero: V<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let address = values[0];
        match kind {
            AtomicOp::Rmw(op) => match native(op, elem, self.arch) {
                Some(name) => {
                    let text = format!("atom{}.global.{name} $0, [$1], $2;", suffix(order));
                    let is_bits = name.contains(".b");
                    let value = if is_bits { self.bits_of(elem, values[1]) } else { pointer_as_int(llvm, values[1]) };
                    let value = if elem == Elem::Scalar(Scalar::BF16) { self.bits_of(elem, values[1]) } else { value };
                    let old = llvm.ptx(&text, &[value.get_type()], &[], &[address, value], Does::Act)[0];
                    if old.get_type() == zero.get_type() { old } else { self.value_of(elem, old) }
                }
                None => self.rmw_by_cas(op, order, elem, address, values[1]),
            },
            AtomicOp::Cas => {
                let (compare, new) = (self.bits_of(elem, values[1]), self.bits_of(elem, values[2]));
                let old = self.compare_and_swap(order, address, compare, new);
                self.value_of(elem, old)
            }
            AtomicOp::Load => {
                let old = self.atomic_load(order, address, elem);
                self.value_of(elem, old)
            }
            AtomicOp::Store => {
                let sem = if matches!(order.sem, Sem::Release | Sem::AcqRel) { "release" } else { "relaxed" };
                let value = self.bits_of(elem, values[1]);
                let bits = elem.bytes() * 8;
                llvm.ptx_act(&format!("st.{sem}.{}.global.b{bits} [$0], $1;", order.scope), &[address, value]);
                zero
            }
            AtomicOp::Poll => unreachable!("a poll is a loop of its own"),
        }
    }

    /// Orders what all threads did before it with what they do after it.
    pub(super) fn fence(&mut self, sem: Sem, scope: Scope) {
        self.block_barrier();
        let sem = match sem {
            Sem::Relaxed => return,
            Sem::Acquire | Sem::Release | Sem::AcqRel => "acq_rel",
        };
        self.llvm.ptx_act(&format!("fence.{sem}.{scope};"), &[]);
    }

    fn atomic_load(&self, order: Order, address: V<'ctx>, elem: Elem) -> V<'ctx> {
        let sem = if matches!(order.sem, Sem::Acquire | Sem::AcqRel) { "acquire" } else { "relaxed" };
        let bits = elem.bytes() * 8;
        let ty = self.llvm.int_type(bits.max(16)).into();
        // In the order of words that Triton-distributed's tests look for.
        let text = format!("ld.global.{sem}.{}.b{bits} $0, [$1];", order.scope);
        self.llvm.ptx(&text, &[ty], &[], &[address], Does::Act)[0]
    }

    fn compare_and_swap(&self, order: Order, address: V<'ctx>, compare: V<'ctx>, new: V<'ctx>) -> V<'ctx> {
        let bits = compare.get_type().into_int_type().get_bit_width();
        let text = format!("atom{}.global.cas.b{bits} $0, [$1], $2, $3;", suffix(order));
        self.llvm.ptx(&text, &[compare.get_type()], &[], &[address, compare, new], Does::Act)[0]
    }

    /// A number as bits, in a register that can hold them.
    pub(super) fn bits_of(&self, elem: Elem, value: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let value = pointer_as_int(llvm, value);
        let bits = llvm.cast(
            Op::BitCast,
            crate::shared::value_type::to_memory(llvm, elem, value),
            llvm.int_type(elem.bytes() * 8).into(),
        );
        if elem.bytes() == 1 { llvm.cast(Op::ZExt, bits, llvm.int_type(16).into()) } else { bits }
    }

    fn value_of(&self, elem: Elem, bits: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let bits = if elem.bytes() == 1 { llvm.cast(Op::Trunc, bits, llvm.i8().into()) } else { bits };
        match elem {
            Elem::Ptr(_) => llvm.int_to_ptr(bits.into_int_value()).into(),
            Elem::Scalar(Scalar::I1) => crate::shared::value_type::from_memory(llvm, elem, bits),
            Elem::Scalar(_) => llvm.cast(Op::BitCast, bits, register_type(llvm, elem)),
        }
    }

    /// What no instruction does: read, combine, and write if nobody else wrote meanwhile.
    fn rmw_by_cas(&mut self, op: RmwOp, order: Order, elem: Elem, address: V<'ctx>, value: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let number = elem.scalar().unwrap_or(Scalar::U64);
        let relaxed = Order { sem: Sem::Relaxed, ..order };
        let start = self.atomic_load(relaxed, address, elem);
        let before = llvm.here();
        let (again, done) = (llvm.new_block("again"), llvm.new_block("done"));
        llvm.jump(again);
        llvm.builder.position_at_end(again);
        let expected = llvm.builder.build_phi(start.get_type(), "").expect("a phi");
        let old = self.value_of(elem, expected.as_basic_value());
        let new = match op {
            RmwOp::Add => arith::binary(llvm, BinaryOp::Add, number, old, value),
            RmwOp::Min => arith::binary(llvm, BinaryOp::Min, number, old, value),
            RmwOp::Max => arith::binary(llvm, BinaryOp::Max, number, old, value),
            RmwOp::And => arith::binary(llvm, BinaryOp::And, number, old, value),
            RmwOp::Or => arith::binary(llvm, BinaryOp::Or, number, old, value),
            RmwOp::Xor => arith::binary(llvm, BinaryOp::Xor, number, old, value),
            RmwOp::Xchg => value,
        };
        let seen = self.compare_and_swap(order, address, expected.as_basic_value(), self.bits_of(elem, new));
        let same = llvm.icmp(IntPredicate::EQ, seen, expected.as_basic_value()).into_int_value();
        expected.add_incoming(&[(&start, before), (&seen, llvm.here())]);
        llvm.branch(same, done, again);
        llvm.builder.position_at_end(done);
        old
    }

    /// One thread looks until memory equals what is expected or the time is over. A wait without a limit of its own ends
    /// the program after the launch's.
    fn poll(&mut self, op: OpId, order: Order) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let elem = self.accessed_elem(data.operands()[0]);
        let address = self.scalar(data.operands()[0]);
        self.check_range(op, address, llvm.const_i32(1).into());
        let expected = self.bits_of(elem, self.scalar(data.operands()[1]));
        let limit = data.operands().get(2).map(|&limit| self.scalar(limit));
        let truth: V<'ctx> = llvm.i1().const_zero().into();
        let one = self.is_thread_0();
        match limit {
            Some(limit) => {
                let found = self.when_value(Some(one), truth, |e| e.spin_within(order, elem, address, expected, limit));
                let told = self.tell_all(&[found], None, one, Scalar::I1.into());
                self.hold(data.result(), Held::Scalar(told[0]));
            }
            None => {
                let bits = elem.bytes() * 8;
                let address = pointer_as_int(llvm, address);
                let sem = if matches!(order.sem, Sem::Acquire | Sem::AcqRel) { "acquire" } else { "relaxed" };
                let load = format!("ld.{sem}.{}.global.b{bits} $0, [$1];", order.scope);
                let condition = WaitCondition::Equal;
                let awaited = Awaited { what: "atomic_poll", address, expected, bits, condition };
                let failed = self.when_value(Some(one), truth, |e| e.spin_for_word(op, &load, &awaited));
                self.end_together_when(failed);
                self.hold(data.result(), Held::Scalar(llvm.i1().const_int(1, false).into()));
            }
        }
    }

    fn spin_within(
        &mut self,
        order: Order,
        elem: Elem,
        address: V<'ctx>,
        expected: V<'ctx>,
        limit: V<'ctx>,
    ) -> V<'ctx> {
        let llvm = self.llvm;
        let clock = || llvm.ptx("mov.u64 $0, %globaltimer;", &[llvm.i64().into()], &[], &[], Does::Act)[0];
        let start = clock();
        let (look, waited, over) = (llvm.new_block("look"), llvm.new_block("waited"), llvm.new_block("over"));
        llvm.jump(look);
        llvm.builder.position_at_end(look);
        let seen = self.atomic_load(order, address, elem);
        let same = llvm.icmp(IntPredicate::EQ, seen, expected);
        llvm.branch(same.into_int_value(), over, waited);
        llvm.builder.position_at_end(waited);
        let spent = llvm.bin(Op::Sub, clock(), start);
        let late = llvm.icmp(IntPredicate::SGT, spent, limit).into_int_value();
        llvm.branch(late, over, look);
        llvm.builder.position_at_end(over);
        let phi = llvm.builder.build_phi(llvm.i1(), "").expect("a phi");
        let (yes, no) = (llvm.i1().const_int(1, false), llvm.i1().const_zero());
        phi.add_incoming(&[(&yes, look), (&no, waited)]);
        phi.as_basic_value()
    }
}

fn suffix(order: Order) -> String {
    format!(".{}.{}", order.sem, order.scope)
}

/// The instruction for a read-modify-write; `None` if there is none for the type.
fn native(op: RmwOp, elem: Elem, arch: NvptxArch) -> Option<String> {
    let Elem::Scalar(number) = elem else { return (op == RmwOp::Xchg).then(|| "exch.b64".to_owned()) };
    let bits = number.bits();
    let whole = number.is_int() && bits >= 32;
    let signed = if number.is_signed_int() { "s" } else { "u" };
    match op {
        // As Triton-distributed's tests look for it.
        RmwOp::Add if number == Scalar::I32 => Some("add.s32".to_owned()),
        RmwOp::Add if whole => Some(format!("add.u{bits}")),
        RmwOp::Add => {
            let has_bf16 = arch >= NvptxArch::Sm90;
            let known = [
                (Scalar::F32, "add.f32"),
                (Scalar::F64, "add.f64"),
                (Scalar::F16, "add.noftz.f16"),
                (Scalar::BF16, "add.noftz.bf16"),
            ];
            let found = known.iter().find(|(other, _)| *other == number);
            found.filter(|_| number != Scalar::BF16 || has_bf16).map(|(_, name)| (*name).to_owned())
        }
        RmwOp::Min => whole.then(|| format!("min.{signed}{bits}")),
        RmwOp::Max => whole.then(|| format!("max.{signed}{bits}")),
        RmwOp::And => whole.then(|| format!("and.b{bits}")),
        RmwOp::Or => whole.then(|| format!("or.b{bits}")),
        RmwOp::Xor => whole.then(|| format!("xor.b{bits}")),
        RmwOp::Xchg => (bits >= 32).then(|| format!("exch.b{bits}")),
    }
}

/// Whether an atomic operation on elements of so many bytes can be done.
pub(super) fn is_possible(kind: AtomicOp, elem: Elem) -> bool {
    match kind {
        AtomicOp::Load | AtomicOp::Store => true,
        AtomicOp::Rmw(_) | AtomicOp::Cas | AtomicOp::Poll => elem.bytes() > 1,
    }
}
