//! **What.** A sum with a product takes place in the product.
//!
//! ```text
//! %p = dot {…} (%a, %b, %zeros) : tile<64x64xf32>
//! %s = add (%acc, %p) : tile<64x64xf32>            ==>    %s = dot {…} (%a, %b, %acc) : tile<64x64xf32>
//! ```
//!
//! **Why here.** `acc += dot(a, b)` is what people write, and products of every target add to sums that they hold in
//! registers. After `canonicalize`, which finds the zeros. For layouts and products that go on through a loop, both forms
//! are then one.
//!
//! - Floats are rounded once for each element instead of twice. Types narrower than `f32` stay as they are: a product
//!   rounds its sums to them only at its end.
//! - A product of 8-bit floats that says how it is summed stays too.

use cranelift_entity::SecondaryMap;
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Facts, Func, Module, OpId, Scalar, Value};

use crate::constants::constant;

/// Rewrites all sums.
pub fn accumulate_products(module: &mut Module) {
    for func in &mut module.funcs {
        let order = func.walk();
        let mut position: SecondaryMap<OpId, usize> = SecondaryMap::new();
        for (at, &op) in order.iter().enumerate() {
            position[op] = at;
        }
        for op in order {
            if let Some((product, sum)) = find(func, op, &position) {
                let result = func.op(product).result();
                func.set_operand(product, 2, sum);
                func.replace_all_uses(func.op(op).result(), result);
                func.erase(op);
                func.value_mut(result).facts = Facts::default();
            }
        }
    }
}

/// The product that an addition is part of, and what is added to it.
fn find(func: &Func, op: OpId, position: &SecondaryMap<OpId, usize>) -> Option<(OpId, Value)> {
    let data = func.op(op);
    let (OpKind::Binary(BinaryOp::Add), &[a, b]) = (&data.kind, data.operands()) else { return None };
    if !matches!(func.ty(a).number()?, Scalar::F32 | Scalar::F64 | Scalar::I32) {
        return None;
    }
    [(a, b), (b, a)].into_iter().find_map(|(product, sum)| {
        let product = func.def_op(product).filter(|&product| begins_at_zero(func, product))?;
        let beside = func.op(product).parent() == data.parent();
        let before = func.def_op(sum).is_none_or(|sum| position[sum] < position[product]);
        (beside && before).then_some((product, sum))
    })
}

/// Whether an operation is a product whose sums begin at zero and of which only one addition is made.
fn begins_at_zero(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let (OpKind::Dot { max_imprecise_acc: 0, .. }, &[_, _, acc]) = (&data.kind, data.operands()) else { return false };
    constant(func, acc).is_some_and(|c| c.is_zero()) && func.value(data.result()).uses().len() == 1
}
