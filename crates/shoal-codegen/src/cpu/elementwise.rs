//! Elementwise operations on chunks: they stay scalar, or evenly stepped, for as long as they can.

use inkwell::FloatPredicate;
use inkwell::values::{InstructionOpcode, VectorValue};
use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::op::{BinaryOp, OpKind, Rounding};
use shoal_ir::{Elem, OpId, Region, Scalar, Value};

use super::chunk::Chunk;
use super::emitter::Emitter;
use super::{avx512, extreme, fusion, math};
use crate::shared::llvm::V;
use crate::shared::value_type::lane_type;
use crate::shared::{arith, convert, lane_call};

impl<'ctx> Emitter<'_, 'ctx> {
    /// An elementwise operation on chunks.
    pub(super) fn elementwise(&mut self, op: OpId, chunks: &[Chunk<'ctx>], lanes: u32) -> Chunk<'ctx> {
        if let Some(chunk) = self.stay_affine(op, chunks) {
            return chunk;
        }
        if let Some(quotient) = self.divide_by_uniform(op, chunks, lanes) {
            return Chunk::Vector(quotient);
        }
        let all_uniform = chunks.iter().all(|c| matches!(c, Chunk::Uniform(_)));
        let llvm = self.llvm;
        let values: Vec<V<'ctx>> = chunks
            .iter()
            .map(|c| match c {
                Chunk::Uniform(v) if all_uniform => *v,
                Chunk::Uniform(_) | Chunk::Affine { .. } | Chunk::Vector(_) => c.widen(llvm, lanes).into(),
            })
            .collect();
        let value = self.apply(op, &values);
        if let (V::VectorValue(v), false) = (value, all_uniform) { Chunk::Vector(v) } else { Chunk::Uniform(value) }
    }

    /// `f32` numbers over one divisor: its reciprocal is taken once, and each quotient `x / s ≈ x r` is corrected by
    /// what is left, `x - q s`, which gives the rounded quotient in a quarter of a division's time. Divisors near the
    /// ends of the range, and zero, divide as ever.
    fn divide_by_uniform(&mut self, op: OpId, chunks: &[Chunk<'ctx>], lanes: u32) -> Option<VectorValue<'ctx>> {
        let data = self.func.op(op);
        let OpKind::Binary(BinaryOp::Div | BinaryOp::DivRn) = data.kind else { return None };
        let (Chunk::Vector(x), Chunk::Uniform(divisor)) = (chunks[0], chunks[1]) else { return None };
        if self.number(data.operands()[0]) != Scalar::F32 || !self.isa.fma {
            return None;
        }
        let llvm = self.llvm;
        let float = |value: f64| -> V<'ctx> { llvm.f32().const_float(value).into() };
        let call = |name: &str, args: &[V<'ctx>]| llvm.intrinsic(name, &[args[0].get_type()], args).expect("a value");
        let size = call("llvm.fabs", &[divisor]);
        let large = llvm.fcmp(FloatPredicate::OGE, size, float(2f64.powi(-60)));
        let small = llvm.fcmp(FloatPredicate::OLE, size, float(2f64.powi(60)));
        let ordinary = llvm.bin(InstructionOpcode::And, large, small).into_int_value();
        let reciprocal = llvm.splat(llvm.bin(InstructionOpcode::FDiv, float(1.0), divisor), lanes);
        let divisor = llvm.splat(divisor, lanes);
        let (quick, slow, after) = (llvm.new_block("multiply"), llvm.new_block("divide"), llvm.new_block("divided"));
        llvm.branch(ordinary, quick, slow);
        llvm.builder.position_at_end(quick);
        let near = llvm.bin(InstructionOpcode::FMul, x.into(), reciprocal.into());
        let left = call("llvm.fma", &[llvm.fneg(near), divisor.into(), x.into()]);
        let corrected = call("llvm.fma", &[left, reciprocal.into(), near]);
        // Nothing is left of infinity, and below the normal numbers the correction would round a second time: such
        // lanes divide.
        let magnitude = call("llvm.fabs", &[near]);
        let bound = |value: f32| llvm.splat(float(f64::from(value)), lanes).into();
        let inside = llvm.bin(
            InstructionOpcode::And,
            llvm.fcmp(FloatPredicate::OGE, magnitude, bound(f32::MIN_POSITIVE * 4.0)),
            llvm.fcmp(FloatPredicate::OLE, magnitude, bound(f32::MAX)),
        );
        let zero = llvm.fcmp(FloatPredicate::OEQ, x.into(), x.get_type().const_zero().into());
        let quick_value = llvm.select(zero, near, corrected);
        let good = llvm.bin(InstructionOpcode::Or, inside, zero);
        let all_good = llvm.intrinsic("llvm.vector.reduce.and", &[good.get_type()], &[good]).expect("a value");
        llvm.branch(all_good.into_int_value(), after, slow);
        llvm.builder.position_at_end(slow);
        let slow_value = llvm.bin(InstructionOpcode::FDiv, x.into(), divisor.into());
        llvm.jump(after);
        llvm.builder.position_at_end(after);
        let phi = llvm.builder.build_phi(x.get_type(), "").expect("a phi");
        phi.add_incoming(&[(&quick_value, quick), (&slow_value, slow)]);
        Some(phi.as_basic_value().into_vector_value())
    }

    /// Address arithmetic keeps its even steps.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other operations make vectors")]
    fn stay_affine(&mut self, op: OpId, chunks: &[Chunk<'ctx>]) -> Option<Chunk<'ctx>> {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let affine = |c: &Chunk<'ctx>| match c {
            Chunk::Uniform(v) => Some((*v, 0)),
            Chunk::Affine { base, step } => Some((*base, *step)),
            Chunk::Vector(_) => None,
        };
        if !chunks.iter().any(|c| matches!(c, Chunk::Affine { .. })) {
            return None;
        }
        let (a, step_a) = affine(&chunks[0])?;
        match &data.kind {
            OpKind::Cast(_) => {
                let (from, to) = (self.number_of(data.operands()[0])?, self.number_of(data.results()[0])?);
                let runs = from.is_int() && to.is_int() && to.bits() >= from.bits() && from.bits() >= 32;
                // Offsets below zero, made unsigned, jump at zero.
                let stays =
                    to.bits() == from.bits() || from.is_signed_int() && self.offsets.contains(data.results()[0]);
                (runs && stays).then(|| {
                    let base = convert::cast(llvm, from.into(), to.into(), Rounding::Nearest, a);
                    Chunk::Affine { base, step: step_a }
                })
            }
            OpKind::Binary(kind @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)) => {
                let ty = self.number_of(data.results()[0])?;
                if !ty.is_int() || ty.bits() < 32 {
                    return None;
                }
                let (b, step_b) = affine(&chunks[1])?;
                let step = match kind {
                    BinaryOp::Add => step_a.checked_add(step_b)?,
                    BinaryOp::Sub => step_a.checked_sub(step_b)?,
                    _ => {
                        let constant = |v: V<'ctx>| v.into_int_value().get_sign_extended_constant();
                        match (step_a, step_b) {
                            (s, 0) => s.checked_mul(constant(b)?)?,
                            (0, s) => s.checked_mul(constant(a)?)?,
                            _ => return None,
                        }
                    }
                };
                Some(Chunk::Affine { base: arith::binary(llvm, *kind, ty, a, b), step })
            }
            OpKind::PtrAdd => {
                let (offset, step_b) = affine(&chunks[1])?;
                let (offset_type, result) = (self.number_of(data.operands()[1])?, self.elem(data.results()[0]));
                if step_b != 0 && offset_type.is_unsigned_int() && offset_type.bits() < 64 {
                    return None;
                }
                let bytes = i64::from(result.ptr()?.element().bytes());
                let base = self.ptr_add(op, a, offset);
                Some(Chunk::Affine { base, step: step_a.checked_add(step_b.checked_mul(bytes)?)? })
            }
            _ => None,
        }
    }

    fn number_of(&self, value: Value) -> Option<Scalar> {
        self.func.ty(value).number()
    }

    /// `base + offset` elements, on scalars or vectors.
    fn ptr_add(&mut self, op: OpId, base: V<'ctx>, offset: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let data = self.func.op(op);
        let ty = self.number(data.operands()[1]);
        let bytes = i64::from(self.elem(data.results()[0]).ptr().expect("a pointer").element().bytes());
        let extend = match ty.bits() {
            64 => InstructionOpcode::BitCast,
            _ if ty.is_signed_int() => InstructionOpcode::SExt,
            _ => InstructionOpcode::ZExt,
        };
        let wide = llvm.cast(extend, offset, llvm.i64().into());
        let scale: V<'ctx> = llvm.const_i64(bytes).into();
        match (base, wide) {
            (V::PointerValue(base), V::IntValue(offset)) => {
                let bytes = llvm.mul64(offset, scale.into_int_value());
                llvm.offset(base, bytes).into()
            }
            (base, wide) => {
                let lanes = wide.into_vector_value().get_type().get_size();
                let scaled = llvm.bin(InstructionOpcode::Mul, wide, llvm.splat(scale, lanes).into());
                llvm.bin(InstructionOpcode::Add, base, scaled)
            }
        }
    }

    /// An elementwise operation on scalars or on vectors.
    pub(super) fn apply(&mut self, op: OpId, v: &[V<'ctx>]) -> V<'ctx> {
        let llvm = self.llvm;
        let func = self.func;
        let data = func.op(op);
        let operand = |i: usize| self.elem(data.operands()[i]);
        let scalar = |i: usize| self.number(data.operands()[i]);
        let OpClass::Elementwise(kind) = data.kind.class() else { unreachable!("{:?} is not elementwise", data.kind) };
        match kind {
            ElementwiseOp::Unary(kind) => arith::unary(llvm, kind, scalar(0), v[0]),
            ElementwiseOp::Binary(kind) => extreme::binary(llvm, self.isa, kind, scalar(0), v[0], v[1])
                .unwrap_or_else(|| arith::binary(llvm, kind, scalar(0), v[0], v[1])),
            ElementwiseOp::Math(function) => math::math(llvm, self.isa, function, scalar(0), v),
            ElementwiseOp::Cmp(kind) => arith::compare(llvm, kind, operand(0), v[0], v[1]),
            ElementwiseOp::Select => llvm.select(v[0], v[1], v[2]),
            ElementwiseOp::Fma => arith::fma(llvm, scalar(0), v),
            ElementwiseOp::Cast(rounding) => {
                let (from, to) = (operand(0), self.elem(data.results()[0]));
                let cast = || convert::cast(llvm, from, to, rounding, v[0]);
                let rounds = (from, to, rounding) == (Scalar::F32.into(), Scalar::BF16.into(), Rounding::Nearest);
                let rounded = rounds.then(|| avx512::round_to_bf16(llvm, self.isa, v[0], cast)).flatten();
                rounded.unwrap_or_else(cast)
            }
            ElementwiseOp::Bitcast => self.bitcast(operand(0), self.elem(data.results()[0]), v[0]),
            ElementwiseOp::PtrAdd => self.ptr_add(op, v[0], v[1]),
            ElementwiseOp::Extern(function) => {
                let result = self.number(data.results()[0]);
                let args: Vec<V<'ctx>> =
                    v.iter().enumerate().map(|(i, &v)| convert::as_passed(llvm, operand(i), v)).collect();
                lane_call::per_lane(llvm, &function.symbol, result, &args)
            }
            ElementwiseOp::InlineAsm(_) => unreachable!("refused before emission"),
        }
    }

    fn bitcast(&self, from: Elem, to: Elem, a: V<'ctx>) -> V<'ctx> {
        match (from, to, a) {
            (Elem::Ptr(_), Elem::Ptr(_), _) => a,
            (Elem::Ptr(_), _, V::PointerValue(p)) => {
                self.bitcast(Scalar::I64.into(), to, self.llvm.ptr_to_int(p).into())
            }
            (_, Elem::Ptr(_), V::IntValue(i)) => self.llvm.int_to_ptr(i).into(),
            (_, Elem::Ptr(_), V::FloatValue(_)) => {
                let bits = self.llvm.cast(InstructionOpcode::BitCast, a, self.llvm.i64().into());
                self.llvm.int_to_ptr(bits.into_int_value()).into()
            }
            _ => self.llvm.cast(InstructionOpcode::BitCast, a, lane_type(self.llvm, to)),
        }
    }

    /// Runs a region of scalar operations without control flow on chunks.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other operations of such regions are elementwise")]
    pub(super) fn apply_region(&mut self, region: Region, args: &[Chunk<'ctx>], lanes: u32) -> Vec<Chunk<'ctx>> {
        let func = self.func;
        let data = func.region(region);
        for (&param, &arg) in data.params().iter().zip(args) {
            self.bound.insert(param, arg);
        }
        let (last, rest) = data.ops().split_last().expect("a region ends in a yield");
        for &op in rest {
            let inside = func.op(op);
            let chunk = match &inside.kind {
                OpKind::Const(c) => Chunk::Uniform(self.constant(*c)),
                OpKind::ProgramId { axis } => Chunk::Uniform(self.program[usize::from(*axis)]),
                OpKind::NumPrograms { axis } => Chunk::Uniform(self.grid[usize::from(*axis)]),
                _ => {
                    let chunks: Vec<Chunk<'ctx>> = inside.operands().iter().map(|v| self.chunk_of_scalar(*v)).collect();
                    self.elementwise(op, &chunks, lanes)
                }
            };
            self.bound.insert(inside.results()[0], chunk);
        }
        func.op(*last).operands().iter().map(|&v| self.chunk_of_scalar(v)).collect()
    }

    fn chunk_of_scalar(&self, value: Value) -> Chunk<'ctx> {
        self.bound.get(&value).copied().unwrap_or_else(|| Chunk::Uniform(self.scalar(value)))
    }

    /// Whether a region can be applied to chunks.
    pub(super) fn is_straight_line(&self, region: Region) -> bool {
        let ops = self.func.region(region).ops();
        ops.iter().all(|&op| {
            let kind = &self.func.op(op).kind;
            self.func.op(op).regions().is_empty()
                && (fusion::is_fusible(kind) && !matches!(kind, OpKind::Load(_))
                    || matches!(kind, OpKind::Yield | OpKind::ProgramId { .. } | OpKind::NumPrograms { .. }))
        })
    }
}
