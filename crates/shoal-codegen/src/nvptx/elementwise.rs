//! Elementwise operations: the same for each register.

use std::collections::HashMap;

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::op::{BinaryOp, InlineAsm};
use shoal_ir::{Elem, Extreme, Nan, OpId, Scalar};
use shoal_layout::Place;

use super::emitter::Emitter;
use super::inline_ptx::Does;
use super::math;
use crate::shared::llvm::{V, pointer_as_int};
use crate::shared::value_type::{memory_type, register_type};
use crate::shared::{arith, convert, lane_call};

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn elementwise(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        if let OpClass::Elementwise(ElementwiseOp::InlineAsm(asm)) = data.kind.class() {
            return self.inline_asm(op, asm);
        }
        let operands: Vec<_> = data.operands().iter().map(|&v| self.numbers(v)).collect();
        let count = operands.iter().map(|numbers| numbers.len()).max().unwrap_or(1);
        let at = |list: &[V<'ctx>], register: usize| if list.len() == 1 { list[0] } else { list[register] };
        let mut known: Option<(Vec<V<'ctx>>, V<'ctx>)> = None;
        let mut numbers: Vec<V<'ctx>> = Vec::with_capacity(count);
        let twins = self.equal_registers(data.result(), count);
        for register in 0..count {
            if let Some(&twin) = twins.get(register)
                && twin < register
            {
                numbers.push(numbers[twin]);
                continue;
            }
            let values: Vec<V<'ctx>> = operands.iter().map(|list| at(list, register)).collect();
            // Neighbours that hold the same are computed once: splats, and constants.
            let value = match &known {
                Some((same, value)) if *same == values => *value,
                _ => self.apply(op, &values),
            };
            known = Some((values, value));
            numbers.push(value);
        }
        self.hold_numbers(data.result(), numbers);
    }

    /// For each register of a tile the first one that is known to hold the same number in every thread; nothing where
    /// nothing is known.
    fn equal_registers(&self, value: shoal_ir::Value, count: usize) -> Vec<usize> {
        let runs = &self.func.value(value).facts.constant;
        if count < 2 || !self.func.ty(value).is_tile() || runs.iter().all(|&run| run < 2) {
            return Vec::new();
        }
        let layout = self.layout(value);
        let mut first = HashMap::new();
        let whole = |at: Vec<u32>| -> Vec<u64> {
            at.iter().zip(runs).map(|(&at, &run)| u64::from(at) / largest_power(run)).collect()
        };
        (0..count)
            .map(|register| {
                let at = layout.apply(Place { register: register as u32, ..Place::default() });
                *first.entry(whole(at)).or_insert(register)
            })
            .collect()
    }

    /// One application of an elementwise operation.
    fn apply(&mut self, op: OpId, values: &[V<'ctx>]) -> V<'ctx> {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let OpClass::Elementwise(kind) = data.kind.class() else { unreachable!("an elementwise operation") };
        let operand = |index: usize| data.operands()[index];
        match kind {
            ElementwiseOp::Unary(kind) => arith::unary(llvm, kind, self.number(operand(0)), values[0]),
            ElementwiseOp::Binary(kind) => {
                llvm.fuse_products.set(func.gpu.fuse_products);
                let value = self.binary(kind, self.number(operand(0)), values[0], values[1]);
                llvm.fuse_products.set(false);
                value
            }
            ElementwiseOp::Math(function) => math::math(llvm, function, self.number(operand(0)), values),
            ElementwiseOp::Cmp(kind) => {
                let elem = self.elem(operand(0));
                let [a, b] = [0, 1].map(|at| pointer_as_int(llvm, values[at]));
                arith::compare(llvm, kind, elem, a, b)
            }
            ElementwiseOp::Select => llvm.select(values[0], values[1], values[2]),
            ElementwiseOp::Fma => arith::fma(llvm, self.number(operand(0)), values),
            ElementwiseOp::Cast(rounding) => {
                convert::cast(llvm, self.elem(operand(0)), self.elem(data.result()), rounding, values[0])
            }
            ElementwiseOp::Bitcast => self.bitcast(self.elem(operand(0)), self.elem(data.result()), values[0]),
            ElementwiseOp::PtrAdd => self.pointer_add(op, values),
            ElementwiseOp::Extern(function) => {
                let args: Vec<V<'ctx>> = data
                    .operands()
                    .iter()
                    .zip(values)
                    .map(|(&v, &value)| convert::as_passed(llvm, self.elem(v), value))
                    .collect();
                lane_call::per_lane(llvm, &function.symbol, self.number(data.result()), &args)
            }
            ElementwiseOp::InlineAsm(_) => unreachable!("done for all registers together"),
        }
    }

    /// As `shared::arith`, with the instructions that GPUs have.
    fn binary(&self, kind: BinaryOp, number: Scalar, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        if kind == BinaryOp::Div && number.compute_type() == Scalar::F32 {
            return arith::in_compute_type(llvm, number, &[a, b], |_, v| {
                llvm.ptx_value("div.full.f32 $0, $1, $2;", llvm.f32().into(), v)
            });
        }
        // Of 8-bit floats, which are not computed with, one is picked as it is.
        let native = kind.extreme().filter(|_| number.is_float() && !number.is_fp8());
        let name = match native {
            None => return arith::binary(llvm, kind, number, a, b),
            Some((Extreme::Min, Nan::Ignore)) => "llvm.minimumnum",
            Some((Extreme::Max, Nan::Ignore)) => "llvm.maximumnum",
            Some((Extreme::Min, Nan::Propagate)) => "llvm.minimum",
            Some((Extreme::Max, Nan::Propagate)) => "llvm.maximum",
        };
        arith::in_compute_type(llvm, number, &[a, b], |_, v| arith::call2(llvm, name, v[0], v[1]))
    }

    fn bitcast(&self, from: Elem, to: Elem, a: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        match (from, to) {
            (Elem::Ptr(_), Elem::Ptr(_)) => a,
            (Elem::Ptr(_), Elem::Scalar(_)) => llvm.cast(Op::BitCast, pointer_as_int(llvm, a), register_type(llvm, to)),
            (Elem::Scalar(_), Elem::Ptr(_)) => {
                let bits = llvm.cast(Op::BitCast, a, llvm.i64().into());
                llvm.int_to_ptr(bits.into_int_value()).into()
            }
            (Elem::Scalar(_), Elem::Scalar(_)) => llvm.cast(Op::BitCast, a, register_type(llvm, to)),
        }
    }

    fn pointer_add(&self, op: OpId, values: &[V<'ctx>]) -> V<'ctx> {
        let (llvm, data) = (self.llvm, self.func.op(op));
        let extend = if self.number(data.operands()[1]).is_signed_int() { Op::SExt } else { Op::ZExt };
        let offset = llvm.cast(extend, values[1], llvm.i64().into()).into_int_value();
        let pointer = self.elem(data.operands()[0]).ptr().expect("a pointer");
        let step = memory_type(llvm, pointer.element());
        // SAFETY: inkwell marks every GEP as unsafe because of inbounds reasoning; this one makes no inbounds claim.
        let moved = unsafe { llvm.builder.build_gep(step, values[0].into_pointer_value(), &[offset], "") };
        moved.expect("an address").into()
    }

    /// Target assembly on groups of registers: as many words for each operand as hold `pack` of its elements.
    fn inline_asm(&mut self, op: OpId, asm: &InlineAsm) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let operands: Vec<_> = data.operands().iter().map(|&v| self.numbers(v)).collect();
        let pack = asm.pack as usize;
        let count = operands.iter().map(|numbers| numbers.len()).max().unwrap_or(1);
        let word_bits = |elem: Elem| {
            let bits = elem.bytes() * 8;
            if bits >= 32 { bits } else { (bits * asm.pack).clamp(16, 32) }
        };
        let mut results: Vec<Vec<V<'ctx>>> = vec![Vec::new(); data.results().len()];
        for first in (0..count).step_by(pack) {
            let mut words = Vec::new();
            for (&value, numbers) in data.operands().iter().zip(&operands) {
                let elem = self.elem(value);
                let group: Vec<V<'ctx>> =
                    (first..first + pack).map(|at| numbers[if numbers.len() == 1 { 0 } else { at }]).collect();
                if elem.bytes() >= 4 {
                    words.extend(group);
                } else {
                    words.extend(super::words::pack(llvm, elem, &group, word_bits(elem)));
                }
            }
            let mut types = Vec::new();
            let mut spans = Vec::new();
            for &result in data.results() {
                let elem = self.elem(result);
                let (ty, words) = if elem.bytes() >= 4 {
                    (register_type(llvm, elem), pack)
                } else {
                    let bits = word_bits(elem);
                    (llvm.int_type(bits).into(), (pack * elem.bytes() as usize * 8).div_ceil(bits as usize))
                };
                spans.push(words);
                types.extend(std::iter::repeat_n(ty, words));
            }
            let given = self.call_assembly(asm, &types, &words);
            let mut at = 0;
            for ((list, &result), words) in results.iter_mut().zip(data.results()).zip(spans) {
                let elem = self.elem(result);
                let part = &given[at..at + words];
                at += words;
                if elem.bytes() >= 4 {
                    list.extend_from_slice(part);
                } else {
                    list.extend(super::words::unpack(llvm, elem, part, pack));
                }
            }
        }
        for (&result, numbers) in data.results().iter().zip(results) {
            self.hold_numbers(result, numbers);
        }
    }

    /// Runs the user's text with the user's constraints.
    fn call_assembly(
        &self,
        asm: &InlineAsm,
        results: &[inkwell::types::BasicTypeEnum<'ctx>],
        operands: &[V<'ctx>],
    ) -> Vec<V<'ctx>> {
        use inkwell::types::BasicType;
        let llvm = self.llvm;
        let params: Vec<_> = operands.iter().map(|v| v.get_type().into()).collect();
        let ty = match results {
            [one] => one.fn_type(&params, false),
            several => llvm.context.struct_type(several, false).fn_type(&params, false),
        };
        let does = if asm.pure { Does::Compute } else { Does::Act };
        let text = llvm.context.create_inline_asm(
            ty,
            asm.asm.clone(),
            asm.constraints.clone(),
            does == Does::Act,
            false,
            None,
            false,
        );
        let args: Vec<_> = operands.iter().map(|&v| v.into()).collect();
        let call = llvm.builder.build_indirect_call(ty, text, &args, "").expect("inline assembly");
        match (results.len(), call.try_as_basic_value().basic()) {
            (1, Some(one)) => vec![one],
            (count, Some(V::StructValue(fields))) => {
                (0..count as u32).map(|at| llvm.builder.build_extract_value(fields, at, "").expect("a field")).collect()
            }
            (_, _) => Vec::new(),
        }
    }

    /// A region applied to groups of registers.
    pub(super) fn map_elementwise(&mut self, op: OpId, pack: u32) {
        let func = self.func;
        let data = func.op(op);
        let operands: Vec<_> = data.operands().iter().map(|&v| self.numbers(v)).collect();
        let count = operands.iter().map(|numbers| numbers.len()).max().unwrap_or(1);
        let pack = pack as usize;
        let mut results: Vec<Vec<V<'ctx>>> = vec![Vec::new(); data.results().len()];
        for first in (0..count).step_by(pack) {
            let args: Vec<V<'ctx>> = operands
                .iter()
                .flat_map(|numbers| {
                    (first..first + pack).map(move |at| numbers[if numbers.len() == 1 { 0 } else { at }])
                })
                .collect();
            let given = self.apply_region(data.regions()[0], &args);
            for (index, list) in results.iter_mut().enumerate() {
                list.extend_from_slice(&given[index * pack..(index + 1) * pack]);
            }
        }
        for (&result, numbers) in data.results().iter().zip(results) {
            self.hold_numbers(result, numbers);
        }
    }
}

/// The largest power of two that divides a length of runs; layouts count in such.
fn largest_power(run: u64) -> u64 {
    1 << run.max(1).trailing_zeros()
}
