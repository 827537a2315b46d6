//! Gathers and histograms: every thread reaches every element, through shared memory.

use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::OpId;

use super::emitter::Emitter;
use super::place::registers;
use crate::shared::llvm::V;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn gather(&mut self, op: OpId, axis: usize) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let (source, index, result) = (data.operands()[0], data.operands()[1], data.result());
        let elem = self.elem(source);
        let shape = func.ty(source).shape();
        let bytes = elem.bytes();
        let numbers = self.numbers(source);
        let indices = self.numbers(index);
        let from = self.layout(source).clone();
        let base = self.use_scratch(from.num_elements() as u32 * bytes);
        let place = |flat: V<'ctx>| {
            let scaled = llvm.bin(Op::Mul, flat, llvm.const_i32(bytes.into()).into());
            llvm.bin(Op::Add, scaled, llvm.const_i32(base.into()).into()).into_int_value()
        };
        let places: Vec<IntValue<'ctx>> = self.flat_indices(&from).into_iter().map(|flat| place(flat.into())).collect();
        let first = self.is_first_holder(&from);
        self.when(first, |e| {
            for (&number, &at) in numbers.iter().zip(&places) {
                e.store_element(elem, number, at);
            }
        });
        self.block_barrier();
        self.scratch_may_be_busy();
        let to = self.layout(result).clone();
        let coordinates: Vec<Vec<IntValue<'ctx>>> = (0..shape.len()).map(|dim| self.coordinates(&to, dim)).collect();
        let mut gathered = Vec::with_capacity(indices.len());
        for register in 0..registers(&to) as usize {
            let picked = llvm.cast_int(indices[register], 32);
            let mut flat: V<'ctx> = llvm.const_i32(0).into();
            for (dim, &size) in shape.iter().enumerate() {
                let coordinate = if dim == axis { picked } else { coordinates[dim][register].into() };
                flat = llvm.bin(Op::Add, llvm.bin(Op::Mul, flat, llvm.const_i32(size.into()).into()), coordinate);
            }
            gathered.push(self.load_element(elem, place(flat)));
        }
        self.hold_tile(result, gathered);
    }

    pub(super) fn histogram(&mut self, op: OpId) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let (values, result) = (data.operands()[0], data.result());
        let bins = func.ty(result).shape()[0];
        let numbers = self.numbers(values);
        let masks = data.operands().get(1).map(|&mask| self.numbers(mask));
        let from = self.layout(values).clone();
        let to = self.layout(result).clone();
        let base = self.use_scratch(bins * 4);
        let place = |index: V<'ctx>| {
            let scaled = llvm.bin(Op::Shl, index, llvm.const_i32(2).into());
            llvm.bin(Op::Add, scaled, llvm.const_i32(base.into()).into()).into_int_value()
        };
        let places: Vec<IntValue<'ctx>> = self.flat_indices(&to).into_iter().map(|flat| place(flat.into())).collect();
        for &at in &places {
            self.store_shared(llvm.const_i32(0).into(), at, 4);
        }
        self.block_barrier();
        self.scratch_may_be_busy();
        let first = self.is_first_holder(&from);
        let copies = from.free_variable_masks().register as usize;
        let signed = self.number(values).is_signed_int();
        for (register, &number) in numbers.iter().enumerate().filter(|(register, _)| register & copies == 0) {
            let wide = llvm.cast(if signed { Op::SExt } else { Op::ZExt }, number, llvm.i64().into());
            let mut counts = llvm.icmp(IntPredicate::ULT, wide, llvm.const_i64(bins.into()).into());
            for condition in [masks.as_ref().map(|masks| masks[register]), first.map(Into::into)].into_iter().flatten()
            {
                counts = llvm.bin(Op::And, counts, condition);
            }
            let at = self.shared_address(place(llvm.cast(Op::Trunc, wide, llvm.i32().into())));
            llvm.ptx_act("@$1 red.shared.add.u32 [$0], 1;", &[at, counts]);
        }
        self.block_barrier();
        self.scratch_may_be_busy();
        let counted = places.into_iter().map(|at| self.load_shared(llvm.i32(), at, 4)).collect();
        self.hold_tile(result, counted);
    }
}
