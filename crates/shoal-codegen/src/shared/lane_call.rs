//! Calls of scalar functions, for each lane of a vector.

use inkwell::values::InstructionOpcode as Op;
use shoal_abi::math_symbol::{FloatWidth, symbol};
use shoal_ir::op::MathFn;
use shoal_ir::{Elem, Scalar};

use super::llvm::{Llvm, V, vector_type};
use super::value_type::register_type;

/// Calls the runtime's function of mathematics for each lane.
pub(crate) fn math_call<'ctx>(llvm: &Llvm<'ctx>, function: MathFn, ty: Scalar, operands: &[V<'ctx>]) -> V<'ctx> {
    let width = if ty == Scalar::F64 { FloatWidth::F64 } else { FloatWidth::F32 };
    per_lane(llvm, &symbol(function.name(), width), ty, operands)
}

/// Calls a scalar function for each lane.
pub(crate) fn per_lane<'ctx>(llvm: &Llvm<'ctx>, symbol: &str, result: Scalar, operands: &[V<'ctx>]) -> V<'ctx> {
    let scalar = |v: V<'ctx>| {
        if let V::VectorValue(v) = v { v.get_type().get_element_type() } else { v.get_type() }
    };
    let params: Vec<_> = operands.iter().map(|&v| scalar(v)).collect();
    let held = register_type(llvm, Elem::Scalar(result));
    let returned = if result == Scalar::BF16 { llvm.context.bf16_type().into() } else { held };
    let function = llvm.external(symbol, Some(returned), &params);
    let call = |args: &[V<'ctx>]| llvm.cast(Op::BitCast, llvm.call(function, args).expect("a value"), held);
    let V::VectorValue(first) = operands[0] else { return call(operands) };
    let lanes = first.get_type().get_size();
    let V::VectorValue(mut all) = llvm.undef(vector_type(held, lanes)) else { unreachable!("a vector") };
    for lane in 0..u64::from(lanes) {
        let args: Vec<V<'ctx>> = operands.iter().map(|v| llvm.extract(v.into_vector_value(), lane)).collect();
        all = llvm.insert(all, call(&args), lane);
    }
    all.into()
}
