//! What a program tells the runtime: prints, failed assertions, waits. The symbols are those of the driver's ABI.

use inkwell::module::Linkage;
use inkwell::values::{InstructionOpcode, PointerValue, StructValue};
use shoal_ir::op::OpKind;
use shoal_ir::{Elem, OpId, Scalar, Shape};

use super::chunk::to_memory;
use super::emitter::Emitter;
use super::tile_loops::Width;
use crate::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Constant text in the object.
    fn text(&self, text: &str) -> (V<'ctx>, V<'ctx>) {
        let llvm = self.llvm;
        let bytes = llvm.context.const_string(text.as_bytes(), false);
        let global = llvm.module.add_global(bytes.get_type(), None, "text");
        global.set_initializer(&bytes);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        (global.as_pointer_value().into(), llvm.const_i64(text.len() as i64).into())
    }

    /// Where an operation stands in the user's source.
    pub(super) fn site_constant(&self, op: OpId, what: &str) -> StructValue<'ctx> {
        let llvm = self.llvm;
        let span = self.func.op(op).span;
        let (line, column) = self.sources.line_col(span).unwrap_or((0, 0));
        let file = if span.is_none() { "" } else { self.sources.name(span.file) };
        let (file, file_len) = self.text(file);
        let (what, what_len) = self.text(what);
        let number = |n: u32| llvm.i32().const_int(u64::from(n), false).into();
        llvm.context.const_struct(&[file, file_len, number(line), number(column), what, what_len], false)
    }

    /// The same, as constant data.
    fn site(&self, op: OpId, what: &str) -> PointerValue<'ctx> {
        let llvm = self.llvm;
        let site = self.site_constant(op, what);
        let global = llvm.module.add_global(site.get_type(), None, "site");
        global.set_initializer(&site);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.as_pointer_value()
    }

    /// Lets other programs run.
    pub(super) fn call_wait(&mut self, hook: &str, op: OpId, what: &str) {
        let llvm = self.llvm;
        let function = llvm.external(hook, None, &[llvm.ptr().into(), llvm.ptr().into()]);
        let site = self.site(op, what);
        llvm.call(function, &[self.context.into(), site.into()]);
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
                let (ptr, i64) = (llvm.ptr().into(), llvm.i64().into());
                let fail = llvm.external("shoal_fail", None, &[ptr, ptr, ptr, i64]);
                llvm.call(fail, &[context.into(), site.into(), text, length]);
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
        let (ptr, i32, i64) = (llvm.ptr().into(), llvm.i32().into(), llvm.i64().into());
        if data.operands().is_empty() {
            let hook = llvm.external("shoal_print_text", None, &[ptr, ptr, ptr, i64]);
            llvm.call(hook, &[self.context.into(), site, text, length]);
            return;
        }
        let hook = llvm.external("shoal_print_value", None, &[ptr, ptr, ptr, i64, i32, i32, ptr, i32, ptr]);
        for (i, &value) in data.operands().iter().enumerate() {
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
            let number = if data.operands().len() > 1 { i as i64 + 1 } else { 0 };
            let flags = llvm.const_i32(i64::from(*hex) | (number << 8));
            let shape = self.shape(value);
            let dims: Vec<_> = shape.iter().map(|&d| llvm.i32().const_int(u64::from(d), false)).collect();
            let dims = llvm.i32().const_array(&dims);
            let global = llvm.module.add_global(dims.get_type(), None, "shape");
            global.set_initializer(&dims);
            global.set_constant(true);
            global.set_linkage(Linkage::Private);
            let args: [V<'ctx>; 9] = [
                self.context.into(),
                site,
                text,
                length,
                llvm.const_i32(print_kind(elem)).into(),
                flags.into(),
                base.into(),
                llvm.const_i32(shape.len() as i64).into(),
                global.as_pointer_value().into(),
            ];
            llvm.call(hook, &args);
        }
    }
}

/// The runtime's number for an element type.
fn print_kind(elem: Elem) -> i64 {
    match elem {
        Elem::Ptr(_) => 18,
        Elem::Scalar(scalar) => match scalar {
            Scalar::I1 => 0,
            Scalar::I8 => 1,
            Scalar::I16 => 2,
            Scalar::I32 => 3,
            Scalar::I64 => 4,
            Scalar::U8 => 5,
            Scalar::U16 => 6,
            Scalar::U32 => 7,
            Scalar::U64 => 8,
            Scalar::F8E4M3 => 9,
            Scalar::F8E5M2 => 10,
            Scalar::F8E4M3Fnuz => 11,
            Scalar::F8E5M2Fnuz => 12,
            Scalar::F8E4B15 => 13,
            Scalar::F16 => 14,
            Scalar::BF16 => 15,
            Scalar::F32 => 16,
            Scalar::F64 => 17,
        },
    }
}
