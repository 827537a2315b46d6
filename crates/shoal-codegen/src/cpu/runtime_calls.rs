//! What a program tells the runtime: prints, failed assertions, waits.

use inkwell::values::{InstructionOpcode, PointerValue};
use shoal_abi::print::{PrintFlags, PrintKind, Radix};
use shoal_abi::{Context, Hook, Site, WaitCondition};
use shoal_ir::op::OpKind;
use shoal_ir::{Elem, OpId, Shape};

use super::emitter::Emitter;
use super::tile_loops::Width;
use crate::shared::llvm::V;
use crate::shared::value_type::to_memory;

/// How long a program of its own accord waits for a number in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Endless,
    Limited,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Constant text in the object.
    fn text(&self, text: &str) -> (V<'ctx>, V<'ctx>) {
        let llvm = self.llvm;
        let bytes = llvm.context.const_string(text.as_bytes(), false);
        (llvm.private_constant("text", bytes.into()).into(), llvm.const_i64(text.len() as i64).into())
    }

    /// The fields of the [`Site`] where an operation stands in the user's source.
    pub(super) fn site_values(&self, op: OpId, what: &str) -> [V<'ctx>; Site::FIELDS.len()] {
        let llvm = self.llvm;
        let span = self.func.op(op).span;
        let (line, column) = self.sources.line_col(span).unwrap_or((0, 0));
        let file = if span.is_none() { "" } else { self.sources.name(span.file) };
        let (file, file_len) = self.text(file);
        let (what, what_len) = self.text(what);
        let number = |n: u32| llvm.i32().const_int(u64::from(n), false).into();
        [file, file_len, number(line), number(column), what, what_len]
    }

    /// The same, as constant data.
    pub(super) fn site(&self, op: OpId, what: &str) -> PointerValue<'ctx> {
        self.llvm.constant_data("site", &Site::FIELDS, &self.site_values(op, what))
    }

    /// Lets other programs run between two trips of a loop that watches memory.
    pub(super) fn call_yield(&mut self, op: OpId, patience: Patience) {
        let llvm = self.llvm;
        let site = self.site(op, "a while loop that watches memory");
        match patience {
            Patience::Endless => llvm.call(llvm.hook(Hook::Yield), &[self.context.into(), site.into()]),
            Patience::Limited => {
                let (nowhere, nothing) = (llvm.ptr().const_null().into(), llvm.const_i64(0).into());
                let kind = llvm.const_i32(i64::from(PrintKind::U64.number())).into();
                let condition = WaitCondition::Equal.number() | WaitCondition::OR_IN_TIME;
                let condition = llvm.const_i32(i64::from(condition)).into();
                let wait = [self.context.into(), site.into(), nowhere, nothing, kind, condition];
                llvm.call(llvm.hook(Hook::Wait), &wait)
            }
        };
    }

    /// A wait is over. In a loop that only looks at memory, that is nothing but a look.
    pub(super) fn count_passed(&mut self) {
        if self.looking == 0 {
            let llvm = self.llvm;
            let at = llvm.offset(self.context, llvm.const_i64(Context::PASSED_AT as i64));
            let passed = llvm.bin(InstructionOpcode::Add, llvm.load(llvm.i64(), at, 8), llvm.const_i64(1).into());
            llvm.store(passed, at, 8);
        }
    }

    /// Lets other programs run until memory holds `expected`, which is the bits of an element, or until a time is over.
    pub(super) fn call_wait(
        &mut self,
        op: OpId,
        what: &str,
        address: PointerValue<'ctx>,
        elem: Elem,
        expected: V<'ctx>,
        patience: Patience,
    ) {
        let llvm = self.llvm;
        let site = self.site(op, what);
        let expected = llvm.cast(InstructionOpcode::ZExt, expected, llvm.i64().into());
        let number = |n: u32| llvm.i32().const_int(u64::from(n), false).into();
        let or_in_time = match patience {
            Patience::Endless => 0,
            Patience::Limited => WaitCondition::OR_IN_TIME,
        };
        let kind = number(elem.print_kind().number());
        let condition = number(WaitCondition::Equal.number() | or_in_time);
        llvm.call(
            llvm.hook(Hook::Wait),
            &[self.context.into(), site.into(), address.into(), expected, kind, condition],
        );
    }

    pub(super) fn assert_op(&mut self, op: OpId) {
        let func = self.func;
        let llvm = self.llvm;
        let data = func.op(op);
        let OpKind::Assert { message } = &data.kind else { unreachable!("an assertion") };
        self.needs.can_fail = true;
        self.read_before_write();
        self.prepare(data.operands());
        let site = self.site(op, "device_assert");
        let (text, length) = self.text(message);
        let shape = Shape::from_slice(self.shape(data.operands()[0]));
        let check = |e: &mut Self, condition: V<'ctx>, mask: Option<V<'ctx>>| {
            let mut broken = llvm.not(condition);
            if let Some(mask) = mask {
                broken = llvm.bin(InstructionOpcode::And, broken, mask);
            }
            if matches!(broken, V::VectorValue(_)) {
                broken = llvm.intrinsic("llvm.vector.reduce.or", &[broken.get_type()], &[broken]).expect("a value");
            }
            let context = e.context;
            e.when(broken, &[], |_| {
                llvm.call(llvm.hook(Hook::Fail), &[context.into(), site.into(), text, length]);
                Vec::new()
            });
        };
        if shape.is_empty() {
            let condition = self.scalar(data.operands()[0]);
            let mask = data.operands().get(1).map(|&m| self.scalar(m));
            check(self, condition, mask);
            return;
        }
        self.for_each_chunk(&shape, Width::Vector, &mut |e, index| {
            let lanes = index.lanes();
            let condition = e.chunk(data.operands()[0], index).widen(e.llvm, lanes);
            let mask = data.operands().get(1).map(|&m| e.chunk(m, index).widen(e.llvm, lanes).into());
            check(e, condition.into(), mask);
        });
        self.finish_root();
    }

    pub(super) fn print_op(&mut self, op: OpId) {
        let func = self.func;
        let llvm = self.llvm;
        let data = func.op(op);
        let OpKind::Print { prefix, hex } = &data.kind else { unreachable!("a print") };
        let site: V<'ctx> = self.site(op, "device_print").into();
        let (text, length) = self.text(prefix);
        if data.operands().is_empty() {
            llvm.call(llvm.hook(Hook::PrintText), &[self.context.into(), site, text, length]);
            return;
        }
        let radix = if *hex { Radix::Hex } else { Radix::Decimal };
        for (number, &value) in (0..).zip(data.operands()) {
            let elem = self.elem(value);
            let top = self.scratch_top;
            let base = if func.ty(value).is_tile() {
                self.materialise(value).base
            } else {
                let place = self.allocate_bytes(8);
                let stored = to_memory(llvm, elem, self.scalar(value));
                llvm.store(stored, place, elem.bytes());
                self.scratch_top = top;
                place
            };
            let operand = (data.operands().len() > 1).then_some(number);
            let flags = PrintFlags { radix, operand }.bits();
            let shape = self.shape(value);
            let number = |n: u32| llvm.i32().const_int(u64::from(n), false);
            let dims: Vec<_> = shape.iter().map(|&d| number(d)).collect();
            let dims = llvm.private_constant("shape", llvm.i32().const_array(&dims).into());
            let args: [V<'ctx>; 9] = [
                self.context.into(),
                site,
                text,
                length,
                number(elem.print_kind().number()).into(),
                number(flags).into(),
                base.into(),
                number(shape.len() as u32).into(),
                dims.into(),
            ];
            llvm.call(llvm.hook(Hook::PrintValue), &args);
        }
    }
}
