//! The typing rules of control flow and of operations that own regions.

use super::typing::{Rule, Typed, int, require, same_layout};
use crate::func::{FuncKind, Module, Region};
use crate::infer::without_axis;
use crate::types::{Scalar, Type};

fn params<'f>(t: &Typed<'f>, region: Region) -> Vec<&'f Type> {
    t.func.region(region).params().iter().map(|&v| t.func.ty(v)).collect()
}

/// What a region hands over at its end. Structure is checked apart, so an empty region hands over nothing.
fn handed_over<'f>(t: &Typed<'f>, region: Region) -> Vec<&'f Type> {
    let Some(last) = t.func.terminator(region) else { return Vec::new() };
    t.func.op(last).operands().iter().map(|&v| t.func.ty(v)).collect()
}

fn same_lists(what: &str, found: &[&Type], expected: &[&Type]) -> Rule {
    let show = |types: &[&Type]| types.iter().map(|ty| format!("`{ty}`")).collect::<Vec<_>>().join(", ");
    require!(found == expected, "{what} are ({}), but must be ({})", show(found), show(expected));
    Ok(())
}

pub(super) fn if_(t: &Typed<'_>) -> Rule {
    t.operand_count(1..=1)?;
    t.same(t.operands[0], &Type::scalar(Scalar::I1))?;
    for &region in t.func.op(t.op).regions() {
        same_lists("a branch's parameters", &params(t, region), &[])?;
        same_lists("the yielded types", &handed_over(t, region), &t.results)?;
    }
    Ok(())
}

pub(super) fn for_(t: &Typed<'_>) -> Rule {
    t.operand_count(3..=usize::MAX)?;
    let counter = t.operands[0];
    int(counter)?;
    require!(!counter.is_tile() && counter.number() != Some(Scalar::I1), "the counter is one integer");
    t.same(t.operands[1], counter)?;
    t.same(t.operands[2], counter)?;
    let carried = &t.operands[3..];
    let region = t.func.op(t.op).regions()[0];
    let mut expected = vec![counter];
    expected.extend(carried);
    same_lists("the body's parameters", &params(t, region), &expected)?;
    same_lists("the yielded types", &handed_over(t, region), carried)?;
    same_lists("the results", &t.results, carried)
}

pub(super) fn while_(t: &Typed<'_>) -> Rule {
    let [before, body] = t.func.op(t.op).regions() else { return Err("two regions are needed".into()) };
    same_lists("the condition's parameters", &params(t, *before), &t.operands)?;
    let passed = handed_over(t, *before);
    same_lists("the body's parameters", &params(t, *body), passed.get(1..).unwrap_or(&[]))?;
    same_lists("the yielded types", &handed_over(t, *body), &t.operands)?;
    same_lists("the results", &t.results, passed.get(1..).unwrap_or(&[]))
}

pub(super) fn return_(t: &Typed<'_>) -> Rule {
    let results: Vec<&Type> = t.func.results.iter().collect();
    same_lists("the returned types", &t.operands, &results)?;
    t.result_count(0)
}

pub(super) fn call(t: &Typed<'_>, module: &Module, callee: &str) -> Rule {
    let Some(target) = module.func(callee) else { return Err(format!("there is no function `{callee}`")) };
    require!(target.kind == FuncKind::Device, "`{callee}` is a kernel, which the host launches");
    let expected: Vec<&Type> = target.params().iter().map(|&v| target.ty(v)).collect();
    same_lists("the arguments", &t.operands, &expected)?;
    let results: Vec<&Type> = target.results.iter().collect();
    same_lists("the results", &t.results, &results)
}

/// `reduce` and `scan`.
pub(super) fn combine(t: &Typed<'_>, axis: usize) -> Rule {
    t.operand_count(1..=usize::MAX)?;
    for ty in &t.operands {
        require!(ty.shape() == t.operands[0].shape(), "shapes of `{}` and `{ty}` differ", t.operands[0]);
        same_layout(t.operands[0], ty)?;
        require!(without_axis(ty, axis).is_some(), "`{ty}` has no axis {axis}");
    }
    let scalars: Vec<Type> = t.operands.iter().filter_map(|ty| ty.elem().map(Type::Elem)).collect();
    let once: Vec<&Type> = scalars.iter().collect();
    let region = t.func.op(t.op).regions()[0];
    same_lists("the parameters", &params(t, region), &[once.clone(), once.clone()].concat())?;
    same_lists("the yielded types", &handed_over(t, region), &once)?;
    scalar_region(t, region)?;
    t.inferred()
}

pub(super) fn map_elementwise(t: &Typed<'_>, pack: u32) -> Rule {
    require!(pack.is_power_of_two(), "`pack` is not a power of two");
    t.operand_count(1..=usize::MAX)?;
    for ty in t.operands.iter().chain(&t.results) {
        require!(
            ty.elem().is_some() && ty.shape() == t.operands[0].shape(),
            "shapes of `{}` and `{ty}` differ",
            t.operands[0]
        );
        same_layout(t.operands[0], ty)?;
    }
    let count: u64 = t.operands[0].shape().iter().map(|&d| u64::from(d)).product();
    require!(count.is_multiple_of(u64::from(pack)), "`pack` does not divide the number of elements");
    let packed = |types: &[&Type]| -> Vec<Type> {
        let each = types.iter().filter_map(|ty| ty.elem().map(Type::Elem));
        each.flat_map(|ty| std::iter::repeat_n(ty, pack as usize)).collect()
    };
    let region = t.func.op(t.op).regions()[0];
    let (inputs, outputs) = (packed(&t.operands), packed(&t.results));
    same_lists("the parameters", &params(t, region), &inputs.iter().collect::<Vec<_>>())?;
    same_lists("the yielded types", &handed_over(t, region), &outputs.iter().collect::<Vec<_>>())?;
    scalar_region(t, region)
}

/// A region that is applied to elements computes on scalars and touches nothing else.
fn scalar_region(t: &Typed<'_>, region: Region) -> Rule {
    let mut ops = Vec::new();
    t.func.walk_region(region, &mut ops);
    for op in ops {
        let harmless = !t.calls.of_op_alone(t.func, op).acts();
        require!(harmless, "a region that is applied to elements may not touch memory or print");
        let (operands, results) = (t.func.op(op).operands(), t.func.op(op).results());
        let scalar = operands.iter().chain(results).all(|&v| !t.func.ty(v).is_tile());
        require!(scalar, "a region that is applied to elements computes on scalars");
    }
    Ok(())
}
